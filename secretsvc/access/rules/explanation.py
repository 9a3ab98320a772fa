"""The explainer: what a set of grants amounts to at each scope that it names, and by which grant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from secretsvc.kernel.authorization import GrantSnapshot, HeldGrant, Role, ScopePath, ScopeType
from secretsvc.kernel.schema_annotations import Slug, Time, schema_name

_WIDTH = {ScopeType.GLOBAL: 0, ScopeType.PROJECT: 1, ScopeType.ENVIRONMENT: 2}


@dataclass(frozen=True, slots=True)
class GroupRef:
    """The group that a grant came through."""

    id: UUID
    slug: Slug


@schema_name("PermissionSource")
@dataclass(frozen=True, slots=True)
class Source:
    """A grant that confers a role; `grant_id` is None for a bootstrap admin's that has no row yet."""

    grant_id: UUID | None
    group: GroupRef | None
    role: Role
    scope_type: ScopeType
    project: Slug | None
    environment: Slug | None
    expires_at: Time | None
    decisive: bool


@dataclass(frozen=True, slots=True)
class Explained:
    """A scope, the effective role there, every grant that covers it, and the one that decides."""

    at: ScopePath
    role: Role | None
    sources: tuple[HeldGrant, ...]
    decisive: HeldGrant | None


def explain_grants(snapshot: GrantSnapshot) -> list[Explained]:
    """One entry for each scope that an unexpired grant names, widest first.

    A disabled identity has its sources and no role (specification, "Access"). What it says equals what
    `decide` enforces.
    """
    return [explain_at(snapshot, at) for at in _named_scopes(snapshot.grants)]


def explain_at(snapshot: GrantSnapshot, at: ScopePath) -> Explained:
    """What the grants amount to at one address."""
    sources = tuple(sorted((held for held in snapshot.grants if held.covers(at)), key=_precedence))
    if snapshot.disabled or not sources:
        return Explained(at, None, sources, None)
    return Explained(at, sources[0].role, sources, sources[0])


def grant_source(held: HeldGrant, groups: Mapping[UUID, GroupRef], *, decisive: bool) -> Source:
    """A grant as clients see it; `groups` has the group that it came through."""
    scope = scope_of(held)
    return Source(
        held.grant_id,
        groups.get(held.group_id) if held.group_id is not None else None,
        held.role,
        held.scope_type,
        scope.project,
        scope.environment,
        held.expires_at,
        decisive,
    )


def scope_of(held: HeldGrant) -> ScopePath:
    """The address that a grant names."""
    return ScopePath(held.project, held.environment)


def _named_scopes(grants: Iterable[HeldGrant]) -> list[ScopePath]:
    scopes = {scope_of(held) for held in grants}
    return sorted(scopes, key=lambda at: (at.project or "", at.environment or ""))


def _precedence(held: HeldGrant) -> tuple[int, int, bool, str]:
    """The greatest role first; of equal ones the widest, then a direct one, then the oldest (contract 2)."""
    return -held.role.rank, _WIDTH[held.scope_type], held.group_id is not None, str(held.grant_id or "")
