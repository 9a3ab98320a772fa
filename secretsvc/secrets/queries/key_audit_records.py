"""The records that concern one key of an environment (contract 5.11), each kind of them off its own index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, literal, select, tuple_

from secretsvc.audit.models import FULL_COPY, FULL_EXPORT, PAST_EXPORT, audit_key, audit_record
from secretsvc.db.base import Id, KeyText
from secretsvc.db.types import Expression
from secretsvc.secrets.models import revision, secret, secret_version
from secretsvc.secrets.queries.read_records import EXPORT, REVEAL

Ids = ColumnElement[UUID]
#: A comparison of ids with one of them, by a function of `operator`.
Bound = tuple[Callable[[Any, Any], ColumnElement[bool]], UUID]

_OF_KEY = audit_record.alias("of_key")


@dataclass(frozen=True, slots=True)
class RecordQueryOptions:
    """What is asked for of the records that concern a key: at most `most` of each kind, the nearest of it.

    `order` is that of a column; `conditions` are those of a record beside its id.
    """

    conditions: Sequence[ColumnElement[bool]]
    bounds: Sequence[Bound]
    order: Callable[[Expression], Expression]
    most: int
    action: str | None


def ids_of_key(environment_id: UUID, key: str, wanted: RecordQueryOptions) -> list[Select[UUID]]:
    """The ids of records by the kind of these; of the kinds that can have the action that is asked for.

    Reveals of the key and exports of the environment name it themselves, copies of some keys in a table
    beside them, copies of all by the revision that they took, and writes by the versions that they made.
    """
    action = wanted.action
    named = [key] if action in (None, REVEAL) else []
    named += [FULL_EXPORT, PAST_EXPORT] if action in (None, EXPORT) else []
    found = [_named(environment_id, one, wanted) for one in named]
    if action in (None, EXPORT):
        found.append(_named(environment_id, FULL_COPY, wanted, _was_there(environment_id, key)))
    if action != REVEAL:
        several = select(audit_key.c.record_id.label("id"))
        several = several.where(audit_key.c.environment_id == environment_id, audit_key.c.key == key)
        found.append(_bounded(several, audit_key.c.record_id, wanted))
    if action not in (REVEAL, EXPORT):
        found.append(_bounded(_written(environment_id, key), revision.c.record_id, wanted))
    return found


def _written(environment_id: UUID, key: str) -> Select[UUID]:
    of_version = and_(
        revision.c.environment_id == secret.c.environment_id, revision.c.rev == secret_version.c.rev
    )
    return (
        select(revision.c.record_id.label("id"))
        .join_from(secret, secret_version, secret_version.c.secret_id == secret.c.id)
        .join(revision, of_version)
        .where(secret.c.environment_id == environment_id, secret.c.key == key)
    )


def _was_there(environment_id: UUID, key: str) -> ColumnElement[bool]:
    """Whether the key had a value at the revision that a record gave."""
    in_force = (
        select(secret_version.c.kid)
        .join_from(secret, secret_version, secret_version.c.secret_id == secret.c.id)
        .where(secret.c.environment_id == environment_id, secret.c.key == key)
        .where(secret_version.c.rev <= _OF_KEY.c.given)
        .order_by(secret_version.c.rev.desc(), secret_version.c.version.desc())
        .limit(1)
    )
    return in_force.correlate(_OF_KEY).scalar_subquery().is_not(None)


def _named(
    environment_id: UUID, key: str, wanted: RecordQueryOptions, *conditions: ColumnElement[bool]
) -> Select[UUID]:
    """Of the records that name it themselves.

    By a range of one key and an order that begins with it: where that were the same for all rows, PostgreSQL
    would read the log from its end for a key that it takes for frequent.
    """
    row = _OF_KEY.c
    both, one = tuple_(row.key, row.id), literal(key, KeyText)
    ids = select(row.id).where(row.environment_id == environment_id, row.key.is_not(None), *conditions)
    ids = ids.where(row.key >= one, row.key <= one)
    ids = ids.where(*(compare(both, tuple_(one, literal(value, Id))) for compare, value in wanted.bounds))
    return _cut(ids.order_by(wanted.order(row.key)), row.id, wanted)


def _bounded(ids: Select[UUID], column: Ids, wanted: RecordQueryOptions) -> Select[UUID]:
    return _cut(ids.where(*(compare(column, value) for compare, value in wanted.bounds)), column, wanted)


def _cut(ids: Select[UUID], column: Ids, wanted: RecordQueryOptions) -> Select[UUID]:
    """The conditions are judged of records that are looked up by id.

    A join might be begun with the index of an action or an actor, and read all that it ever did.
    """
    if wanted.conditions:
        found = select(audit_record.c.id).where(audit_record.c.id == column, *wanted.conditions)
        ids = ids.where(found.scalar_subquery().is_not(None))
    return ids.order_by(wanted.order(column)).limit(wanted.most)
