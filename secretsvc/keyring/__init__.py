"""The key ring: where its keys come from, which rows they seal, and moving rows to the active one."""

from typing import Any


def includeme(config: Any) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".providers")
    config.include(".verdict")
    config.include(".api")
    config.include(".ui")
