"""The tables that authorization joins: identities, groups, grants, projects, environments."""

from typing import Any


def includeme(config: Any) -> None:
    """Registers the tables."""
    for module in (".identities", ".grants", ".projects"):
        config.add_models(module)
