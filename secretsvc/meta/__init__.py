"""The service about itself: health, its description, and the page that everything starts from."""

from typing import Any


def includeme(config: Any) -> None:
    """Announces the wing's rooms."""
    config.include(".api")
    config.include(".ui")
