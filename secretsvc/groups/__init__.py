"""Groups of identities: records, members and grants."""

from typing import Any


def includeme(config: Any) -> None:
    """Includes the modules of this package that configure the application."""
    config.include(".api")
    config.include(".ui")
