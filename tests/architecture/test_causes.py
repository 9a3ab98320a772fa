"""docs/operations/database.md: every cause that a line of the log may have stands there, and no other."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

from architecture.test_troubleshooting_docs import QUOTED, files, said_by

from secretsvc.web import error_logging

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "database.md"


def rows_of(page: str) -> list[dict[str, str]]:
    table = page.partition("\n## What the cause says\n")[2].partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| (`.*`) \| [^|]+ \| [^|]+ \| (.*) \|$", table)
    return [{"Cause": cause, "Test": test} for cause, test in rows]


def causes() -> set[str]:
    return {
        *error_logging.CONNECTION_CAUSES.values(),
        *error_logging.SQLSTATE_CAUSES.values(),
        error_logging.NO_CONNECTION,
    }


def test_every_cause_has_its_row_and_every_row_a_cause() -> None:
    told = [cause for row in rows_of(PAGE.read_text("utf-8")) for cause in QUOTED.findall(row["Cause"])]
    of_sqlite = [cause for cause in told if cause.startswith("SQLITE_")]
    assert sorted(set(told) - set(of_sqlite)) == sorted(causes())
    assert len(told) == len(set(told))
    assert [name for name in of_sqlite if not hasattr(sqlite3, name)] == []


def test_each_cause_is_made_by_a_test_that_its_row_names() -> None:
    for row in rows_of(PAGE.read_text("utf-8")):
        said = said_by(row, files())
        assert [cause for cause in QUOTED.findall(row["Cause"]) if cause not in said] == []


def test_the_rule_of_causes_can_fail() -> None:
    page = "\n## What the cause says\n\n| Cause | a | b | c |\n| --- | --- | --- | --- |\n"
    page += "| `x`, `y` | means | do | `tests/a.py::test_a` |\n\n## More\n\n| `z` | means | do | by hand |\n"
    (row,) = rows_of(page)
    assert QUOTED.findall(row["Cause"]) == ["x", "y"]
    assert said_by(row, {"tests/a.py": "def test_a():\n    assert 'x'\n"}).count("'y'") == 0
