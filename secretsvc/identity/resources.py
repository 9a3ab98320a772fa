"""Addresses of identities."""

from __future__ import annotations

from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.tree import IdNode, Node, Root


class Identity(IdNode):
    """`/identities/{id}`."""

    parameter = "id"


class Identities(Node):
    """`/identities`."""

    member = Identity


def includeme(config: ServiceConfigurator) -> None:
    config.add_tree_child(Root, "identities", Identities)
