"""What `make test` leaves to `make test-all`, and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from selection import repeated, turns


class Item(NamedTuple):
    """What is asked of one that was collected."""

    nodeid: str
    markers: dict[str, Any]
    path: Path = Path("tests/unit/test_a.py")

    def get_closest_marker(self, name: str) -> Any:
        return self.markers.get(name)


def cases(*ids: str, **marked: tuple[str, ...]) -> list[Item]:
    """Those of one test, which has the markers with these arguments."""
    markers = {name: SimpleNamespace(args=args) for name, args in marked.items()}
    return [Item(one, markers) for one in ids]


def left_out(**marked: tuple[str, ...]) -> list[str]:
    """Of two cases of a test on each engine those that are left out."""
    items = cases("t[sqlite-a]", "t[sqlite-b]", "t[postgresql-a]", "t[postgresql-b]", **marked)
    return [item.nodeid[2:-1] for item in repeated(items)]


def test_on_postgresql_the_first_case_runs_and_on_sqlite_every_one():
    assert left_out() == ["postgresql-b"]


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ({"postgresql": ("every",)}, []),
        ({"postgresql": ("first",)}, ["postgresql-b"]),
        ({"postgresql": ("none",)}, ["postgresql-a", "postgresql-b"]),
        ({"engine_neutral": ()}, ["postgresql-a", "postgresql-b"]),
        ({"broad": ()}, ["sqlite-a", "sqlite-b", "postgresql-a", "postgresql-b"]),
    ],
    ids=str,
)
def test_a_marker_says_which_cases_run(marked, expected):
    assert left_out(**marked) == expected


def test_what_sqlite_has_not_runs_in_every_case():
    assert list(repeated(cases("t[postgresql-a]", "t[postgresql-b]", engine_neutral=()))) == []


def in_turn(*files: str) -> list[str]:
    """The files of one test each, as they begin."""
    items = [Item(one, {}, Path(f"tests/{one}.py")) for one in files]
    when = turns(items)  # type: ignore[arg-type]  # as much of them as is asked
    return [item.nodeid for item in sorted(items, key=lambda item: when[item.path])]


def test_what_takes_long_begins_first():
    given = ("unit/test_a", "browser/test_a", "fuzz/test_a", "browser/test_every_page", "laws/test_a")
    expected = ["browser/test_every_page", "fuzz/test_a", "browser/test_a", "unit/test_a", "laws/test_a"]
    assert in_turn(*given) == expected


def test_what_waits_begins_evenly_among_what_computes_and_before_its_end():
    computing, waiting = [f"unit/test_{name}" for name in "abcde"], ["load/test_kill", "load/test_rollout"]
    expected = ["load/test_rollout", *computing[:2], "load/test_kill", *computing[2:]]
    assert in_turn(*computing, *waiting) == expected
