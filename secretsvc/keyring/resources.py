"""The address of administration."""

from __future__ import annotations

from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.tree import Node, Root


class Admin(Node):
    """`/admin`: nothing in itself."""


def includeme(config: ServiceConfigurator) -> None:
    config.add_tree_child(Root, "admin", Admin)
