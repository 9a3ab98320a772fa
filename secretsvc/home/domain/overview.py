"""The projects that the caller sees, their environments, how many keys those hold, and who changed them."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import exists, func, select

from secretsvc.authorization.rules.checks import assert_can
from secretsvc.db.paging import Page, Window
from secretsvc.db.types import Query
from secretsvc.kernel.actors import Kind
from secretsvc.kernel.authorization import GLOBAL, Role
from secretsvc.kernel.display_names import full_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import environment_in_sight, project_in_sight
from secretsvc.secrets.models import revision, secret
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project


@dataclass(frozen=True, slots=True)
class EnvironmentOverview:
    """An environment with the number of its keys, and its last revision; times in epoch milliseconds.

    `changed_by` is None where the system did it, or nobody yet.
    """

    id: UUID
    slug: str
    name: str
    protected: bool
    keys: int
    changed_at: int | None
    changed_by: str | None


@dataclass(frozen=True, slots=True)
class ProjectOverview:
    """A project with the environments that the caller sees, the oldest first."""

    id: UUID
    slug: str
    name: str
    description: str | None
    environments: list[EnvironmentOverview] = field(default_factory=list)

    @property
    def keys(self) -> int:
        """How many there are in all environments together."""
        return sum(one.keys for one in self.environments)

    @property
    def last(self) -> EnvironmentOverview | None:
        """The environment that was changed last, if any was."""
        changed = [one for one in self.environments if one.changed_at is not None]
        return max(changed, key=lambda one: one.changed_at or 0, default=None)


def overview(call: UseCaseContext, window: Window) -> Page[ProjectOverview]:
    """The projects that the caller sees, oldest first, by one statement.

    Open to any identity, narrowed in the query. The window has a limit.
    """
    limit = window.limit or 1
    found: dict[UUID, ProjectOverview] = {}
    for row in call.connection.execute(_statement(call, Window(limit + 1, window.cursor))):
        one = found.setdefault(row.id, ProjectOverview(*row[:4]))
        if row.environment_id is not None:
            *columns, display_name, subject = row[4:]
            columns.append(full_name(display_name, subject) if subject is not None else None)
            one.environments.append(EnvironmentOverview(*columns))
    items = [*found.values()]
    return Page(items[:limit], str(items[limit - 1].id) if len(items) > limit else None)


def is_read_by_services(call: UseCaseContext) -> bool:
    """Whether a service token was ever seen; one statement, which does not grow with the log."""
    assert_can(call, Role.WRITER, GLOBAL)
    seen = exists().where(identity.c.kind == Kind.SERVICE, identity.c.last_seen_at.is_not(None))
    return bool(call.connection.execute(select(seen)).scalar_one())


def _statement(call: UseCaseContext, window: Window) -> Query:
    columns = (project.c.id, project.c.slug, project.c.name, project.c.description)
    shown = select(*columns).where(project_in_sight(call)).order_by(project.c.id).limit(window.limit)
    if window.cursor is not None:
        shown = shown.where(project.c.id > window.cursor)
    one = shown.subquery("shown")
    keys = select(func.count()).where(secret.c.environment_id == environment.c.id, ~secret.c.deleted)
    inside = (environment.c.project_id == one.c.id) & environment_in_sight(call)
    newest = (revision.c.environment_id == environment.c.id) & (revision.c.rev == environment.c.rev)
    return (
        select(
            *one.c,
            environment.c.id.label("environment_id"),
            environment.c.slug.label("environment"),
            environment.c.name.label("environment_name"),
            environment.c.protected,
            keys.scalar_subquery().label("keys"),
            revision.c.created_at,
            identity.c.display_name,
            identity.c.subject,
        )
        .select_from(one)
        .outerjoin(environment, inside)
        .outerjoin(revision, newest)
        .outerjoin(identity, identity.c.id == revision.c.created_by)
        .order_by(one.c.id, environment.c.id)
    )
