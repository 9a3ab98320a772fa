"""The home page: projects, what waits for the caller, and the search."""

from typing import Any


def includeme(config: Any) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".ui")
