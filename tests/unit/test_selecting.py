"""What `make test` leaves to `make test-all`, and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from selecting import repeated, turn


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


def test_what_takes_long_begins_first():
    folders = ["unit", "load", "browser", "fuzz", "laws"]
    items = sorted((Item(one, {}, Path(f"tests/{one}/test_a.py")) for one in folders), key=turn)
    assert [item.nodeid for item in items] == ["fuzz", "load", "browser", "unit", "laws"]
