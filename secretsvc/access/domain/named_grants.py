"""Use cases of grants by name: who holds what where, which scopes the caller can grant, and to whom."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import func, literal, select, union_all

from secretsvc.access.rules.grant_names import NamedGrant, Reached, all_named, make_named, select_named
from secretsvc.access.rules.grants import (
    GRANT_NOT_FOUND,
    GrantRow,
    Terms,
    create_grant,
    find_grant,
    is_admin_without,
    within_administered,
)
from secretsvc.access.rules.holders import (
    GROUP,
    NOBODY,
    NOT_YET,
    FoundHolder,
    address,
    find_named,
    is_address,
    make_holder,
)
from secretsvc.authorization.rules.checks import assert_admin_somewhere, assert_can
from secretsvc.authorization.rules.snapshot import covered_by
from secretsvc.db.paging import Page, Window, page_of
from secretsvc.db.statements import has_text
from secretsvc.identity.domain import announce_identity
from secretsvc.kernel.actors import Kind
from secretsvc.kernel.authorization import Role, admin_grants, decide_row
from secretsvc.kernel.errors import NotFound, ValidationFailed
from secretsvc.kernel.sidebar_project import NamedScope
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import grant, group
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

#: How many names a form suggests: the identities seen or announced last, and as many groups.
SUGGESTIONS = 200


@dataclass(frozen=True, slots=True)
class ChangeableGrant:
    """A grant that the caller may lower and shorten, and whether also raise and lengthen (contract 5.10)."""

    named: NamedGrant
    may_raise: bool


@dataclass(frozen=True, slots=True)
class Scopes:
    """Where the caller can grant."""

    everywhere: bool
    projects: list[Reached]


def named_grants(call: UseCaseContext, window: Window, containing: str = "") -> Page[NamedGrant]:
    """The grants at scopes that the caller administers, oldest first.

    With a text, those whose holder or scope has it in its name, in capitals or not.
    """
    assert_admin_somewhere(call)
    statement = select_named().where(within_administered(call))
    if containing:
        held = (identity.c.subject, identity.c.display_name, group.c.slug, group.c.name)
        scopes = (project.c.slug, project.c.name, environment.c.slug, environment.c.name)
        statement = statement.where(has_text(containing, *held, *scopes))
    return page_of(call.connection, statement, grant.c.id, window, make_named)


def grants_of_group(call: UseCaseContext, group_id: UUID) -> list[NamedGrant]:
    """The grants of a group at scopes that the caller administers, the expired too."""
    assert_admin_somewhere(call)
    return all_named(call, grant.c.group_id == group_id, within_administered(call))


def changeable_grant(call: UseCaseContext, grant_id: UUID) -> ChangeableGrant:
    """A grant at a scope that the caller administers. Raises `NotFound` and `Forbidden` as a removal does."""
    assert_admin_somewhere(call)
    found = find_grant(call, grant_id)
    named = all_named(call, grant.c.id == found.id)
    if not named:
        raise NotFound(GRANT_NOT_FOUND)
    return ChangeableGrant(named[0], is_admin_without(call, found))


def same_grant(call: UseCaseContext, holder: FoundHolder, terms: Terms) -> NamedGrant | None:
    """The grant that another one to the same holder, at the same scope and of the same role would repeat."""
    assert_can(call, Role.ADMIN, terms.scope)
    found = all_named(
        call,
        grant.c[holder.column] == holder.id,
        grant.c.role == terms.role.value,
        project.c.slug == terms.scope.project,
        environment.c.slug == terms.scope.environment,
        within_administered(call),
    )
    return found[0] if found else None


def grantable_scopes(call: UseCaseContext) -> Scopes:
    """The scopes that the caller administers, by name."""
    assert_admin_somewhere(call)
    statement = (
        select(
            project.c.id,
            project.c.slug,
            project.c.name,
            environment.c.slug.label("environment"),
            environment.c.name.label("environment_name"),
        )
        .outerjoin_from(project, environment)
        .where(covered_by(admin_grants(call.snapshot), project.c.id, environment.c.id))
        .order_by(project.c.slug, environment.c.slug)
    )
    found: dict[str, Reached] = {}
    for row in call.connection.execute(statement):
        usual = Reached(row.slug, row.name, decide_row(call.snapshot, row.id) is Role.ADMIN, [])
        scopes = found.setdefault(row.slug, usual)
        if row.environment is not None:
            scopes.environments.append(NamedScope(row.environment, row.environment_name))
    return Scopes(call.snapshot.global_role is Role.ADMIN, list(found.values()))


def known_holders(call: UseCaseContext, *, groups: bool = True) -> list[FoundHolder]:
    """Whom a form suggests: the identities that were seen or announced last, and groups by their slugs."""
    assert_admin_somewhere(call)
    latest = func.coalesce(identity.c.last_seen_at, identity.c.created_at).desc()
    seen = select(identity.c.kind, identity.c.subject, identity.c.id, identity.c.display_name.label("label"))
    people = seen.order_by(latest, identity.c.id).limit(SUGGESTIONS).subquery()
    slugs = select(literal(GROUP).label("kind"), group.c.slug.label("subject"), group.c.id, group.c.name)
    named = slugs.order_by(group.c.slug).limit(SUGGESTIONS).subquery()
    statement = union_all(select(people), select(named)) if groups else select(people)
    rows = call.connection.execute(statement)
    return [make_holder(*row) for row in rows]


def whom(call: UseCaseContext, text: str, *, announce: bool = False, groups: bool = True) -> FoundHolder:
    """Whoever a text names; a person who has not signed in yet is announced if that is wanted.

    Raises `ValidationFailed` where nobody is named, or several are.
    """
    assert_admin_somewhere(call)
    found = find_named(call, text, groups=groups)
    if found is not None:
        return found
    if not is_address(text):
        raise ValidationFailed.at("holder", NOBODY)
    if not announce:
        raise ValidationFailed.at("holder", NOT_YET)
    made = announce_identity(call, kind=Kind.USER.value, subject=address(text))
    return FoundHolder(made.kind, made.subject, made.id, made.subject)


def grant_to(call: UseCaseContext, holder: FoundHolder, terms: Terms) -> GrantRow:
    """Grants a role to whoever was found. Raises `Conflict`."""
    assert_can(call, Role.ADMIN, terms.scope)
    return create_grant(call, terms, **{holder.column: holder.id})
