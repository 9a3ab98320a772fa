"""Who can read this: everybody who holds a role at one scope, and the grant that decides it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    and_,
    cast,
    literal_column,
    null,
    or_,
    select,
    union_all,
)

from secretsvc.access.rules.explanation import Explained, GroupRef, Source, explain_at, grant_source
from secretsvc.authorization.rules.admission import with_bootstrap_grant
from secretsvc.authorization.rules.checks import assert_can, assert_covers_ids
from secretsvc.authorization.rules.snapshot import not_expired
from secretsvc.db.types import CompoundQuery, Query
from secretsvc.identity.rules import COLUMNS, IdentityRow
from secretsvc.kernel.actors import Kind
from secretsvc.kernel.authorization import GrantSnapshot, HeldGrant, Role, ScopePath, ScopeType
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import find_environment, find_project
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity

_TERMS = (grant.c.role, grant.c.scope_type, grant.c.expires_at)


@dataclass(frozen=True, slots=True)
class Reader:
    """An identity that may read at a scope, by which grant, and the name of the group that holds it."""

    identity: IdentityRow
    role: Role
    source: Source
    group_name: str | None


def readers(call: UseCaseContext, at: ScopePath, within: tuple[UUID, UUID] | None = None) -> list[Reader]:
    """Every enabled identity that holds a role at a project or an environment, the greatest role first.

    What it says equals what `decide` enforces. Two statements, however many they are; one where the ids of
    the environment's project and of itself are given as `within`, by whoever has found them.
    """
    assert_can(call, Role.ADMIN, at)
    statement = _held_where(call, _covers(call, at, within))
    rows = call.connection.execute(statement, {"now": call.now}).mappings().all()
    columns = [column.name for column in COLUMNS]
    people = {row["id"]: IdentityRow(**{name: row[name] for name in columns}) for row in rows}
    groups = {row["group_id"]: GroupRef(row["group_id"], row["group"]) for row in rows if row["group_id"]}
    held: dict[UUID, tuple[HeldGrant, ...]] = {}
    for row in rows:
        if row["role"] is not None:
            held[row["id"]] = (*held.get(row["id"], ()), _grant(row, at))
    for row in rows:
        if row["role"] is None:
            held[row["id"]] = with_bootstrap_grant(held.get(row["id"], ()))
    explained = {holder: explain_at(GrantSnapshot(grants), at) for holder, grants in held.items()}
    names = {row["group_id"]: row["group_name"] for row in rows}
    found = _readers(people, explained, groups, names)
    return sorted(found, key=lambda one: (-one.role.rank, one.identity.subject, one.identity.kind))


def _readers(
    people: Mapping[UUID, IdentityRow],
    explained: Mapping[UUID, Explained],
    groups: Mapping[UUID, GroupRef],
    names: Mapping[UUID | None, str | None],
) -> Iterable[Reader]:
    for holder, one in explained.items():
        if one.role is not None and one.decisive is not None:
            source = grant_source(one.decisive, groups, decisive=True)
            yield Reader(people[holder], one.role, source, names.get(one.decisive.group_id))


def _covers(call: UseCaseContext, at: ScopePath, within: tuple[UUID, UUID] | None) -> ColumnElement[bool]:
    """The condition that a grant's scope is the address or lies above it."""
    if within is not None:
        project_id, below = within[0], [grant.c.environment_id == within[1]]
    elif at.environment is None:
        project_id, below = find_project(call, at).id, []
        assert_covers_ids(call, at, project_id)
    else:
        found = find_environment(call, at)
        project_id, below = found.project_id, [grant.c.environment_id == found.id]
    above = and_(grant.c.scope_type == ScopeType.PROJECT.value, grant.c.project_id == project_id)
    # Spelled out as the partial index of global grants has it.
    return or_(grant.c.scope_type == literal_column("'global'"), above, *below)


def _held_where(call: UseCaseContext, condition: ColumnElement[bool]) -> CompoundQuery:
    """The unexpired grants of enabled identities, their own and those of their groups, in one statement.

    A row without a role is of one whom `BOOTSTRAP_ADMINS` names.
    """
    direct = _columns(*(cast(null(), one.type) for one in (group.c.slug, group.c.name))).join(
        grant, grant.c.identity_id == identity.c.id
    )
    shared = (
        _columns(group.c.slug, group.c.name)
        .join(group_member, group_member.c.identity_id == identity.c.id)
        .join(group, group.c.id == group_member.c.group_id)
        .join(grant, grant.c.group_id == group.c.id)
    )
    usable = and_(condition, not_expired(), ~identity.c.disabled)
    return union_all(direct.where(usable), shared.where(usable), *_bootstrap_admins(call))


def _columns(group_slug: ColumnElement[str], group_name: ColumnElement[str]) -> Query:
    return select(
        *COLUMNS,
        grant.c.id.label("grant_id"),
        grant.c.group_id,
        group_slug.label("group"),
        group_name.label("group_name"),
        *_TERMS,
    ).select_from(identity)


def _grant(row: RowMapping, at: ScopePath) -> HeldGrant:
    """A row as a grant at the address or above it, which is why its slugs are known."""
    scope_type = ScopeType(row["scope_type"])
    project = at.project if scope_type is not ScopeType.GLOBAL else None
    environment = at.environment if scope_type is ScopeType.ENVIRONMENT else None
    return HeldGrant(
        row["grant_id"],
        row["group_id"],
        Role(row["role"]),
        scope_type,
        project=project,
        environment=environment,
        expires_at=row["expires_at"],
    )


def _bootstrap_admins(call: UseCaseContext) -> list[Query]:
    """The known and enabled among those whom `BOOTSTRAP_ADMINS` names; it names people only."""
    subjects = call.settings.bootstrap_admins
    if not subjects:
        return []
    named = [grant.c.id, grant.c.group_id, group.c.slug, group.c.name, *_TERMS]
    nothing = [cast(null(), column.type) for column in named]
    is_named = and_(
        identity.c.kind == Kind.USER.value, identity.c.subject.in_(subjects), ~identity.c.disabled
    )
    return [select(*COLUMNS, *nothing).where(is_named)]
