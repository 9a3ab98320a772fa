"""Finding things by a part of their names and descriptions, as the page of the search shows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

from sqlalchemy import Text, cast, func, literal, null, select, union_all

from secretsvc.authorization.rules.checks import assert_admin_somewhere
from secretsvc.authorization.rules.snapshot import covered_by
from secretsvc.db.statements import by_code_point
from secretsvc.db.types import Expression, Query
from secretsvc.home.rules import holds_text
from secretsvc.kernel.display_names import short_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import environment_in_sight, project_in_sight
from secretsvc.secrets.models import revision, secret, secret_version
from secretsvc.tables.grants import group
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

KEY, PROJECT, ENVIRONMENT = range(3)
GROUP = "group"
_NOTHING: Expression = cast(null(), Text)


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What narrows a search, beside its text: the slugs of a project and of environments, and states of keys.

    `missing` keys are not in each environment that the caller sees of their project, or not in that of the
    slug. `by` is a part of the subject or display name of whoever made the current version.
    """

    project: str | None = None
    environment: str | None = None
    missing: bool = False
    by: str | None = None

    @property
    def of_keys(self) -> bool:
        """Whether it is of what keys alone have."""
        return self.missing or self.by is not None


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
class HolderMatch:
    """An identity or a group by its name; `subject` is a group's slug, `seen_at` in epoch milliseconds."""

    id: UUID
    kind: str
    subject: str
    name: str
    seen_at: int | None


@dataclass(frozen=True, slots=True)
class FoundScopes:
    """What was found of scopes and keys; `cut` where there is more."""

    keys: list[FoundKey]
    projects: list[FoundScope]
    environments: list[FoundScope]
    cut: bool


def find_scopes(call: UseCaseContext, text: str, limit: int, narrowing: Narrowing) -> FoundScopes:
    """Keys, projects and environments that the caller sees, at most `limit` rows of each; one statement.

    Open to any identity, narrowed in the query. No project is in an environment, and keys alone have states.
    A key counts once for each environment that has it.
    """
    keys: dict[tuple[str, str], FoundKey] = {}
    found: dict[int, list[FoundScope]] = {KEY: [], PROJECT: [], ENVIRONMENT: []}
    parts = _narrowed(call, _parts(call, text), narrowing)
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


def find_holders(call: UseCaseContext, text: str, limit: int) -> list[HolderMatch]:
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
    return [
        HolderMatch(id_, kind, subject, name if kind == GROUP else short_name(name, subject), seen_at)
        for id_, kind, subject, name, seen_at in call.connection.execute(found)
    ]


def _parts(call: UseCaseContext, text: str) -> dict[int, Query]:
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


def _narrowed(call: UseCaseContext, parts: dict[int, Query], narrowing: Narrowing) -> dict[int, Query]:
    slug = narrowing.environment
    if narrowing.of_keys:
        parts = {KEY: parts[KEY]}
    elif slug is not None:
        parts = {KEY: parts[KEY], ENVIRONMENT: parts[ENVIRONMENT]}
    if narrowing.project is not None:
        parts = {kind: part.where(project.c.slug == narrowing.project) for kind, part in parts.items()}
    if narrowing.missing and slug is not None:
        parts[KEY] = _missing_from(call, parts[KEY], slug)
    elif narrowing.missing:
        parts[KEY] = _missing_somewhere(call, parts[KEY], narrowing.project)
    elif slug is not None:
        parts = {kind: part.where(environment.c.slug == slug) for kind, part in parts.items()}
    if narrowing.by is not None:
        parts[KEY] = _by(call, parts[KEY], narrowing.by)
    return parts


def _by(call: UseCaseContext, keys: Query, text: str) -> Query:
    """Those of the keys whose current version is by somebody with the text in their name.

    Only in environments to which such a person wrote, if there is any: revisions have an index for that, and
    versions have none.
    """
    named = holds_text(call.connection.dialect.name, text, identity.c.subject, identity.c.display_name)
    people = select(identity.c.id).where(named)
    written = select(revision.c.environment_id).where(revision.c.created_by.in_(people))
    current = (secret_version.c.secret_id == secret.c.id) & (secret_version.c.version == secret.c.version)
    found = keys.join(secret_version, current).where(secret_version.c.created_by.in_(people))
    # Of who wrote nothing PostgreSQL would read versions, before it joins the environments.
    return found.where(written.exists(), secret.c.environment_id.in_(written))


def _missing_from(call: UseCaseContext, keys: Query, slug: str) -> Query:
    """Those of the keys that the environment of a slug lacks, where the caller sees it in their project."""
    other, there = environment.alias("other"), secret.alias("there")
    same = (there.c.environment_id == other.c.id) & (there.c.key == secret.c.key) & ~there.c.deleted
    return (
        keys.join(other, (other.c.project_id == project.c.id) & (other.c.slug == slug))
        .outerjoin(there, same)
        .where(
            covered_by(call.snapshot.effective_grants, other.c.project_id, other.c.id), there.c.id.is_(None)
        )
    )


def _missing_somewhere(call: UseCaseContext, keys: Query, project_slug: str | None) -> Query:
    """Those of the keys that not each environment has that the caller sees in their project.

    Counted for each project and key at once: to look for a key in each environment takes three times as long.
    """
    other, there, above = environment.alias("other"), secret.alias("there"), project.alias("above")
    in_sight = covered_by(call.snapshot.effective_grants, other.c.project_id, other.c.id)
    counted = select(other.c.project_id, func.count().label("size")).where(in_sight)
    sizes = counted.group_by(other.c.project_id).subquery("sizes")
    lacking = (
        select(other.c.project_id, there.c.key)
        .join_from(other, sizes, sizes.c.project_id == other.c.project_id)
        .join(there, there.c.environment_id == other.c.id)
        .where(in_sight, ~there.c.deleted)
        .group_by(other.c.project_id, there.c.key)
        .having(func.count() < func.max(sizes.c.size))
    )
    if project_slug is not None:
        lacking = lacking.join(above, (above.c.id == other.c.project_id) & (above.c.slug == project_slug))
    found = lacking.subquery("lacking")
    return keys.join(found, (found.c.project_id == project.c.id) & (found.c.key == secret.c.key))


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
