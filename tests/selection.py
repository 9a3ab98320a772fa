"""Which tests `make test` leaves to `make test-all` (README), and which begin first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

#: Files and folders that take longest: who begins with them does not wait for one of them alone at the end.
LONG = ("test_rollout", "test_generated_clients", "test_attacks_on_connections", "test_rolling_restarts")
LONG += ("test_newcomer", "test_image", "test_every_page", "fuzz", "whole", "browser")
#: The folder whose files wait for clocks and processes much of their time: while one waits, others compute.
WAITING = "load"
#: Before that part of the others has begun, each of those has.
SPREAD = 0.8


def repeated(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """What is marked as one more example, and on PostgreSQL what SQLite or a first case holds."""
    ids, met = {item.nodeid for item in items}, set()
    for item in items:
        name, test = item.nodeid.replace("postgresql", "sqlite"), item.nodeid.partition("[")[0]
        cases = _cases_on_postgresql(item) if name != item.nodeid and name in ids else "every"
        if item.get_closest_marker("broad") or cases == "none" or (cases == "first" and test in met):
            yield item
        elif cases == "first":
            met.add(test)


def _cases_on_postgresql(item: pytest.Item) -> str:
    """Which cases of its test a brief run has: "none", the "first", or "every" one."""
    marked = item.get_closest_marker("postgresql")
    if item.get_closest_marker("engine_neutral"):
        return "none"
    return marked.args[0] if marked else "first"


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
