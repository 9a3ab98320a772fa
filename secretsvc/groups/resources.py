"""Addresses of groups and what hangs below them; they lie at global scope."""

from __future__ import annotations

from uuid import UUID

from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.tree import IdNode, Node, Root


class Group(IdNode):
    """`/groups/{id}`."""

    parameter = "id"


class Groups(Node):
    """`/groups`."""

    member = Group


class InGroup(Node):
    """A node below a group."""

    @property
    def group_id(self) -> UUID:
        """The group's id."""
        return next(node.id for node in self.lineage() if isinstance(node, Group))


class Member(InGroup, IdNode):
    """`/groups/{id}/members/{identityId}`."""

    parameter = "identityId"


class Members(InGroup):
    """`/groups/{id}/members`."""

    member = Member


class GroupGrant(InGroup, IdNode):
    """`/groups/{id}/grants/{grantId}`."""

    parameter = "grantId"


class GroupGrants(InGroup):
    """`/groups/{id}/grants`."""

    member = GroupGrant


def includeme(config: ServiceConfigurator) -> None:
    config.add_tree_child(Root, "groups", Groups)
    config.add_tree_child(Group, "members", Members)
    config.add_tree_child(Group, "grants", GroupGrants)
