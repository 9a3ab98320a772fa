"""What an identity may do, project by project: its grants, those of its groups, and where they reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import and_, func, or_, select

from secretsvc.access.rules.grant_names import NamedGrant, Reached, all_named
from secretsvc.access.rules.role_sources import SYSTEM, GroupName, HolderRoles, RoleSource
from secretsvc.authorization.rules.admission import is_bootstrap_admin
from secretsvc.authorization.rules.checks import assert_admin_somewhere
from secretsvc.identity.rules import IdentityRow, find_identity
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.authorization import (
    ADMIN_EVERYWHERE,
    HeldGrant,
    Role,
    ScopeType,
    decide_row,
    is_expired,
)
from secretsvc.kernel.sidebar_project import NamedScope
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import environment_in_sight, project_in_sight
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.projects import environment, project

#: How many projects with their environments are looked at.
LIMIT = 1000


@dataclass(frozen=True, slots=True)
class MemberOf:
    """A group that an identity is in, with the number of its members."""

    id: UUID
    slug: str
    name: str
    members: int


@dataclass(frozen=True, slots=True)
class RoleMap:
    """An identity, the grants that reach it, its own at the scopes shown, its groups, and the projects."""

    identity: IdentityRow
    holding: HolderRoles
    direct: list[NamedGrant]
    groups: list[MemberOf]
    projects: list[Reached]


def roles_of(call: UseCaseContext, identity_id: UUID) -> RoleMap:
    """The map of an identity, narrowed to the scopes that the caller administers; four statements."""
    assert_admin_somewhere(call)

    def administers(project_id: UUID | None, environment_id: UUID | None = None) -> bool:
        if project_id is None:
            return call.snapshot.global_role is Role.ADMIN
        return decide_row(call.snapshot, project_id, environment_id) is Role.ADMIN

    return _map(call, find_identity(call, identity_id), administers)


def own_roles(call: UseCaseContext) -> RoleMap:
    """The caller's own map, of all that it sees; open to any identity, the disabled too."""
    return _map(call, find_identity(call, call.actor.identity_id), lambda *_: True)


def _map(call: UseCaseContext, found: IdentityRow, shows: Callable[..., bool]) -> RoleMap:
    grants = _grants(call, found.id)
    shown = [one for one in grants if shows(one.grant.project_id, one.grant.environment_id)]
    direct = [one for one in shown if one.grant.identity_id is not None]
    return RoleMap(
        found, _holding(call, found, grants), direct, _groups(call, found.id), _scopes(call, shows)
    )


def _grants(call: UseCaseContext, identity_id: UUID) -> list[NamedGrant]:
    memberships = select(group_member.c.group_id).where(group_member.c.identity_id == identity_id)
    return all_named(call, or_(grant.c.identity_id == identity_id, grant.c.group_id.in_(memberships)))


def _holding(call: UseCaseContext, found: IdentityRow, grants: Sequence[NamedGrant]) -> HolderRoles:
    is_new = found.last_seen_at is None
    holding = HolderRoles(found.kind, found.id, found.short_name, found.subject, found.disabled, is_new)
    for one in grants:
        way = _way(one)
        if not is_expired(one.grant.expires_at, call.now):
            holding.ways.append(way)
        elif way.group is None:
            holding.ended.append(way)
    listed = is_bootstrap_admin(call.settings, Principal(Kind(found.kind), found.subject))
    if listed and not any(way.is_admin_everywhere and way.group is None for way in holding.ways):
        holding.ways.append(RoleSource(ADMIN_EVERYWHERE, None, SYSTEM, None))
    return holding


def _way(one: NamedGrant) -> RoleSource:
    found = one.grant
    held = HeldGrant(
        found.id,
        found.group_id,
        Role(found.role),
        ScopeType(found.scope_type),
        project_id=found.project_id,
        project=found.project,
        environment_id=found.environment_id,
        environment=found.environment,
        expires_at=found.expires_at,
    )
    through = GroupName(found.group_id, one.holder.name, one.label) if found.group_id else None
    return RoleSource(held, through, one.created_by, found.created_at)


def _groups(call: UseCaseContext, identity_id: UUID) -> list[MemberOf]:
    every = group_member.alias("every")
    members = select(func.count()).where(every.c.group_id == group.c.id).scalar_subquery()
    statement = (
        select(group.c.id, group.c.slug, group.c.name, members.label("members"))
        .join_from(group, group_member)
        .where(group_member.c.identity_id == identity_id)
        .order_by(group.c.slug)
    )
    return [MemberOf(**row) for row in call.connection.execute(statement).mappings()]


def _scopes(call: UseCaseContext, shows: Callable[..., bool]) -> list[Reached]:
    joined = and_(environment.c.project_id == project.c.id, environment_in_sight(call))
    statement = (
        select(
            project.c.id,
            project.c.slug,
            project.c.name,
            environment.c.id.label("environment_id"),
            environment.c.slug.label("environment"),
            environment.c.name.label("environment_name"),
        )
        .outerjoin_from(project, environment, joined)
        .where(project_in_sight(call))
        .order_by(project.c.id, environment.c.id)
        .limit(LIMIT)
    )
    found: dict[str, Reached] = {}
    for row in call.connection.execute(statement):
        whole = shows(row.id)
        if row.environment is not None and shows(row.id, row.environment_id):
            reached = found.setdefault(row.slug, Reached(row.slug, row.name, whole, []))
            reached.environments.append(NamedScope(row.environment, row.environment_name))
        elif whole:
            found.setdefault(row.slug, Reached(row.slug, row.name, whole, []))
    return [*found.values()]
