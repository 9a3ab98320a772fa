"""Who was turned away: denied at a scope without holding anything, and where."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import BigInteger, ColumnElement, cast, func, or_, select

from secretsvc.access.rules.holders import holds_anything
from secretsvc.audit.models import denial_tally
from secretsvc.audit.rules.scope import auditable_denials
from secretsvc.authorization.rules.checks import assert_admin_somewhere, assert_can
from secretsvc.authorization.rules.snapshot import covered_by
from secretsvc.db.types import FoundRow
from secretsvc.kernel.authorization import Role, ScopePath, admin_grants
from secretsvc.kernel.schema_annotations import KindText, Ordinal, Subject, Time
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

#: How many rows of the tally a page looks at.
LIMIT = 200


@dataclass(frozen=True, slots=True)
class DeniedIdentity:
    """Somebody who proved who they are, was denied, and holds nothing; times in epoch milliseconds.

    `at` is where they were denied last.
    """

    kind: str
    subject: str
    denials: int
    first_denied_at: int
    last_denied_at: int
    at: ScopePath
    scope: str


@dataclass(frozen=True, slots=True)
class UnknownIdentity:
    """A subject that was denied and holds no unexpired grant; times in epoch milliseconds."""

    subject: Subject
    kind: KindText
    denials: Ordinal
    first_denied_at: Time
    last_denied_at: Time


def unknown_identities(call: UseCaseContext) -> list[UnknownIdentity]:
    """Who was denied without holding anything, the latest first (contract 3.7)."""
    assert_admin_somewhere(call)
    counted, last = denial_tally.c, func.max(denial_tally.c.last_denied_at)
    statement = (
        select(
            identity.c.subject,
            identity.c.kind,
            # PostgreSQL makes a decimal of it, which no client expects.
            cast(func.sum(counted.denials), BigInteger).label("denials"),
            func.min(counted.first_denied_at).label("first_denied_at"),
            last.label("last_denied_at"),
        )
        .join_from(denial_tally, identity, identity.c.id == counted.identity_id)
        .where(auditable_denials(call), ~holds_anything(counted.identity_id))
        .group_by(counted.identity_id, identity.c.kind, identity.c.subject)
        .order_by(last.desc(), identity.c.subject)
    )
    rows = call.connection.execute(statement, {"now": call.now}).mappings()
    return [UnknownIdentity(**found) for found in rows]


def turned_away(call: UseCaseContext) -> list[DeniedIdentity]:
    """All whom the caller may see to have been turned away, the latest first."""
    assert_admin_somewhere(call)
    return _found(call, auditable_denials(call))


def turned_away_from(call: UseCaseContext, at: ScopePath) -> list[DeniedIdentity]:
    """The identities denied at a project and its environments, or at an environment; one statement.

    A slug that changed hands since the snapshot has none that the caller can see.
    """
    assert_can(call, Role.ADMIN, at)
    inside = [project.c.slug == at.project]
    inside.append(covered_by(admin_grants(call.snapshot), project.c.id, environment.c.id))
    if at.environment is not None:
        inside.append(environment.c.slug == at.environment)
    return _found(call, *inside)


def _found(call: UseCaseContext, *conditions: ColumnElement[bool]) -> list[DeniedIdentity]:
    row = denial_tally.c
    source = (
        denial_tally.join(identity, identity.c.id == row.identity_id)
        .outerjoin(environment, environment.c.id == row.scope_id)
        .outerjoin(project, or_(project.c.id == row.scope_id, project.c.id == environment.c.project_id))
    )
    statement = (
        select(
            identity.c.kind,
            identity.c.subject,
            row.denials,
            row.first_denied_at,
            row.last_denied_at,
            project.c.slug.label("project"),
            project.c.name.label("project_name"),
            environment.c.slug.label("environment"),
            environment.c.name.label("environment_name"),
        )
        .select_from(source)
        .where(*conditions, ~holds_anything(row.identity_id))
        .order_by(row.last_denied_at.desc(), identity.c.subject)
        .limit(LIMIT)
    )
    found: dict[tuple[str, str], DeniedIdentity] = {}
    for one in call.connection.execute(statement, {"now": call.now}):
        key = (one.kind, one.subject)
        found[key] = _and(found[key], one) if key in found else _first(one)
    return [*found.values()]


def _first(row: FoundRow) -> DeniedIdentity:
    names = filter(None, (row.project_name, row.environment_name))
    return DeniedIdentity(
        row.kind,
        row.subject,
        row.denials,
        row.first_denied_at,
        row.last_denied_at,
        ScopePath(row.project, row.environment),
        " / ".join(names),
    )


def _and(one: DeniedIdentity, row: FoundRow) -> DeniedIdentity:
    """With what was counted at an earlier scope."""
    first = min(one.first_denied_at, row.first_denied_at)
    return replace(one, denials=one.denials + row.denials, first_denied_at=first)
