"""Judges what concurrent clients saw of one environment.

`rev` puts every applied write in one order, so that each question has one answer and no search is needed.

I1  an acknowledged write has one audit record, with its revision
I2  a refused write has none, an unanswered one at most one, and nobody else's is there
I3  the revisions of the records are 1 to R, and R is the environment's
I4  the versions of a key are 1 to V, one for each write that touched it
I5  an export shows the state after one write, whole, and its ETag is the revision of that write
I6  what ended before another began has the lower revision
I7  a write with a precondition was applied to that very revision, and refused only where it had passed
I8  every secret is readable at the end
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

OK, REFUSED, UNKNOWN = "ok", "refused", "unknown"
NEVER_BEFORE, NEVER = float("-inf"), float("inf")


@dataclass(frozen=True, slots=True)
class Write:
    """A batch that set `keys` to its own request id, as its client saw it; times on one clock.

    `UNKNOWN` is a write whose answer did not come: it was applied or it was not.
    """

    request_id: str
    keys: tuple[str, ...]
    expected: int | None
    outcome: str
    began: float
    ended: float
    status: int = 0
    rev: int | None = None
    versions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Export:
    """An export: its ETag, and the request id that each key's value names."""

    etag: int
    values: Mapping[str, str]
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Audited:
    """The audit record of an applied write."""

    request_id: str
    rev: int
    versions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Final:
    """The environment once all is quiet: the versions of each key, oldest first, and what does not open."""

    rev: int
    versions: Mapping[str, tuple[int, ...]]
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """All that happened to an environment, which began empty and at revision 0."""

    writes: list[Write]
    exports: list[Export]
    audited: list[Audited]
    final: Final


def violations(history: History) -> list[str]:
    """What is wrong with a history; each begins with the invariant that it breaks."""
    checks = (_acknowledged, _unacknowledged, _counter, _versions, _whole, _ordered, _compared, _readable)
    return [problem for check in checks for problem in check(history)]


def _acknowledged(history: History) -> Iterator[str]:
    records: dict[str, list[Audited]] = {}
    for record in history.audited:
        records.setdefault(record.request_id, []).append(record)
    for write in history.writes:
        if write.outcome != OK:
            continue
        found = records.get(write.request_id, [])
        if [record.rev for record in found] != [write.rev]:
            yield f"I1: {write.request_id} was told {write.rev}, recorded {[one.rev for one in found]}"
        elif dict(found[0].versions) != dict(write.versions):
            yield f"I1: {write.request_id} was told other versions than are recorded"


def _unacknowledged(history: History) -> Iterator[str]:
    counts = Counter(record.request_id for record in history.audited)
    for write in history.writes:
        count = counts.pop(write.request_id, 0)
        allowed = {OK: count, REFUSED: 0, UNKNOWN: 1}[write.outcome]
        if count > allowed:
            yield f"I2: {write.request_id} was {write.outcome} and has {count} records"
    for stranger in counts:
        yield f"I2: {stranger} is recorded and was never sent"


def _counter(history: History) -> Iterator[str]:
    revs = sorted(record.rev for record in history.audited)
    if revs != list(range(1, history.final.rev + 1)):
        repeated = [rev for rev, count in Counter(revs).items() if count > 1]
        missing = sorted({*range(1, history.final.rev + 1)} - {*revs})
        yield f"I3: of 1 to {history.final.rev}, missing {missing}, repeated {repeated}, last {revs[-1:]}"


def _versions(history: History) -> Iterator[str]:
    made: dict[str, list[int]] = {}
    for record in sorted(history.audited, key=lambda one: one.rev):
        for key, version in record.versions.items():
            made.setdefault(key, []).append(version)
    for key in sorted({*made, *history.final.versions}):
        recorded, stored = made.get(key, []), list(history.final.versions.get(key, ()))
        if recorded != list(range(1, len(recorded) + 1)):
            yield f"I4: the writes of {key} made versions {recorded}"
        if stored != list(range(1, len(recorded) + 1)):
            yield f"I4: {key} was written {len(recorded)} times and has versions {stored}"


def _whole(history: History) -> Iterator[str]:
    sent = {write.request_id: write for write in history.writes}
    states: dict[int, dict[str, str]] = {0: {}}
    for record in sorted(history.audited, key=lambda one: one.rev):
        keys = sent[record.request_id].keys if record.request_id in sent else ()
        states[record.rev] = states.get(record.rev - 1, {}) | dict.fromkeys(keys, record.request_id)
        if {*keys} != {*record.versions}:
            yield f"I5: {record.request_id} is recorded with other keys than it had"
    for export in history.exports:
        state = states.get(export.etag)
        if state is None:
            yield f"I5: an export at {export.etag}, which no write made"
        elif state != dict(export.values):
            others = sorted(
                key for key in {*state, *export.values} if state.get(key) != export.values.get(key)
            )
            yield f"I5: the export at {export.etag} has other values of {', '.join(others)}"


def _ordered(history: History) -> Iterator[str]:
    applied = [(one.began, one.ended, one.rev or 0, True) for one in history.writes if one.outcome == OK]
    seen = [(one.began, one.ended, one.etag, False) for one in history.exports]
    by_end = sorted(applied + seen, key=lambda one: one[1])
    newest, passed = -1, 0
    for began, _ended, rev, is_write in sorted(applied + seen):
        while by_end[passed][1] < began:
            newest = max(newest, by_end[passed][2])
            passed += 1
        # A write must pass what was there; an export may show it again.
        if rev < newest or (is_write and rev == newest):
            yield f"I6: {'a write' if is_write else 'an export'} of {rev} began after {newest} had ended"


def _compared(history: History) -> Iterator[str]:
    guarded = [one for one in history.writes if one.expected is not None]
    winners = Counter(one.expected for one in guarded if one.outcome == OK)
    yield from (f"I7: {count} writes won with {rev}" for rev, count in winners.items() if count > 1)
    sent = {write.request_id: write for write in history.writes}
    began = {one.rev: sent[one.request_id].began for one in history.audited if one.request_id in sent}
    ended = {one.rev: one.ended for one in history.writes if one.outcome == OK} | {0: NEVER_BEFORE}
    for write in guarded:
        expected = write.expected or 0
        if write.outcome == OK and write.rev != expected + 1:
            yield f"I7: {write.request_id} expected {expected} and became {write.rev}"
        there = ended.get(expected, NEVER) < write.began and write.ended < began.get(expected + 1, NEVER)
        if write.status == 412 and there:
            yield f"I7: {write.request_id} expected {expected}, which was there, and was refused"


def _readable(history: History) -> Iterable[str]:
    return [f"I8: {key} cannot be read" for key in history.final.unreadable]
