"""Judges what concurrent clients saw of environments that were copied to each other.

Each environment's `rev` puts its writes in one order, and a copy names the revision that it took.

C1  an acknowledged write has one record, with its revision; a refused one has none, nobody else's is there
C2  the revisions of an environment's records are 1 to R, and R is the environment's
C3  a copy wrote exactly what was otherwise at the revision that it took: nothing is lost, nothing added
C4  that revision was there at some time between the copy's beginning and its end
C5  a copy is an export of its source: one record there, of that revision and of the keys that it wrote
C6  an export shows the state after one write, whole
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

State = Mapping[str, str]
NEVER_BEFORE, NEVER = float("-inf"), float("inf")


@dataclass(frozen=True, slots=True)
class Done:
    """A write as its client saw it; `rev` is None where it changed nothing. `values` are a batch's."""

    request_id: str
    environment: str
    began: float
    ended: float
    rev: int | None = None
    values: State | None = None
    mode: str = "merge"
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """The record of an applied write; a copy took its values of `source`, at the revision `taken`."""

    request_id: str
    environment: str
    rev: int
    changes: Mapping[str, str]
    source: str | None = None
    taken: int = 0


@dataclass(frozen=True, slots=True)
class Exported:
    """The record that a copy left at its source."""

    request_id: str
    environment: str
    rev: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """An export: its revision and its values."""

    environment: str
    rev: int
    values: State


@dataclass(frozen=True, slots=True)
class Past:
    """All that happened to environments that began empty; `revs` are the present revisions."""

    done: list[Done]
    recorded: list[Recorded]
    exported: list[Exported]
    seen: list[Seen]
    revs: Mapping[str, int]


def violations(past: Past) -> list[str]:
    """What is wrong with it; each begins with the rule that it breaks."""
    found = [*_told(past), *_counted(past)]
    if not found:
        states, problems = _replayed(past)
        found = [*problems, *_timely(past), *_told_there(past), *_whole(past, states)]
    return found


def _told(past: Past) -> Iterator[str]:
    records = Counter((one.request_id, one.environment, one.rev) for one in past.recorded)
    sent = {(one.request_id, one.environment, one.rev) for one in past.done if one.rev is not None}
    yield from (
        f"C1: {key} was told and is recorded {records[key]} times" for key in sent if records[key] != 1
    )
    yield from (f"C1: {key} is recorded and was not told" for key in records if key not in sent)


def _counted(past: Past) -> Iterator[str]:
    for environment, rev in past.revs.items():
        revs = sorted(one.rev for one in past.recorded if one.environment == environment)
        if revs != list(range(1, rev + 1)):
            yield f"C2: {environment} is at {rev}, recorded are {revs}"


def _replayed(past: Past) -> tuple[dict[tuple[str, int], dict[str, str]], list[str]]:
    """The states by environment and revision, as the records make them, and what is wrong with copies."""
    sent = {one.request_id: one for one in past.done}
    records = {(one.environment, one.rev): one for one in past.recorded}
    states: dict[tuple[str, int], dict[str, str]] = {(name, 0): {} for name in past.revs}
    problems: list[str] = []
    while True:
        ready = [
            one
            for at, one in records.items()
            if at not in states
            and (one.environment, one.rev - 1) in states
            and (one.source is None or (one.source, one.taken) in states)
        ]
        if not ready:
            break
        for one in ready:
            before = states[one.environment, one.rev - 1]
            write = sent[one.request_id]
            if one.source is None:
                after = {**before, **(write.values or {})}
            else:
                after = _copied(before, states[one.source, one.taken], write)
                if dict(one.changes) != _differences(before, after):
                    problems.append(f"C3: {one.request_id} wrote {sorted(one.changes)} at {one.rev}")
            states[one.environment, one.rev] = after
    problems += [f"C3: {at} took what never was" for at in records if at not in states]
    return states, problems


def _copied(before: State, taken: State, write: Done) -> dict[str, str]:
    if write.mode == "replace":
        return dict(taken)
    return {
        **before,
        **{key: value for key, value in taken.items() if write.keys is None or key in write.keys},
    }


def _differences(before: State, after: State) -> dict[str, str]:
    kinds = {
        key: "added" if key not in before else "changed" for key in after if before.get(key) != after[key]
    }
    return kinds | {key: "removed" for key in before if key not in after}


def _timely(past: Past) -> Iterator[str]:
    made = {(one.environment, one.rev): one for one in past.done if one.rev is not None}
    sent = {one.request_id: one for one in past.done}
    for one in past.recorded:
        if one.source is None:
            continue
        copy = sent[one.request_id]
        first, after = made.get((one.source, one.taken)), made.get((one.source, one.taken + 1))
        begins = NEVER_BEFORE if first is None else first.began
        ends = NEVER if after is None else after.ended
        if begins > copy.ended or ends < copy.began:
            yield f"C4: {one.request_id} took {one.taken} of {one.source}, which was not there then"


def _told_there(past: Past) -> Iterator[str]:
    there = Counter((one.request_id, one.environment, one.rev, one.keys) for one in past.exported)
    due = Counter(
        (
            one.request_id,
            one.source,
            one.taken,
            tuple(sorted(k for k, kind in one.changes.items() if kind != "removed")),
        )
        for one in past.recorded
        if one.source is not None
    )
    yield from (
        f"C5: {key} at the source is recorded {there[key]} times"
        for key in due | there
        if due[key] != there[key]
    )


def _whole(past: Past, states: Mapping[tuple[str, int], Any]) -> Iterator[str]:
    for one in past.seen:
        if states.get((one.environment, one.rev)) != dict(one.values):
            yield f"C6: the export of {one.environment} at {one.rev} is no state of it"
