"""How somebody comes to hold a role: the grants that reach them, and which of these decide where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from secretsvc.access.rules.explanation import explain_at
from secretsvc.access.rules.holders import GROUP
from secretsvc.kernel.actors import Kind
from secretsvc.kernel.authorization import GrantSnapshot, HeldGrant, Role, ScopePath, ScopeType
from secretsvc.kernel.display_names import full_name

#: Who made what nobody granted.
SYSTEM = "the system"
_KINDS = {Kind.USER.value: 0, GROUP: 1, Kind.SERVICE.value: 2}


class GroupName(NamedTuple):
    """A group as pages name it."""

    id: UUID
    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class RoleSource:
    """A grant that reaches somebody, directly or through a group; `made_at` in epoch milliseconds.

    `made_at` is None for a bootstrap admin's that has no row yet.
    """

    held: HeldGrant
    group: GroupName | None
    made_by: str
    made_at: int | None

    @property
    def is_admin_everywhere(self) -> bool:
        """Whether it makes an admin of everything."""
        return self.held.scope_type is ScopeType.GLOBAL and self.held.role is Role.ADMIN

    def through(self, group: GroupName) -> RoleSource:
        """The same for a member of the group that holds it."""
        return replace(self, held=replace(self.held, group_id=group.id), group=group)


@dataclass(slots=True)
class HolderRoles:
    """A person, a service token or a group, with the grants that reach it and its own that have ended.

    `subject` is a group's slug; `members` counts a group's; `announced` is who has not signed in yet.
    """

    kind: str
    id: UUID
    name: str
    subject: str
    disabled: bool = False
    announced: bool = False
    members: int = 0
    ways: list[RoleSource] = field(default_factory=list)
    ended: list[RoleSource] = field(default_factory=list)

    @property
    def label(self) -> str:
        """The name for sentences: an identity's with its subject."""
        return self.name if self.kind == GROUP else full_name(self.name, self.subject)

    @property
    def order(self) -> tuple[int, int, str]:
        """People, groups, service tokens; of each kind whoever is the strongest anywhere comes first."""
        widest = max((self._rank(way) for way in self.ways), default=0)
        return _KINDS[self.kind], -widest, self.name.casefold()

    def as_group(self) -> GroupName:
        """Its name as that of a group."""
        return GroupName(self.id, self.subject, self.name)

    def decisive(self, at: ScopePath) -> RoleSource | None:
        """The grant that decides the role at an address, None where there is no role."""
        decides = explain_at(self._snapshot(self.ways), at).decisive
        return next((way for way in self.ways if way.held is decides), None)

    def role_at(self, at: ScopePath) -> Role | None:
        """The effective role at an address."""
        decides = self.decisive(at)
        return decides.held.role if decides is not None else None

    def formerly(self, at: ScopePath) -> Role | None:
        """The role that the grants which have ended gave."""
        return explain_at(self._snapshot(self.ended), at).role

    def ending_before(self, moment: int) -> bool:
        """Whether a grant that reaches it ends before a time, epoch milliseconds."""
        return any((way.held.expires_at or moment) < moment for way in self.ways)

    def _snapshot(self, ways: Sequence[RoleSource]) -> GrantSnapshot:
        return GrantSnapshot(tuple(way.held for way in ways), self.disabled)

    @staticmethod
    def _rank(way: RoleSource) -> int:
        """Of equal roles the wider scope first."""
        return way.held.role.rank * 4 - ("global", "project", "environment").index(way.held.scope_type)
