"""Writing what happened: mutations, reads of values and denials, append-only."""

from typing import Any


def includeme(config: Any) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".tweens")
