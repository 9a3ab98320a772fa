"""What waits for those who grant: grants that end soon, and who was lately denied without any."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import BigInteger, cast, func, select

from secretsvc.access.rules.grants import within_administered
from secretsvc.audit.models import denial_tally
from secretsvc.audit.rules.scope import auditable_denials
from secretsvc.authorization.rules.checks import assert_admin_somewhere
from secretsvc.authorization.rules.snapshot import not_expired
from secretsvc.kernel.display_names import full_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.tables.grants import grant, group, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project


@dataclass(frozen=True, slots=True)
class ExpiringGrant:
    """An unexpired grant that ends; `holder` is what people call it, a group's name where `is_group`.

    `project` and `environment` are the names of its scope, None where the scope has none; `expires_at` is
    in epoch milliseconds.
    """

    holder: str
    is_group: bool
    role: str
    project: str | None
    environment: str | None
    expires_at: int


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """How many were turned away, and the last of them: its subject, how often, and when."""

    count: int
    subject: str
    denials: int
    at: int


def expiring_grants(call: UseCaseContext, *, within: int, limit: int) -> list[ExpiringGrant]:
    """The unexpired grants that end in the next `within` milliseconds, the first to end first.

    At most `limit` of them, at scopes that the caller administers. Raises `Forbidden` for an admin of
    nothing.
    """
    assert_admin_somewhere(call)
    statement = (
        select(
            group.c.name,
            identity.c.display_name,
            identity.c.subject,
            grant.c.role,
            project.c.name.label("project"),
            environment.c.name.label("environment"),
            grant.c.expires_at,
        )
        .select_from(grant)
        .outerjoin(identity, identity.c.id == grant.c.identity_id)
        .outerjoin(group, group.c.id == grant.c.group_id)
        .outerjoin(project, project.c.id == grant.c.project_id)
        .outerjoin(environment, environment.c.id == grant.c.environment_id)
        .where(within_administered(call), not_expired(), grant.c.expires_at <= call.now + within)
        .order_by(grant.c.expires_at, grant.c.id)
        .limit(limit)
    )
    rows = call.connection.execute(statement, {"now": call.now})
    return [
        ExpiringGrant(name if subject is None else full_name(display_name, subject), subject is None, *others)
        for name, display_name, subject, *others in rows
    ]


def latest_denied_identity(call: UseCaseContext, since: int) -> TurnedAway | None:
    """Who was denied since a time in epoch milliseconds, and holds no unexpired grant; None where nobody was.

    Of denials that the caller may audit. Raises `Forbidden` for an admin of nothing.
    """
    assert_admin_somewhere(call)
    row = denial_tally.c
    direct = select(grant.c.identity_id).where(grant.c.identity_id.is_not(None), not_expired())
    shared = select(group_member.c.identity_id).where(
        group_member.c.group_id == grant.c.group_id, not_expired()
    )
    last = func.max(row.last_denied_at)
    statement = (
        select(
            # Of the groups, as windows are made after them.
            func.count().over().label("count"),
            identity.c.subject,
            cast(func.sum(row.denials), BigInteger).label("denials"),
            last.label("at"),
        )
        .join_from(denial_tally, identity, identity.c.id == row.identity_id)
        .where(
            row.last_denied_at >= since,
            auditable_denials(call),
            row.identity_id.not_in(direct.union(shared)),
        )
        .group_by(identity.c.id, identity.c.subject)
        .order_by(last.desc())
        .limit(1)
    )
    found = call.connection.execute(statement, {"now": call.now}).first()
    return None if found is None else TurnedAway(*found)
