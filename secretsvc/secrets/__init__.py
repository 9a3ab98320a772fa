"""Secrets: sealed values, their history, and the writes that change an environment."""

from typing import Any


def includeme(config: Any) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".api.secrets")
    config.include(".api.history")
    config.include(".api.copying")
    config.include(".ui.pages")
    config.include(".ui.editing")
