"""The checker of histories: it passes a good one, and each fault that it is there for makes it speak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from history import OK, REFUSED, UNKNOWN, Audited, Export, Final, History, Write, violations


def written(
    number: int, keys: str, began: float, rev: int, versions: dict[str, int], expected: int | None = None
) -> Write:
    return Write(f"op-{number}", tuple(keys), expected, OK, began, began + 1, 200, rev, versions)


def good() -> History:
    """Three applied writes of A and B, one refused, one that was never answered, and exports between."""
    writes = [
        written(1, "AB", 0, 1, {"A": 1, "B": 1}),
        written(2, "A", 0.5, 2, {"A": 2}, expected=1),
        Write("op-3", ("B",), 1, REFUSED, 0.6, 2.6, 412),
        Write("op-4", ("A", "B"), None, UNKNOWN, 3, 4),
        written(5, "B", 5, 4, {"B": 3}, expected=3),
    ]
    exports = [
        Export(0, {}, 0, 0.1),
        Export(1, {"A": "op-1", "B": "op-1"}, 0.6, 1.2),
        Export(2, {"A": "op-2", "B": "op-1"}, 1.6, 1.7),
        Export(4, {"A": "op-4", "B": "op-5"}, 7, 8),
    ]
    audited = [
        Audited("op-1", 1, {"A": 1, "B": 1}),
        Audited("op-2", 2, {"A": 2}),
        Audited("op-4", 3, {"A": 3, "B": 2}),
        Audited("op-5", 4, {"B": 3}),
    ]
    return History(writes, exports, audited, Final(4, {"A": (1, 2, 3), "B": (1, 2, 3)}))


def dropped_acknowledgement(history: History) -> None:
    """The last write was answered with 200, and is not there."""
    del history.audited[-1]
    history.exports[-1] = Export(3, {"A": "op-4", "B": "op-4"}, 7, 8)


def committed_without_its_record(history: History) -> None:
    """The last write is there, as the exports show, and nothing in the audit log tells of it."""
    del history.audited[-1]


def acknowledged_with_another_revision(history: History) -> None:
    history.writes[1] = replace(history.writes[1], rev=3)


def acknowledged_with_another_version(history: History) -> None:
    history.writes[1] = replace(history.writes[1], versions={"A": 3})


def recorded_twice(history: History) -> None:
    history.audited.append(replace(history.audited[-1], rev=5))


def refused_and_yet_applied(history: History) -> None:
    history.writes[3] = replace(history.writes[3], outcome=REFUSED, status=409)


def recorded_without_a_sender(history: History) -> None:
    del history.writes[3]


def gap(history: History) -> None:
    history.audited[-1] = replace(history.audited[-1], rev=5)


def environment_behind_its_records(history: History) -> None:
    object.__setattr__(history.final, "rev", 3)


def version_skipped(history: History) -> None:
    history.audited[2] = replace(history.audited[2], versions={"A": 4, "B": 2})


def version_lost(history: History) -> None:
    history.final.versions["A"] = (1, 3)  # type: ignore[index]


def version_of_nobody(history: History) -> None:
    history.final.versions["C"] = (1,)  # type: ignore[index]


def torn_export(history: History) -> None:
    """Half of the write that set both keys."""
    history.exports[3] = Export(3, {"A": "op-4", "B": "op-1"}, 7, 8)


def export_with_the_tag_of_the_write_before(history: History) -> None:
    """Revision and values were read by two statements, and a write came between."""
    history.exports[1] = replace(history.exports[1], etag=0)


def half_applied_write(history: History) -> None:
    """The unanswered write set two keys, and one was changed."""
    history.audited[2] = replace(history.audited[2], versions={"A": 3})


def write_behind_one_that_had_ended(history: History) -> None:
    history.writes[1] = replace(history.writes[1], began=9, ended=9.5, expected=None)


def stale_export(history: History) -> None:
    history.exports[2] = replace(history.exports[2], began=9, ended=9.5)


def export_from_the_future(history: History) -> None:
    history.exports[2] = replace(history.exports[2], began=0.1, ended=0.2)


def two_winners(history: History) -> None:
    """Both had read revision 1, and both were told that nothing had happened since."""
    history.writes[4] = replace(history.writes[4], expected=1)


def winner_at_another_revision(history: History) -> None:
    history.writes[4] = replace(history.writes[4], expected=2)


def refused_without_cause(history: History) -> None:
    history.writes[2] = replace(history.writes[2], expected=4, began=9, ended=10)


def unreadable_secret(history: History) -> None:
    object.__setattr__(history.final, "unreadable", ("A",))


FAULTS = [
    ("I1", dropped_acknowledgement),
    ("I1", committed_without_its_record),
    ("I1", acknowledged_with_another_revision),
    ("I1", acknowledged_with_another_version),
    ("I1", recorded_twice),
    ("I2", refused_and_yet_applied),
    ("I2", recorded_without_a_sender),
    ("I3", gap),
    ("I3", environment_behind_its_records),
    ("I4", version_skipped),
    ("I4", version_lost),
    ("I4", version_of_nobody),
    ("I5", torn_export),
    ("I5", export_with_the_tag_of_the_write_before),
    ("I5", half_applied_write),
    ("I6", write_behind_one_that_had_ended),
    ("I6", stale_export),
    ("I6", export_from_the_future),
    ("I7", two_winners),
    ("I7", winner_at_another_revision),
    ("I7", refused_without_cause),
    ("I8", unreadable_secret),
]


def test_a_good_history_has_no_violation() -> None:
    assert violations(good()) == []


def test_a_write_without_an_answer_may_be_there_or_not() -> None:
    history = good()
    history.writes.append(Write("op-6", ("A",), 4, UNKNOWN, 9, 10))
    assert violations(history) == []


@pytest.mark.parametrize(
    ("invariant", "fault"), FAULTS, ids=[fault.__name__.replace("_", " ") for _, fault in FAULTS]
)
def test_a_fault_is_found(invariant: str, fault: Callable[[History], None]) -> None:
    history = good()
    fault(history)
    assert invariant in {problem[:2] for problem in violations(history)}
