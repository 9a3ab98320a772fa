"""What the caller used lately: keys whose values it was given, and environments that it worked in."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import and_, or_, select

from secretsvc.audit.models import FULL_COPY, FULL_EXPORT, PAST_EXPORT, audit_record
from secretsvc.audit.rules.records import SUCCESS
from secretsvc.db.types import Query
from secretsvc.kernel.ids import earliest_id
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import environment_in_sight
from secretsvc.secrets.models import secret
from secretsvc.tables.projects import environment, project

#: How old a record is at most, milliseconds; how many of the newest are looked at, and how many things shown.
SINCE_MS, LOOKED_AT, SHOWN = 30 * 86_400_000, 100, 5


@dataclass(frozen=True, slots=True)
class RecentItem:
    """A key of an environment, or, without one, the environment; by slugs and names."""

    project: str
    project_name: str
    environment: str
    environment_name: str
    key: str | None


def recently_used(call: UseCaseContext) -> list[RecentItem]:
    """The latest first, by one statement: what the caller's own records tell of, as far as it is still there.

    Open to any identity, narrowed in the query to what the caller may read.
    """
    found = dict.fromkeys(RecentItem(*row) for row in call.connection.execute(_statement(call)))
    return [*found][:SHOWN]


def _statement(call: UseCaseContext) -> Query:
    row = audit_record.c
    own = (
        select(row.id, row.environment_id, row.key)
        .where(
            row.actor_subject == call.actor.subject,
            row.identity_id == call.actor.identity_id,
            row.outcome == SUCCESS,
            row.environment_id.is_not(None),
            row.id >= earliest_id(call.now - SINCE_MS),
        )
        .order_by(row.id.desc())
        .limit(LOOKED_AT)
        .subquery()
    )
    held = and_(secret.c.environment_id == own.c.environment_id, secret.c.key == own.c.key, ~secret.c.deleted)
    whole = or_(own.c.key.is_(None), own.c.key.in_((FULL_EXPORT, PAST_EXPORT, FULL_COPY)))
    return (
        select(
            project.c.slug,
            project.c.name,
            environment.c.slug.label("environment"),
            environment.c.name.label("environment_name"),
            secret.c.key,
        )
        .select_from(own)
        .join(environment, environment.c.id == own.c.environment_id)
        .join(project, project.c.id == environment.c.project_id)
        .outerjoin(secret, held)
        .where(environment_in_sight(call), or_(whole, secret.c.key.is_not(None)))
        .order_by(own.c.id.desc())
    )
