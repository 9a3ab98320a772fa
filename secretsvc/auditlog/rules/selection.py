"""The rows of the audit log that are asked for: their conditions, and a page of them."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Text,
    cast,
    func,
    literal,
    or_,
    select,
    tuple_,
    union,
)

from secretsvc.audit.models import audit_record, is_denied, is_no_success
from secretsvc.audit.rules.records import DENIED, SUCCESS
from secretsvc.audit.rules.scope import AuditScope
from secretsvc.db.types import Expression, Query
from secretsvc.kernel.ids import earliest_id
from secretsvc.kernel.schema_annotations import MAX_INTEGER
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.sealedlog.models import audit_seal
from secretsvc.secrets.queries.key_audit_records import Bound, RecordQueryOptions, ids_of_key

# SQLite takes at most 500 parts of a union; fewer keep the statement readable in a plan.
PARTS = 100
# Ids are in the order of time, and lead to a time without an index of its own: a record's id is made when
# it is written, a little later than the request's one clock value, or, by a clock set back, earlier.
LAG_MS = 600_000
#: Columns and the value that each is to have.
Named = Sequence[tuple[Expression, object]]


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """What is asked for; times in epoch milliseconds, `since` inclusive and `until` exclusive.

    A page holds what is older than `cursor`, or, with `after`, the next newer ones. `key` goes with `project`
    and `environment`.
    """

    project: str | None = None
    environment: str | None = None
    actor: str | None = None
    action: str | None = None
    outcome: str | None = None
    since: int | None = None
    until: int | None = None
    cursor: UUID | None = None
    limit: int = 50
    request_id: str | None = None
    after: UUID | None = None
    key: str | None = None
    #: Who acted, where others may have had the same subject.
    identity_id: UUID | None = None
    #: Several actions, any of which will do; with `action` both must hold.
    actions: tuple[str, ...] = ()


def take_rows(call: UseCaseContext, reach: AuditScope, asked: AuditFilter) -> tuple[list[RowMapping], bool]:
    """A page, newest first, and whether there is more of it in the direction asked for.

    Each scope's rows come off an index of its own, and the nearest of those are taken: one condition over
    all scopes would walk the log until enough rows happened to match.
    """
    parts = _parts(reach, asked)
    rows: dict[UUID, RowMapping] = {}
    for start in range(0, len(parts), PARTS):
        ids = parts[start : start + PARTS]
        statement = select(audit_record).where(audit_record.c.id.in_(_merged(ids, asked)))
        rows |= {found["id"]: found for found in call.connection.execute(statement).mappings()}
    nearest = sorted(rows.values(), key=lambda found: found["id"], reverse=asked.after is None)
    page = sorted(nearest[: asked.limit], key=lambda found: found["id"], reverse=True)
    return page, len(nearest) > asked.limit


def take_sealed(
    call: UseCaseContext, reach: AuditScope, asked: AuditFilter, first: int, size: int
) -> list[RowMapping]:
    """At most `limit` of the sealed records from a position on, below `size`, each with its `position`."""
    position, row = audit_seal.c.position, audit_record.c
    within = [position >= first, position < size]
    conditions = _conditions(replace(asked, cursor=None), scoped=True, roughly=False)
    if asked.key is not None:
        # As text, because PostgreSQL has no least id; in the order of ids it might walk the whole log.
        lowest = select(func.min(cast(audit_seal.c.record_id, Text))).where(*within)
        found = call.connection.execute(lowest).scalar()
        if found is None:
            return []
        conditions.append(row.id.in_(_of_key(reach, asked, UUID(found))))
    elif not reach.everything:
        conditions.append(or_(row.project_id.in_(reach.projects), row.environment_id.in_(reach.environments)))
    statement = select(audit_record, position).join_from(
        audit_seal, audit_record, row.id == audit_seal.c.record_id
    )
    statement = statement.where(*within, *conditions).order_by(position).limit(asked.limit)
    return [*call.connection.execute(statement).mappings()]


def _of_key(reach: AuditScope, asked: AuditFilter, lowest: UUID) -> Query:
    """The ids of all records that concern a key, from the lowest that may be wanted on."""
    (environment_id,) = reach.environments
    wanted = RecordQueryOptions(
        [], [(operator.ge, lowest)], partial(_nearest, asked), MAX_INTEGER, asked.action
    )
    parts = [select(one.subquery().c.id) for one in ids_of_key(environment_id, str(asked.key), wanted)]
    return select(union(*parts).subquery().c.id)


def select_roughly(reach: AuditScope, asked: AuditFilter, *columns: Expression) -> Query:
    """Columns of the rows that `take_rows` would take, and of one more, for counting; one statement.

    Times are judged by ids alone, which an index of a scope holds: rows up to `LAG_MS` outside of them are
    among the found. Of more scopes than a union takes, all rows within the times are read.
    """
    row = audit_record.c
    if reach.everything and not asked.actions:
        rows = select(*columns).where(*_conditions(asked, scoped=False, roughly=True))
        return rows.order_by(_nearest(asked, row.id)).limit(asked.limit + 1)
    parts = _parts(reach, asked, roughly=True)
    if len(parts) <= PARTS:
        return select(*columns).where(row.id.in_(_merged(parts, asked)))
    within = or_(row.project_id.in_(reach.projects), row.environment_id.in_(reach.environments))
    conditions = _conditions(asked, scoped=True, roughly=True)
    conditions += [row.action.in_(asked.actions)] if asked.actions else []
    rows = select(*columns).where(*conditions, within)
    return rows.order_by(_nearest(asked, row.id)).limit(asked.limit + 1)


def _parts(reach: AuditScope, asked: AuditFilter, *, roughly: bool = False) -> list[Query]:
    row = audit_record.c
    if asked.key is not None:
        (environment_id,) = reach.environments
        judged = _judged(asked, scoped=True, roughly=roughly)
        judged += [row.action.in_(asked.actions)] if asked.actions else []
        wanted = RecordQueryOptions(
            judged, _bounds(asked), partial(_nearest, asked), asked.limit + 1, asked.action
        )
        # SQLite orders and cuts a part of a union only inside a query of its own.
        return [select(one.subquery().c.id) for one in ids_of_key(environment_id, asked.key, wanted)]
    # What is asked for as one of several comes off an index for each, and is merged as scopes are.
    subjects: list[Named] = [[(row.actor_subject, one)] for one in _subjects(asked)] or [[]]
    actions: list[Named] = [[]]
    judged = _judged(replace(asked, actor=None, action=None, outcome=None), scoped=False, roughly=roughly)
    if asked.action is not None:
        actions = [[(row.action, asked.action)]]
    elif reach.everything and asked.actions:
        actions = [[(row.action, one)] for one in asked.actions]
    if asked.actions and (asked.action is not None or not reach.everything):
        judged.append(row.action.in_(asked.actions))
    scopes: list[Named] = [[(row.project_id, one)] for one in sorted(reach.projects)]
    scopes += [[(row.environment_id, one)] for one in sorted(reach.environments)]
    each = itertools.product([[]] if reach.everything else scopes, subjects, actions)
    return [_part(asked, [*scope, *subject, *action], judged) for scope, subject, action in each]


def _subjects(asked: AuditFilter) -> list[str]:
    """Subjects of people are lower-cased, names of service tokens are not (contract 4.11)."""
    return [] if asked.actor is None else sorted({asked.actor, asked.actor.lower()})


def _conditions(asked: AuditFilter, *, scoped: bool, roughly: bool) -> list[ColumnElement[bool]]:
    """The conditions of a filter beside its scope; `scoped` where an index of a scope leads to the rows."""
    bounds = [compare(audit_record.c.id, value) for compare, value in _bounds(asked)]
    return _judged(asked, scoped=scoped, roughly=roughly) + bounds


def _judged(asked: AuditFilter, *, scoped: bool, roughly: bool) -> list[ColumnElement[bool]]:
    """Those of the conditions that an id does not meet by itself."""
    row = audit_record.c
    conditions: list[ColumnElement[bool]] = []
    if asked.actor is not None:
        conditions.append(row.actor_subject.in_(_subjects(asked)))
    if asked.identity_id is not None:
        conditions.append(row.identity_id == asked.identity_id)
    if asked.action is not None:
        conditions.append(row.action == asked.action)
    if asked.request_id is not None:
        conditions.append(row.request_id == asked.request_id)
    if asked.outcome is not None:
        conditions.append(_has_outcome(asked.outcome, scoped))
    if asked.since is not None and not roughly:
        conditions.append(row.created_at >= asked.since)
    if asked.until is not None and not roughly:
        conditions.append(row.created_at < asked.until)
    return conditions


def _bounds(asked: AuditFilter) -> list[Bound]:
    """The conditions of ids."""
    bounds: list[Bound] = []
    if asked.since is not None:
        bounds.append((operator.ge, earliest_id(asked.since - LAG_MS)))
    if asked.until is not None:
        bounds.append((operator.lt, earliest_id(asked.until + LAG_MS)))
    if asked.after is not None:
        bounds.append((operator.gt, asked.after))
    if asked.cursor is not None:
        bounds.append((operator.lt, asked.cursor))
    return bounds


def _part(asked: AuditFilter, named: Named, judged: list[ColumnElement[bool]]) -> Query:
    """The ids of the rows that have these values, and what is judged beside them.

    They come off the index of all that is named, or of two of it: what two have in common can be nothing,
    however many rows each of them finds.
    """
    row = audit_record.c
    is_denial = asked.outcome == DENIED
    leading = named[: 1 if is_denial else 2]
    conditions = [column == value for column, value in named[len(leading) :]] + judged
    if len(leading) + is_denial == 2:
        statement = _paired(asked, leading, conditions, is_denial=is_denial)
    else:
        conditions += [column == value for column, value in leading] + [is_denied()] * is_denial
        conditions += [compare(row.id, value) for compare, value in _bounds(asked)]
        statement = select(row.id).where(*conditions).order_by(_nearest(asked, row.id))
    if asked.outcome == SUCCESS:
        statement = statement.where(row.outcome == SUCCESS)
    names = [column.name for column, _ in leading] + ["denied"] * is_denial
    if names:
        # SQLite keeps no statistics, and might rather walk all denials, or all that an actor ever did.
        index = f"INDEXED BY ix_audit_record_{'_'.join(names)}"
        statement = statement.with_hint(audit_record, index, "sqlite")
    # SQLite orders and cuts a part of a union only inside a query of its own.
    return select(statement.limit(asked.limit + 1).subquery().c.id)


def _paired(
    asked: AuditFilter, leading: Named, conditions: list[ColumnElement[bool]], *, is_denial: bool
) -> Query:
    """By a range of one value, and an order that begins with its column, so that no other index has it.

    PostgreSQL takes two values that are frequent for frequent together, and would walk the log from its end.
    """
    row = audit_record.c
    *equal, (column, value) = leading
    both, one = tuple_(column, row.id), literal(value, column.type)
    statement = select(row.id).where(*conditions, *(name == wanted for name, wanted in equal))
    statement = statement.where(column >= one, column <= one)
    bounds = [compare(both, tuple_(one, literal(bound, row.id.type))) for compare, bound in _bounds(asked)]
    statement = statement.where(*bounds, *([is_no_success()] if is_denial else []))
    return statement.order_by(_nearest(asked, column), _nearest(asked, row.id))


def _merged(parts: list[Query], asked: AuditFilter) -> Query:
    """One row more than asked for, if there are as many."""
    merged = union(*parts).subquery() if len(parts) > 1 else parts[0].subquery()
    nearest = select(merged.c.id).order_by(_nearest(asked, merged.c.id)).limit(asked.limit + 1).subquery()
    return select(nearest.c.id)


def _nearest(asked: AuditFilter, column: Expression) -> Expression:
    return column.desc() if asked.after is None else column.asc()


def _has_outcome(outcome: str, scoped: bool) -> ColumnElement[bool]:
    if outcome != DENIED:
        return audit_record.c.outcome == outcome
    # Within a scope the same is said so that the index of all denials will not do: PostgreSQL would read
    # the whole of it for each part.
    return audit_record.c.outcome != SUCCESS if scoped else is_denied()
