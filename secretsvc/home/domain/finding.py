"""Finding things by a part of their names and descriptions, as the page of the search shows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from sqlalchemy import Text, cast, func, literal, null, select, union_all

from secretsvc.authorization.rules.asserting import assert_admin_somewhere
from secretsvc.db.statements import by_code_point
from secretsvc.db.types import Expression, Query
from secretsvc.home.rules import holds_text
from secretsvc.kernel.call import Call
from secretsvc.projects.rules import environment_in_sight, project_in_sight
from secretsvc.secrets.models import secret
from secretsvc.tables.grants import group
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

KEY, PROJECT, ENVIRONMENT = range(3)
GROUP = "group"
_NOTHING: Expression = cast(null(), Text)


@dataclass(frozen=True, slots=True)
class FoundScope:
    """A project, or an environment with the project that it is in."""

    project: str
    project_name: str
    environment: str | None
    environment_name: str | None
    description: str | None


@dataclass(frozen=True, slots=True)
class FoundKey:
    """A key of a project, with the environments that have it, by slug and name."""

    project: str
    project_name: str
    key: str
    environments: list[tuple[str, str]] = field(default_factory=list)
    descriptions: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FoundHolder:
    """An identity or a group; `name` is its display name, `seen_at` in epoch milliseconds."""

    id: UUID
    kind: str
    subject: str
    name: str | None
    seen_at: int | None


@dataclass(frozen=True, slots=True)
class FoundScopes:
    """What was found of scopes and keys; `cut` where there is more."""

    keys: list[FoundKey]
    projects: list[FoundScope]
    environments: list[FoundScope]
    cut: bool


def find_scopes(
    call: Call, text: str, limit: int, *, in_project: str | None = None, in_environment: str | None = None
) -> FoundScopes:
    """Keys, projects and environments that the caller sees, at most `limit` rows of each; one statement.

    Open to any identity, narrowed in the query, by the slugs of a project and of environments too; no project
    is in an environment. A key counts once for each environment that has it.
    """
    keys: dict[tuple[str, str], FoundKey] = {}
    found: dict[int, list[FoundScope]] = {KEY: [], PROJECT: [], ENVIRONMENT: []}
    parts = _parts(call, text)
    if in_project is not None:
        parts = {kind: part.where(project.c.slug == in_project) for kind, part in parts.items()}
    if in_environment is not None:
        del parts[PROJECT]
        parts = {kind: part.where(environment.c.slug == in_environment) for kind, part in parts.items()}
    limited = (part.order_by("sorted_by", "key").limit(limit + 1).subquery() for part in parts.values())
    statement = union_all(*map(select, limited))
    rows = sorted(call.connection.execute(statement), key=lambda row: row.sorted_by)
    for row in rows:
        names = (row.project, row.project_name, row.environment, row.environment_name)
        found[row.kind].append(FoundScope(*names, row.description))
    cut = any(len(some) > limit for some in found.values())
    for row in [row for row in rows if row.kind == KEY][:limit]:
        one = keys.setdefault((row.project, row.key), FoundKey(row.project, row.project_name, row.key))
        one.environments.append((row.environment, row.environment_name))
        if row.description and row.description not in one.descriptions:
            one.descriptions.append(row.description)
    ordered = sorted(keys.values(), key=lambda one: (one.key, one.project))
    return FoundScopes(ordered, found[PROJECT][:limit], found[ENVIRONMENT][:limit], cut)


def find_holders(call: Call, text: str, limit: int) -> list[FoundHolder]:
    """People, service tokens and groups, at most `limit` of each; one statement.

    Raises `Forbidden` for an admin of nothing.
    """
    assert_admin_somewhere(call)
    holds = partial(holds_text, call.connection.dialect.name, text)
    row, team = identity.c, group.c
    people = (
        select(row.id, row.kind, row.subject, row.display_name.label("name"), row.last_seen_at)
        .where(holds(row.subject, row.display_name))
        .order_by(row.subject)
        .limit(limit)
    )
    no_time = cast(null(), identity.c.last_seen_at.type)
    groups = (
        select(team.id, literal(GROUP), team.slug, team.name, no_time)
        .where(holds(team.slug, team.name, func.coalesce(team.description, "")))
        .order_by(team.slug)
        .limit(limit)
    )
    found = union_all(select(people.subquery()), select(groups.subquery()))
    return [FoundHolder(*one) for one in call.connection.execute(found)]


def _parts(call: Call, text: str) -> dict[int, Query]:
    dialect_name = call.connection.dialect.name
    holds, exact = partial(holds_text, dialect_name, text), partial(by_code_point, dialect_name)
    own, inner = project.c, environment.c
    projects = _row(PROJECT, exact(own.slug), description=own.description).where(
        project_in_sight(call), holds(own.slug, own.name, func.coalesce(own.description, ""))
    )
    environments = (
        _row(ENVIRONMENT, inner.id, inner.slug, inner.name, description=inner.description)
        .join_from(environment, project)
        .where(environment_in_sight(call))
        .where(holds(inner.slug, inner.name, func.coalesce(inner.description, "")))
    )
    keys = (
        _row(KEY, inner.id, inner.slug, inner.name, secret.c.key, secret.c.description)
        .join_from(environment, project)
        .join(secret, secret.c.environment_id == inner.id)
        .where(environment_in_sight(call), ~secret.c.deleted)
        .where(holds(secret.c.key, func.coalesce(secret.c.description, "")))
    )
    return {KEY: keys, PROJECT: projects, ENVIRONMENT: environments}


def _row(
    kind: int,
    order: Expression,
    slug: Expression = _NOTHING,
    name: Expression = _NOTHING,
    key: Expression = _NOTHING,
    description: Expression = _NOTHING,
) -> Query:
    return select(
        literal(kind).label("kind"),
        project.c.slug.label("project"),
        project.c.name.label("project_name"),
        slug.label("environment"),
        name.label("environment_name"),
        key.label("key"),
        description.label("description"),
        cast(order, Text).label("sorted_by"),
    )
