"""How much happened when: a selection as a histogram of equal buckets, and what else there was meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import NamedTuple

from sqlalchemy import CTE, ColumnElement, Text, case, cast, func, literal, null, or_, select, union_all

from secretsvc.audit.models import audit_record
from secretsvc.audit.rules.records import DENIED
from secretsvc.audit.rules.scope import AuditScope
from secretsvc.auditlog.rules.selection import AuditFilter, select_roughly
from secretsvc.db.types import Expression, Query
from secretsvc.kernel.use_case import UseCaseContext

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
#: How far back is looked at where no `since` is given.
DEFAULT_WINDOW = 7 * DAY
#: The lengths that a bucket may have; beyond them it has whole days.
BUCKET_SIZES = (MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY)
#: About how many buckets there are at most; the first may have to begin a little earlier.
MAX_BUCKETS = 28
#: The newest rows are counted, and no more than these: a longer look would grow with the log.
COUNTED = 10_000
#: Instead of a bucket's number: of rows that were read but lie outside the times asked for.
NO_BUCKET = -1


@dataclass(frozen=True, slots=True)
class Bucket:
    """What happened from `start` until before `end`, both in epoch milliseconds."""

    start: int
    end: int
    successes: int
    denials: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.successes + self.denials


@dataclass(frozen=True, slots=True)
class Activity:
    """Buckets of equal length, oldest first; `cut` where only the newest rows were counted.

    `kinds` counts all rows between the same times, whatever action or outcome was asked for, by outcome and
    action; None where there are more than are counted.
    """

    buckets: list[Bucket]
    cut: bool
    kinds: dict[tuple[str, str], int] | None

    @property
    def total(self) -> int:
        """How many rows were counted."""
        return sum(one.total for one in self.buckets)


class _Count(NamedTuple):
    """How many rows there are of a bucket and an outcome, or, with an action, of those two."""

    bucket: int
    outcome: str
    action: str | None
    number: int


def count_activity(call: UseCaseContext, reach: AuditScope, asked: AuditFilter) -> Activity:
    """Counts what a filter selects between its times, else in the last seven days; one statement.

    There are no buckets where `since` is not before `until`.
    """
    until = call.now + 1 if asked.until is None else min(asked.until, call.now + 1)
    since = max(until - DEFAULT_WINDOW, 0) if asked.since is None else asked.since
    if since >= until:
        return Activity([], cut=False, kinds={})
    asked = replace(asked, since=since, cursor=None, after=None)
    length = _length(until - since)
    start = since - since % length
    how_many = (until - 1 - start) // length + 1
    counts = _counts(call, reach, asked, start, length)
    placed = [one for one in counts if one.action is None]
    found = [[0, 0] for _ in range(how_many)]
    for one in placed:
        if one.bucket != NO_BUCKET:
            # What another process wrote in this very moment may lie a little ahead of our clock.
            found[min(one.bucket, how_many - 1)][one.outcome == DENIED] += one.number
    buckets = [
        Bucket(start + number * length, start + (number + 1) * length, *both)
        for number, both in enumerate(found)
    ]
    kinds = _kinds([one for one in counts if one.action is not None])
    if sum(one.number for one in placed) <= COUNTED:
        return Activity(buckets, cut=False, kinds=kinds)
    # What lies before the oldest row that was counted is not known to be nothing.
    return Activity([*dropwhile(lambda one: not one.total, buckets)], cut=True, kinds=kinds)


def _kinds(counts: list[_Count]) -> dict[tuple[str, str], int] | None:
    if sum(one.number for one in counts) > COUNTED:
        return None
    return {(one.outcome, one.action or ""): one.number for one in counts if one.bucket != NO_BUCKET}


def _length(span: int) -> int:
    for step in BUCKET_SIZES:
        if span <= step * MAX_BUCKETS:
            return step
    return -(-span // (MAX_BUCKETS * DAY)) * DAY


def _counts(
    call: UseCaseContext, reach: AuditScope, asked: AuditFilter, start: int, length: int
) -> list[_Count]:
    """What was asked for by bucket, and everything by action; nothing is read that is not counted."""
    chosen = _rows(reach, asked, "chosen")
    whole = replace(asked, action=None, outcome=None, actions=())
    every = chosen if whole == asked else _rows(reach, whole, "every")
    bucket = case((_outside(chosen, asked), NO_BUCKET), else_=(chosen.c.created_at - start) // length)
    within = case((_outside(every, asked), NO_BUCKET), else_=literal(0))
    parts = [
        _counted(bucket, chosen.c.outcome, cast(null(), Text)),
        _counted(within, every.c.outcome, every.c.action),
    ]
    return [_Count(*row) for row in call.connection.execute(union_all(*parts))]


def _rows(reach: AuditScope, asked: AuditFilter, name: str) -> CTE:
    row = audit_record.c
    columns = (row.created_at, row.outcome, row.action)
    return select_roughly(reach, replace(asked, limit=COUNTED), *columns).cte(name)


def _outside(rows: CTE, asked: AuditFilter) -> ColumnElement[bool]:
    outside = rows.c.created_at < asked.since
    return outside if asked.until is None else or_(outside, rows.c.created_at >= asked.until)


def _counted(bucket: ColumnElement[int], outcome: ColumnElement[str], action: Expression) -> Query:
    # Grouped by the columns of a query of their own: PostgreSQL takes two equal parameters for two things.
    placed = select(bucket.label("bucket"), outcome.label("outcome"), action.label("action")).subquery().c
    counted = select(placed.bucket, placed.outcome, placed.action, func.count().label("number"))
    return counted.group_by(placed.bucket, placed.outcome, placed.action)
