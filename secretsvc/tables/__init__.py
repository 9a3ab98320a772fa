"""The tables that authorization joins: identities, service tokens, groups, grants, projects, environments."""

from typing import Any


def includeme(config: Any) -> None:
    for module in (".identities", ".service_tokens", ".grants", ".projects"):
        config.add_models(module)
