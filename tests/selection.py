"""Which tests `make test` leaves to `make test-all` (README), and which begin first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Cases of one test that a brief run has on each engine.
CASES = 3
ENGINES = ("sqlite", "postgresql")
#: Files and folders that take longest: who begins with them does not wait for one of them alone at the end.
LONG = ("test_rollout", "test_generated_clients", "test_attacks_on_connections", "test_rolling_restarts")
LONG += ("test_newcomer", "test_image", "test_every_page", "fuzz", "whole", "browser")
#: The folder whose files wait for clocks and processes much of their time: while one waits, others compute.
WAITING = "load"
#: Before that part of the others has begun, each of those has.
SPREAD = 0.8


def repeated(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the tests that a brief run leaves out.

    These are the tests marked `slow`, those on PostgreSQL that SQLite has, too, unless they are marked
    `both_engines`, and of a test with many cases all but `CASES`. A test that marks some of its cases as
    `slow` has chosen itself: every other case of it runs.
    """
    ids = {item.nodeid for item in items}
    cases: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    chosen = {_test(item) for item in items if _is_slow(item)}
    for item in items:
        if _is_slow(item) or (_is_second_engine(item, ids) and not item.get_closest_marker("both_engines")):
            yield item
        elif _test(item) not in chosen:
            cases[_test(item), _engine(item)].append(item)
    for same in cases.values():
        yield from _further(same)


def _is_slow(item: pytest.Item) -> bool:
    return item.get_closest_marker("slow") is not None


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _engine(item: pytest.Item) -> str:
    return next((engine for engine in ENGINES if engine in item.nodeid), "none")


def _is_second_engine(item: pytest.Item, ids: set[str]) -> bool:
    """Whether it is the case on PostgreSQL of a test that has the same case on SQLite."""
    same = item.nodeid.replace("postgresql", "sqlite")
    return same != item.nodeid and same in ids


def _further(cases: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield all but `CASES` of the cases, which lie evenly among them."""
    kept = {number * len(cases) // CASES for number in range(CASES)}
    return (case for number, case in enumerate(cases) if number not in kept)


def turns(items: list[pytest.Item]) -> dict[Path, float]:
    """When each file begins, among the others: those that wait lie evenly between those that compute."""
    files = list(dict.fromkeys(item.path for item in items))
    waiting = sorted((file for file in files if file.parent.name == WAITING), key=_rank)
    others = sorted((file for file in files if file.parent.name != WAITING), key=_rank)
    apart = SPREAD * len(others) / max(1, len(waiting))
    return {file: number * apart for number, file in enumerate(waiting)} | {
        file: number + 0.5 for number, file in enumerate(others)
    }


def _rank(file: Path) -> int:
    """Its own, or its folder's, among those that begin first; all others come after them."""
    return next((LONG.index(name) for name in (file.stem, file.parent.name) if name in LONG), len(LONG))
