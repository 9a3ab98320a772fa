"""Addresses of service tokens, which hang below their identity."""

from __future__ import annotations

from uuid import UUID

from secretsvc.identity.resources import Identity
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.tree import IdNode, Node


class _OfIdentity(Node):
    """A node below an identity."""

    @property
    def identity_id(self) -> UUID:
        """The identity's id."""
        return next(node.id for node in self.lineage() if isinstance(node, Identity))


class Token(_OfIdentity, IdNode):
    """`/identities/{id}/tokens/{tokenId}`."""

    parameter = "tokenId"


class Tokens(_OfIdentity):
    """`/identities/{id}/tokens`."""

    member = Token


def includeme(config: ServiceConfigurator) -> None:
    config.add_tree_child(Identity, "tokens", Tokens)
