"""How much happened when: the rows of a selection, counted in equal stretches of time."""

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
#: What is looked at where nobody says since when.
USUAL = 7 * DAY
#: The lengths that a stretch may have; beyond them it has whole days.
STEPS = (MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY)
#: About how many stretches there are at most; the first may have to begin a little earlier.
STRETCHES = 28
#: The newest rows are counted, and no more than these: a longer look would grow with the log.
COUNTED = 10_000
#: The number of no stretch: of rows that were read but lie outside the times asked for.
OUTSIDE = -1


@dataclass(frozen=True, slots=True)
class Stretch:
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
    """Stretches of equal length, oldest first; `cut` where only the newest rows were counted."""

    stretches: list[Stretch]
    cut: bool

    @property
    def total(self) -> int:
        """How many rows were counted."""
        return sum(one.total for one in self.stretches)


def count_activity(call: Call, reach: Reach, asked: AuditFilter) -> Activity:
    """Counts what a filter selects between its times, else in the last seven days; one statement.

    There are no stretches where the times leave no room for any.
    """
    until = call.now + 1 if asked.until is None else min(asked.until, call.now + 1)
    since = max(until - USUAL, 0) if asked.since is None else asked.since
    if since >= until:
        return Activity([], cut=False)
    asked = replace(asked, since=since, cursor=None, after=None)
    length = _length(until - since)
    start = since - since % length
    how_many = (until - 1 - start) // length + 1
    counts = _counts(call, reach, asked, start, length)
    found = [[0, 0] for _ in range(how_many)]
    for stretch, denied, count in counts:
        if stretch != OUTSIDE:
            # What another process wrote in this very moment may lie a little ahead of our clock.
            found[min(stretch, how_many - 1)][denied] += count
    stretches = [
        Stretch(start + number * length, start + (number + 1) * length, *both)
        for number, both in enumerate(found)
    ]
    if sum(count for *_, count in counts) <= COUNTED:
        return Activity(stretches, cut=False)
    # What lies before the oldest row that was counted is not known to be nothing.
    return Activity([*dropwhile(lambda one: not one.total, stretches)], cut=True)


def _length(span: int) -> int:
    for step in STEPS:
        if span <= step * STRETCHES:
            return step
    return -(-span // (STRETCHES * DAY)) * DAY


def _counts(
    call: Call, reach: Reach, asked: AuditFilter, start: int, length: int
) -> list[tuple[int, bool, int]]:
    row = audit_record.c
    rows = select_roughly(reach, replace(asked, limit=COUNTED), row.created_at, row.outcome).subquery().c
    outside = rows.created_at < asked.since
    if asked.until is not None:
        outside = or_(outside, rows.created_at >= asked.until)
    stretch = case((outside, OUTSIDE), else_=(rows.created_at - start) // length).label("stretch")
    placed = select(stretch, rows.outcome).subquery().c
    statement = select(placed.stretch, placed.outcome, func.count()).group_by(placed.stretch, placed.outcome)
    found = call.connection.execute(statement)
    return [(number, outcome == DENIED, count) for number, outcome, count in found]
