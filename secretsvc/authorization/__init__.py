"""Who may do what: the snapshot of grants that a request is judged by, and the decision."""

from typing import Any


def includeme(config: Any) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".tweens")
    config.include(".policy")
