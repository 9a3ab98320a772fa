"""The address of the audit log."""

from __future__ import annotations

from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.tree import Node, Root


class Audit(Node):
    """`/audit`: the log; below it are its head and the key that signs it."""


def includeme(config: ServiceConfigurator) -> None:
    config.add_tree_child(Root, "audit", Audit)
