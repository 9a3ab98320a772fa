"""How much happened when: the rows of a selection, as a histogram of equal buckets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import dropwhile

from sqlalchemy import case, func, or_, select

from secretsvc.audit.models import audit_record
from secretsvc.audit.rules.narrowing import Reach
from secretsvc.audit.rules.recording import DENIED
from secretsvc.auditlog.rules.selection import AuditFilter, select_roughly
from secretsvc.kernel.call import Call

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
    """Buckets of equal length, oldest first; `cut` where only the newest rows were counted."""

    buckets: list[Bucket]
    cut: bool

    @property
    def total(self) -> int:
        """How many rows were counted."""
        return sum(one.total for one in self.buckets)


def count_activity(call: Call, reach: Reach, asked: AuditFilter) -> Activity:
    """Counts what a filter selects between its times, else in the last seven days; one statement.

    There are no buckets where `since` is not before `until`.
    """
    until = call.now + 1 if asked.until is None else min(asked.until, call.now + 1)
    since = max(until - DEFAULT_WINDOW, 0) if asked.since is None else asked.since
    if since >= until:
        return Activity([], cut=False)
    asked = replace(asked, since=since, cursor=None, after=None)
    length = _length(until - since)
    start = since - since % length
    how_many = (until - 1 - start) // length + 1
    counts = _counts(call, reach, asked, start, length)
    found = [[0, 0] for _ in range(how_many)]
    for bucket, denied, count in counts:
        if bucket != NO_BUCKET:
            # What another process wrote in this very moment may lie a little ahead of our clock.
            found[min(bucket, how_many - 1)][denied] += count
    buckets = [
        Bucket(start + number * length, start + (number + 1) * length, *both)
        for number, both in enumerate(found)
    ]
    if sum(count for *_, count in counts) <= COUNTED:
        return Activity(buckets, cut=False)
    # What lies before the oldest row that was counted is not known to be nothing.
    return Activity([*dropwhile(lambda one: not one.total, buckets)], cut=True)


def _length(span: int) -> int:
    for step in BUCKET_SIZES:
        if span <= step * MAX_BUCKETS:
            return step
    return -(-span // (MAX_BUCKETS * DAY)) * DAY


def _counts(
    call: Call, reach: Reach, asked: AuditFilter, start: int, length: int
) -> list[tuple[int, bool, int]]:
    row = audit_record.c
    rows = select_roughly(reach, replace(asked, limit=COUNTED), row.created_at, row.outcome).subquery().c
    outside = rows.created_at < asked.since
    if asked.until is not None:
        outside = or_(outside, rows.created_at >= asked.until)
    bucket = case((outside, NO_BUCKET), else_=(rows.created_at - start) // length).label("bucket")
    placed = select(bucket, rows.outcome).subquery().c
    statement = select(placed.bucket, placed.outcome, func.count()).group_by(placed.bucket, placed.outcome)
    found = call.connection.execute(statement)
    return [(number, outcome == DENIED, count) for number, outcome, count in found]
