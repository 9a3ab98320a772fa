"""Addresses of grants; they lie at global scope."""

from __future__ import annotations

from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.tree import IdNode, Node, Root


class Grant(IdNode):
    """`/grants/{id}`."""

    parameter = "id"


class Grants(Node):
    """`/grants`."""

    member = Grant


class Access(Node):
    """`/access`: nothing in itself."""


def includeme(config: ServiceConfigurator) -> None:
    config.add_tree_child(Root, "grants", Grants)
    config.add_tree_child(Root, "access", Access)
