"""Use cases of grants by name: who holds what where, which scopes the caller can grant, and to whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, or_, select, true

from secretsvc.access.rules.grants import (
    GRANT_NOT_FOUND,
    Grant,
    Terms,
    create_grant,
    find_grant,
    is_admin_without,
    make_grant,
    select_grants,
    within_administered,
)
from secretsvc.access.rules.holders import GROUP, Holder, find_holder
from secretsvc.authorization.rules.asserting import assert_admin_somewhere, assert_can, recheck_by_id
from secretsvc.db.paging import Page, Window, page_of
from secretsvc.kernel.authorization import GLOBAL, Address, Role, ScopeType, administered, decide
from secretsvc.kernel.call import Call
from secretsvc.kernel.errors import NotFound
from secretsvc.projects.rules import find_environment, find_project
from secretsvc.tables.grants import grant, group
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

#: How many names a form suggests: the identities seen or announced last, and as many groups.
SUGGESTIONS = 200


@dataclass(frozen=True, slots=True)
class NamedGrant:
    """A grant with the names of who holds it and of who made it."""

    grant: Grant
    holder: Holder
    created_by: str


@dataclass(frozen=True, slots=True)
class ChangeableGrant:
    """A grant that the caller may lower and shorten, and whether also raise and lengthen (contract 5.10)."""

    named: NamedGrant
    may_raise: bool


@dataclass(frozen=True, slots=True)
class ProjectScopes:
    """What the caller can grant in a project: the project as a whole, and these environments."""

    project: str
    whole: bool
    environments: list[str]


@dataclass(frozen=True, slots=True)
class Scopes:
    """Where the caller can grant."""

    everywhere: bool
    projects: list[ProjectScopes]


def named_grants(call: Call, window: Window) -> Page[NamedGrant]:
    """The grants at scopes that the caller administers, oldest first."""
    assert_admin_somewhere(call)
    statement = _select().where(within_administered(call))
    return page_of(call.connection, statement, grant.c.id, window, _make)


def grants_of_identity(call: Call, identity_id: UUID) -> list[NamedGrant]:
    """Those of them that an identity holds itself, the expired too."""
    assert_admin_somewhere(call)
    return _all(call, grant.c.identity_id == identity_id, within_administered(call))


def grants_of_group(call: Call, group_id: UUID) -> list[NamedGrant]:
    """Those of them that a group holds, the expired too."""
    assert_admin_somewhere(call)
    return _all(call, grant.c.group_id == group_id, within_administered(call))


def grants_within(call: Call, at: Address) -> list[NamedGrant]:
    """The grants on a project and its environments, or on an environment alone, the expired too."""
    assert_can(call, Role.ADMIN, at)
    if at.environment is None:
        found = find_project(call, at)
        recheck_by_id(call, found.id)
        return _all(call, grant.c.project_id == found.id)
    return _all(call, grant.c.environment_id == find_environment(call, at).id)


def changeable_grant(call: Call, grant_id: UUID) -> ChangeableGrant:
    """A grant at a scope that the caller administers. Raises `NotFound` and `Forbidden` as a removal does."""
    assert_admin_somewhere(call)
    found = find_grant(call, grant_id)
    named = _all(call, grant.c.id == found.id)
    if not named:
        raise NotFound(GRANT_NOT_FOUND)
    return ChangeableGrant(named[0], is_admin_without(call, found))


def same_grant(call: Call, holder: Holder, terms: Terms) -> NamedGrant | None:
    """The grant that another one to the same holder, at the same scope and of the same role would repeat."""
    assert_can(call, Role.ADMIN, terms.scope)
    holder_id = find_holder(call, holder)
    found = _all(
        call,
        or_(grant.c.identity_id == holder_id, grant.c.group_id == holder_id),
        grant.c.role == terms.role.value,
        project.c.slug == terms.scope.project,
        environment.c.slug == terms.scope.environment,
        within_administered(call),
    )
    return found[0] if found else None


def grantable_scopes(call: Call) -> Scopes:
    """The scopes that the caller administers, by name."""
    assert_admin_somewhere(call)
    everywhere = decide(call.snapshot, GLOBAL) is Role.ADMIN
    held = list(administered(call.snapshot))
    whole = {one.project_id for one in held if one.scope_type is ScopeType.PROJECT}
    single = {one.environment_id for one in held if one.environment_id is not None}
    condition = true() if everywhere else or_(project.c.id.in_(whole), environment.c.id.in_(single))
    statement = (
        select(project.c.id, project.c.slug, environment.c.slug.label("environment"))
        .outerjoin_from(project, environment)
        .where(condition)
        .order_by(project.c.slug, environment.c.slug)
    )
    found: dict[str, ProjectScopes] = {}
    for row in call.connection.execute(statement):
        scopes = found.setdefault(row.slug, ProjectScopes(row.slug, everywhere or row.id in whole, []))
        if row.environment is not None:
            scopes.environments.append(row.environment)
    return Scopes(everywhere, list(found.values()))


def known_holders(call: Call) -> list[Holder]:
    """Whom a form suggests: the identities that were seen or announced last, and groups by their slugs."""
    assert_admin_somewhere(call)
    latest = func.coalesce(identity.c.last_seen_at, identity.c.created_at).desc()
    seen = select(identity.c.kind, identity.c.subject).order_by(latest, identity.c.id)
    people = call.connection.execute(seen.limit(SUGGESTIONS))
    slugs = call.connection.execute(select(group.c.slug).order_by(group.c.slug).limit(SUGGESTIONS))
    return [Holder(*row) for row in people] + [Holder(GROUP, slug) for slug in slugs.scalars()]


def grant_by_name(call: Call, holder: Holder, terms: Terms) -> Grant:
    """Grants a role to whoever bears a name. Raises `ValidationFailed` where nobody does, `Conflict`."""
    assert_can(call, Role.ADMIN, terms.scope)
    holder_id = find_holder(call, holder)
    column = "group_id" if holder.kind == GROUP else "identity_id"
    return create_grant(call, terms, **{column: holder_id})


def _select() -> Select[Any]:
    maker = identity.alias("maker")
    return (
        select_grants()
        .outerjoin(identity, identity.c.id == grant.c.identity_id)
        .outerjoin(group, group.c.id == grant.c.group_id)
        .outerjoin(maker, maker.c.id == grant.c.created_by)
        .add_columns(
            identity.c.kind,
            identity.c.subject,
            group.c.slug.label("group"),
            maker.c.subject.label("maker"),
        )
    )


def _make(
    kind: str | None, subject: str | None, group: str | None, maker: str | None, **columns: Any
) -> NamedGrant:
    found = make_grant(**columns)
    holder = Holder(kind or GROUP, subject or group or "")
    return NamedGrant(found, holder, maker or str(found.created_by))


def _all(call: Call, *conditions: ColumnElement[bool]) -> list[NamedGrant]:
    statement = _select().where(*conditions).order_by(grant.c.id)
    return [_make(**row) for row in call.connection.execute(statement).mappings()]
