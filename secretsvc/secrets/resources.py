"""Addresses of secrets."""

from __future__ import annotations

from typing import Any

from secretsvc.kernel.grammar import is_secret_key
from secretsvc.projects.resources import Environment
from secretsvc.web.tree import Node


class Secret(Node):
    """`…/secrets/{key}`."""

    parameter = "key"

    @staticmethod
    def grammar(name: str) -> str | None:
        """Whether the name is that of an environment variable."""
        return None if is_secret_key(name) else "Must be the name of an environment variable."


class Secrets(Node):
    """`…/secrets`."""

    member = Secret


def includeme(config: Any) -> None:
    """Hangs the nodes into the tree."""
    config.add_tree_child(Environment, "secrets", Secrets)
