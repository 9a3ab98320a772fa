"""The decision: a pure function of a snapshot and an address, the only place that knows inheritance.

Grants inherit downwards only, global > project > environment, and the greatest role wins
(specification, "Authorization resolution").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID


class Role(StrEnum):
    """What a grant confers; `reader < writer < admin`."""

    READER = "reader"
    WRITER = "writer"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """1 to 3; a role implies those of lower rank."""
        return _RANKS[self]

    def implies(self, other: Role) -> bool:
        """Whether whoever holds this role may do what `other` allows."""
        return self.rank >= other.rank


_RANKS = {Role.READER: 1, Role.WRITER: 2, Role.ADMIN: 3}


class ScopeType(StrEnum):
    """How wide a grant reaches."""

    GLOBAL = "global"
    PROJECT = "project"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True)
class ScopePath:
    """The slugs that a request names: none (global), a project, or a project and its environment."""

    project: str | None = None
    environment: str | None = None

    @property
    def scope_type(self) -> ScopeType:
        """The scope at which an operation on this address is judged."""
        if self.environment is not None:
            return ScopeType.ENVIRONMENT
        return ScopeType.GLOBAL if self.project is None else ScopeType.PROJECT

    @property
    def parent(self) -> ScopePath:
        """The address one level up; global is its own parent."""
        return ScopePath(self.project) if self.environment is not None else GLOBAL


GLOBAL = ScopePath()


@dataclass(frozen=True, slots=True)
class HeldGrant:
    """An unexpired grant that the caller holds, directly or through a group, with the slugs of its scope."""

    grant_id: UUID | None
    group_id: UUID | None
    role: Role
    scope_type: ScopeType
    project_id: UUID | None = None
    project: str | None = None
    environment_id: UUID | None = None
    environment: str | None = None
    expires_at: int | None = None

    def covers(self, at: ScopePath) -> bool:
        """Whether the grant's scope is the address or lies above it."""
        if self.scope_type is ScopeType.GLOBAL:
            return True
        if self.project != at.project:
            return False
        return self.scope_type is ScopeType.PROJECT or self.environment == at.environment

    def covers_row(self, project_id: UUID, environment_id: UUID | None) -> bool:
        """As `covers`, for the rows that the slugs turned out to name."""
        if self.scope_type is ScopeType.GLOBAL:
            return True
        if self.project_id != project_id:
            return False
        return self.scope_type is ScopeType.PROJECT or self.environment_id == environment_id


@dataclass(frozen=True, slots=True)
class GrantSnapshot:
    """What one identity may do, as of one clock value. Never kept beyond its request."""

    grants: tuple[HeldGrant, ...] = ()
    disabled: bool = False

    @property
    def effective_grants(self) -> tuple[HeldGrant, ...]:
        """The grants that count: none for a disabled identity."""
        return () if self.disabled else self.grants

    @property
    def global_role(self) -> Role | None:
        """The role at every scope."""
        return decide(self, GLOBAL)

    def without(self, grant_id: UUID) -> GrantSnapshot:
        """What is left if one grant does not count; what no row says stays."""
        return replace(self, grants=tuple(held for held in self.grants if held.grant_id != grant_id))


#: What those named in BOOTSTRAP_ADMINS, and the system itself, may do: everything, by no row.
ADMIN_EVERYWHERE = HeldGrant(None, None, Role.ADMIN, ScopeType.GLOBAL)
SYSTEM_GRANTS = GrantSnapshot((ADMIN_EVERYWHERE,))


def is_expired(expires_at: int | None, now: int) -> bool:
    """Whether a grant is expired: when `now >= expires_at`, in epoch milliseconds (contract 3.6).

    Its form in SQL is `not_expired` of authorization/rules/snapshot.py.
    """
    return expires_at is not None and now >= expires_at


def highest(roles: Iterable[Role]) -> Role | None:
    """The role of highest rank, None of none."""
    return max(roles, key=_RANKS.__getitem__, default=None)


def decide(snapshot: GrantSnapshot, at: ScopePath) -> Role | None:
    """The effective role at an address: the greatest of the grants that cover it."""
    return highest([grant.role for grant in snapshot.effective_grants if grant.covers(at)])


def holds(snapshot: GrantSnapshot, role: Role, at: ScopePath) -> bool:
    """Whether the effective role at an address implies another one."""
    held = decide(snapshot, at)
    return held is not None and held.implies(role)


def decide_row(snapshot: GrantSnapshot, project_id: UUID, environment_id: UUID | None = None) -> Role | None:
    """As `decide`, for rows that were loaded.

    A slug can be given to a new project between the snapshot and the load; an id cannot.
    """
    return highest(
        [grant.role for grant in snapshot.effective_grants if grant.covers_row(project_id, environment_id)]
    )


def sees_project(snapshot: GrantSnapshot, project: str) -> bool:
    """Whether a project is visible: by a grant on it, above or below it (contract 4.1)."""
    return any(
        grant.scope_type is ScopeType.GLOBAL or grant.project == project
        for grant in snapshot.effective_grants
    )


def can_see(snapshot: GrantSnapshot, at: ScopePath) -> bool:
    """Whether the thing at the address is visible to the caller, if it exists."""
    if at.scope_type is ScopeType.GLOBAL:
        return True
    if at.environment is None:
        return sees_project(snapshot, at.project or "")
    return decide(snapshot, at) is not None


def sees_row(snapshot: GrantSnapshot, project_id: UUID, environment_id: UUID | None = None) -> bool:
    """As `sees`, for rows that were loaded; see `decide_row`."""
    if environment_id is not None:
        return decide_row(snapshot, project_id, environment_id) is not None
    return any(
        grant.scope_type is ScopeType.GLOBAL or grant.project_id == project_id
        for grant in snapshot.effective_grants
    )


def admin_grants(snapshot: GrantSnapshot) -> Iterator[HeldGrant]:
    """The grants that make the caller an admin of something."""
    return (grant for grant in snapshot.effective_grants if grant.role is Role.ADMIN)
