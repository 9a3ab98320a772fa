"""Reading what happened: the audit log, its filters, its histogram and its page."""

from typing import Any


def includeme(config: Any) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".api")
    config.include(".ui.page")
