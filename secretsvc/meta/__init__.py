"""The service about itself: health and whoami."""

from typing import Any


def includeme(config: Any) -> None:
    """Announces the wing's rooms."""
    config.include(".api")
