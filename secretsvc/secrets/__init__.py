"""Secrets: sealed values, their history, and the writes that change an environment."""

from typing import Any


def includeme(config: Any) -> None:
    """Announces the wing's rooms."""
    config.include(".api")
    config.include(".ui")
    config.include(".editing_ui")
