"""What stands around one key: its like in the project's other environments, and who read it lately."""

from __future__ import annotations

import operator
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import and_, bindparam, func, select, union

from secretsvc.audit.models import audit_record
from secretsvc.authorization.rules.checks import assert_can
from secretsvc.db.statements import PerDialect
from secretsvc.db.types import CompoundQuery, Query
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.display_names import full_name
from secretsvc.kernel.errors import DecryptFailed, UnknownKid
from secretsvc.kernel.ids import earliest_id
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import environment_in_sight
from secretsvc.secrets.domain.key_history import KeyHistory
from secretsvc.secrets.models import secret
from secretsvc.secrets.queries.comparison import DIFFERS, SAME, UNREADABLE
from secretsvc.secrets.queries.key_audit_records import RecordQueryOptions, ids_of_key
from secretsvc.secrets.queries.read_records import EXPORT, REVEAL
from secretsvc.secrets.queries.rows import IS_CURRENT, SealedValue, lateral_versions, open_value
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

MISSING, PRESENT = "missing", "present"
WEEK_MS = 7 * 86_400_000
#: So many records of a kind are counted at most; who read it before those is not told.
COUNTED_RECORDS = 500


@dataclass(frozen=True, slots=True)
class SameKeyElsewhere:
    """The same key in another environment of the project; its version is None where it is missing.

    `kind` is `same`, `differs`, `unreadable`, `missing`, or `present` where there is nothing to compare with.
    """

    id: object
    slug: str
    name: str
    kind: str
    version: int | None


@dataclass(frozen=True, slots=True)
class MissingIn:
    """An environment of the project without a key."""

    slug: str
    name: str


@dataclass(frozen=True, slots=True)
class RecentReader:
    """Who was given the value in the last week, how, how often, and when last, in epoch milliseconds."""

    name: str
    action: str
    reason: str | None
    number: int
    last_at: int

    @property
    def is_least(self) -> bool:
        """Whether it may have been more often than was counted."""
        return self.number >= COUNTED_RECORDS


def same_key_elsewhere(call: UseCaseContext, at: ScopePath, history: KeyHistory) -> list[SameKeyElsewhere]:
    """The project's other environments that the caller reads, the oldest first; one statement.

    Values are opened one after the other and only compared: nothing is recorded, as in `compare_secrets`.
    """
    assert_can(call, Role.READER, at)
    own = None if history.deleted else _value(call, history.sealed)
    statement = _ELSEWHERE[call.connection.dialect.name].where(environment_in_sight(call))
    parameters = {"slug": at.project, "environment_id": history.environment_id, "secret_key": history.key}
    found = []
    for row in call.connection.execute(statement, parameters):
        kind = MISSING
        if row.version is not None:
            value = _value(call, SealedValue(row.id, history.key, row.version, row.envelope, row.kid))
            same = SAME if own == value else DIFFERS
            kind = UNREADABLE if value is None else PRESENT if own is None else same
        found.append(SameKeyElsewhere(row.id, row.slug, row.name, kind, row.version))
    return found


def missing_in(call: UseCaseContext, at: ScopePath, keys: Collection[str]) -> dict[str, list[MissingIn]]:
    """In which of the project's other environments that the caller reads each key is missing; one statement.

    They are sorted, the oldest first. Keys that are nowhere missing are left out.
    """
    assert_can(call, Role.READER, at)
    statement = _PRESENT.where(environment_in_sight(call))
    parameters = {"slug": at.project, "environment_slug": at.environment, "keys": sorted(keys)}
    there: dict[MissingIn, set[str]] = {}
    for slug, name, key in call.connection.execute(statement, parameters) if keys else ():
        there.setdefault(MissingIn(slug, name), set()).add(key)
    missing = {key: [one for one, present in there.items() if key not in present] for key in keys}
    return {key: lacking for key, lacking in missing.items() if lacking}


def _value(call: UseCaseContext, sealed: SealedValue) -> str | None:
    try:
        return open_value(call, sealed)
    except (DecryptFailed, UnknownKid):
        return None


def recent_readers(call: UseCaseContext, at: ScopePath, history: KeyHistory) -> list[RecentReader]:
    """Who was given the value within a week, the last first, for administrators; one statement.

    They are the reads that the audit log tells of the key (contract 5.11), exports and copies included.
    """
    assert_can(call, Role.ADMIN, at)
    since = call.now - WEEK_MS
    bounds = [(operator.ge, earliest_id(since))]
    parts = []
    for action in (REVEAL, EXPORT):
        wanted = RecordQueryOptions((), bounds, lambda column: column.desc(), COUNTED_RECORDS, action)
        parts += ids_of_key(history.environment_id, history.key, wanted)
    # SQLite orders and cuts a part of a union only inside a query of its own.
    ids = union(*(select(one.subquery().c.id) for one in parts))
    rows = call.connection.execute(_reads(ids)).all()
    return [
        RecentReader(
            full_name(row.display_name, row.subject), row.action, row.reason, row.number, row.last_at
        )
        for row in rows
    ]


def _reads(ids: CompoundQuery) -> Query:
    row = audit_record.c
    return (
        select(
            row.actor_subject.label("subject"),
            func.max(identity.c.display_name).label("display_name"),
            row.action,
            row.reason,
            func.count().label("number"),
            func.max(row.created_at).label("last_at"),
        )
        .outerjoin_from(audit_record, identity, identity.c.id == row.identity_id)
        .where(row.id.in_(ids))
        .group_by(row.actor_subject, row.action, row.reason)
        .order_by(func.max(row.created_at).desc(), row.actor_subject, row.action, row.reason)
    )


def _elsewhere(dialect_name: str) -> Query:
    version, is_current = lateral_versions(dialect_name, IS_CURRENT)
    is_there = and_(
        secret.c.environment_id == environment.c.id,
        secret.c.key == bindparam("secret_key"),
        ~secret.c.deleted,
    )
    return (
        select(
            environment.c.id,
            environment.c.slug,
            environment.c.name,
            secret.c.version,
            version.c.envelope,
            version.c.kid,
        )
        .join_from(environment, project)
        .outerjoin(secret, is_there)
        .outerjoin(version, is_current)
        .where(project.c.slug == bindparam("slug"), environment.c.id != bindparam("environment_id"))
        .order_by(environment.c.id)
    )


def _present() -> Query:
    is_there = and_(
        secret.c.environment_id == environment.c.id,
        secret.c.key.in_(bindparam("keys", expanding=True)),
        ~secret.c.deleted,
    )
    return (
        select(environment.c.slug, environment.c.name, secret.c.key)
        .join_from(environment, project)
        .outerjoin(secret, is_there)
        .where(project.c.slug == bindparam("slug"), environment.c.slug != bindparam("environment_slug"))
        .order_by(environment.c.id)
    )


_PRESENT = _present()
_ELSEWHERE: dict[str, Query] = PerDialect(_elsewhere)
