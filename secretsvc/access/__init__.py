"""Grants of identities and groups, and what they amount to."""

from typing import Any


def includeme(config: Any) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".api")
    config.include(".ui.grants")
    config.include(".ui.grant")
    config.include(".ui.identity")
    config.include(".ui.scope")
