"""What happened: the append-only record of mutations, reads of values and denials."""

from typing import Any


def includeme(config: Any) -> None:
    """Announces the wing's rooms."""
    config.include(".tweens")
    config.include(".api")
    config.include(".ui")
