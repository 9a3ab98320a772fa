"""No file is longer than can be read at one sitting, no function than a screen."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from architecture.parsed import nodes_of

pytestmark = pytest.mark.linter

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "secretsvc"
CLIENT = ROOT / "client" / "secretsvc_client"
FILE, FUNCTION = 300, 40
FILES = sorted(PACKAGE.rglob("*.py"))
#: Scripts and migrations: what they do stands there in its order, and only the file is held.
BESIDE = sorted(
    path for folder in ("alembic", "benchmarks", "demo") for path in (ROOT / folder).rglob("*.py")
)


def too_long(source: str) -> list[str]:
    """The functions that are over the limit, and `(file)` if the whole is."""
    found = [
        node.name
        for node in nodes_of(source)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (node.end_lineno or 0) - node.lineno + 1 > FUNCTION
    ]
    return found + ["(file)"] * (len(source.splitlines()) > FILE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_and_functions_stay_short(path):
    assert too_long(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted(CLIENT.rglob("*.py")), ids=lambda path: str(path.relative_to(CLIENT)))
def test_files_and_functions_of_the_client_stay_short(path):
    assert too_long(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", BESIDE, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_beside_the_package_stay_short(path):
    assert "(file)" not in too_long(path.read_text(encoding="utf-8"))


def test_the_rule_of_sizes_can_fail():
    body = "    pass\n"
    assert too_long("def f():\n" + body * 39) == []
    assert too_long("def f():\n" + body * 40) == ["f"]
    assert too_long("class C:\n    async def f(self):\n" + "    " + ("    pass\n" + "    ") * 40) == ["f"]
    assert too_long("pass\n" * 300) == []
    assert too_long("pass\n" * 301) == ["(file)"]
