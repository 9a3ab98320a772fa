"""The service about itself: health and its description."""

from typing import Any


def includeme(config: Any) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".api")
