"""Which tests `make test` leaves to `make test-all`, and which begin first."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from selection import CASES, repeated, turns


class Item(NamedTuple):
    """The part of a collected test that a selection reads."""

    nodeid: str
    markers: tuple[str, ...]
    path: Path = Path("tests/unit/test_a.py")

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.markers else None


def run(*items: tuple[str, *tuple[str, ...]]) -> list[str]:
    """Return the ids of the tests that a brief run has; each item is an id with the markers of the test."""
    collected = [Item(f"t[{name}]", tuple(markers)) for name, *markers in items]
    left_out = {item.nodeid for item in repeated(collected)}  # type: ignore[arg-type]  # it reads no more
    return [item.nodeid[2:-1] for item in collected if item.nodeid not in left_out]


def test_a_test_runs_on_sqlite_and_on_postgresql_if_it_is_marked():
    assert run(("sqlite",), ("postgresql",)) == ["sqlite"]
    both = "both_engines"
    assert run(("sqlite", both), ("postgresql", both)) == ["sqlite", "postgresql"]


def test_a_case_that_only_postgresql_has_runs_there():
    assert run(("sqlite-a",), ("postgresql-b",)) == ["sqlite-a", "postgresql-b"]


def test_a_slow_test_is_left_out():
    assert run(("a", "slow"), ("b", "slow")) == []


@pytest.mark.parametrize("count", [*range(1, CASES + 1), 9, 10, 100])
def test_of_many_cases_a_fixed_number_runs_evenly_among_them(count):
    found = run(*((f"case-{number}",) for number in range(count)))
    numbers = [int(one.partition("-")[2]) for one in found]
    assert len(numbers) == min(CASES, count)
    assert numbers[0] == 0
    assert all(later - before in (count // CASES, count // CASES + 1) for before, later in pairwise(numbers))


def test_each_engine_has_that_number_of_cases():
    both = [
        (f"{engine}-{number}", "both_engines") for engine in ("sqlite", "postgresql") for number in range(9)
    ]
    assert len(run(*both)) == 2 * CASES


def test_every_case_runs_that_is_not_slow_where_some_are():
    assert run(*((f"case-{number}",) for number in range(9)), ("last", "slow")) == [
        f"case-{number}" for number in range(9)
    ]


def in_turn(*files: str) -> list[str]:
    """The files of one test each, as they begin."""
    items = [Item(one, (), Path(f"tests/{one}.py")) for one in files]
    when = turns(items)  # type: ignore[arg-type]  # as much of them as is asked
    return [item.nodeid for item in sorted(items, key=lambda item: when[item.path])]


def test_what_takes_long_begins_first():
    given = ("unit/test_a", "browser/test_a", "fuzz/test_a", "browser/test_every_page", "unit/test_b")
    expected = [
        "browser/test_every_page",
        "fuzz/test_a",
        "browser/test_a",
        "unit/test_a",
        "unit/test_b",
    ]
    assert in_turn(*given) == expected


def test_what_waits_begins_evenly_among_what_computes_and_before_its_end():
    computing, waiting = [f"unit/test_{name}" for name in "abcde"], ["load/test_kill", "load/test_rollout"]
    expected = ["load/test_rollout", *computing[:2], "load/test_kill", *computing[2:]]
    assert in_turn(*computing, *waiting) == expected
