"""Projects and their environments."""

from typing import Any


def includeme(config: Any) -> None:
    """Announces the wing's rooms."""
    config.include(".api")
    config.include(".ui")
