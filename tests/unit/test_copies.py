"""The checker of copies: it passes a good past, and each fault that it is there for makes it speak."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from copy_checker import Done, Exported, Past, Recorded, Seen, violations


def good() -> Past:
    """A batch in each environment, and copies: one adds, one replaces, one changes nothing."""
    done = [
        Done("op-1", "prod", 0, 1, 1, {"A": "1", "B": "1"}),
        Done("op-2", "dev", 0, 1, 1, {"B": "2", "C": "2"}),
        Done("op-3", "prod", 2, 3, 2),
        Done("op-4", "dev", 2.5, 5, 2, mode="replace"),
        Done("op-5", "prod", 6, 7),
    ]
    recorded = [
        Recorded("op-1", "prod", 1, {"A": "added", "B": "added"}),
        Recorded("op-2", "dev", 1, {"B": "added", "C": "added"}),
        Recorded("op-3", "prod", 2, {"B": "changed", "C": "added"}, "dev", 1),
        Recorded("op-4", "dev", 2, {"A": "added", "B": "changed", "C": "removed"}, "prod", 1),
    ]
    exported = [Exported("op-3", "dev", 1, ("B", "C")), Exported("op-4", "prod", 1, ("A", "B"))]
    seen = [
        Seen("prod", 0, {}),
        Seen("prod", 2, {"A": "1", "B": "2", "C": "2"}),
        Seen("dev", 2, {"A": "1", "B": "1"}),
    ]
    return Past(done, recorded, exported, seen, {"prod": 2, "dev": 2})


def an_acknowledged_copy_is_not_there(past: Past) -> None:
    past.done[4] = replace(past.done[4], rev=3)


def nobody_sent_it(past: Past) -> None:
    past.done[2] = replace(past.done[2], rev=None)


def a_revision_has_two_records(past: Past) -> None:
    past.done.append(Done("op-6", "prod", 2, 3, 2))
    past.recorded.append(Recorded("op-6", "prod", 2, {}))


def a_key_was_left_out(past: Past) -> None:
    past.recorded[2] = replace(past.recorded[2], changes={"B": "changed"})


def what_was_equal_was_written(past: Past) -> None:
    past.recorded[2] = replace(past.recorded[2], changes={**past.recorded[2].changes, "A": "changed"})


def it_took_what_never_was(past: Past) -> None:
    past.recorded[2] = replace(past.recorded[2], taken=7)


def it_took_what_had_passed(past: Past) -> None:
    past.done[2] = replace(past.done[2], ended=2.1)
    past.done[3] = replace(past.done[3], began=4)


def it_took_what_was_yet_to_come(past: Past) -> None:
    past.done[1] = replace(past.done[1], began=3.5, ended=4)


def the_source_was_not_told(past: Past) -> None:
    del past.exported[0]


def the_source_was_told_of_other_keys(past: Past) -> None:
    past.exported[0] = replace(past.exported[0], keys=("B",))


def the_source_was_told_twice(past: Past) -> None:
    past.exported.append(past.exported[0])


def an_export_shows_half_a_copy(past: Past) -> None:
    past.seen.append(Seen("prod", 2, {"A": "1", "B": "2"}))


FAULTS: list[tuple[Callable[[Past], None], str]] = [
    (an_acknowledged_copy_is_not_there, "C1"),
    (nobody_sent_it, "C1"),
    (a_revision_has_two_records, "C2"),
    (a_key_was_left_out, "C3"),
    (what_was_equal_was_written, "C3"),
    (it_took_what_never_was, "C3"),
    (it_took_what_had_passed, "C4"),
    (it_took_what_was_yet_to_come, "C4"),
    (the_source_was_not_told, "C5"),
    (the_source_was_told_of_other_keys, "C5"),
    (the_source_was_told_twice, "C5"),
    (an_export_shows_half_a_copy, "C6"),
]


def test_a_good_past_passes():
    assert violations(good()) == []


@pytest.mark.parametrize(("spoil", "rule"), FAULTS, ids=lambda fault: getattr(fault, "__name__", None))
def test_each_fault_breaks_its_rule(spoil, rule):
    past = good()
    spoil(past)
    assert {problem.partition(":")[0] for problem in violations(past)} >= {rule}
