"""Which tests `make test` leaves to `make test-all` (README), and which begin first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

#: Folders whose files take longest: whoever begins with them does not wait for one of them alone at the end.
LONG = ("fuzz", "load", "whole", "browser")


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


def turn(item: pytest.Item) -> int:
    """Its folder's among those that begin first; all others come after them."""
    folder = item.path.parent.name
    return LONG.index(folder) if folder in LONG else len(LONG)
