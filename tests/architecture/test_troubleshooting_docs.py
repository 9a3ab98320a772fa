"""Each page for operators says what is seen when something goes wrong, and which test makes it so."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from architecture.test_documents import NAMED, missing_from
from architecture.test_log_lines import HEAD, quoted_in, texts, unknown

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "docs" / "audit.md",
    ROOT / "docs" / "scale.md",
    *sorted((ROOT / "docs" / "operations").glob("*.md")),
]
#: What a column may be called that quotes what is seen: a line of the log, or what a command says.
TELLS = (HEAD, " says")
QUOTED = re.compile(r"`([^`]+)`")
#: A figure, its status, or what `/ready` has, in the column of figures.
FIGURE = re.compile(r"`(secretsvc_\w+)`|with status (\d+)|`/ready` has `(\w+)`")
#: What a figure is then, where a row gives a number.
NUMBER = re.compile(r"`(secretsvc_\w+)` (?:is )?(\d+)")
#: Whoever waits until `/ready` says something holds these to it (tests/metrics_client.py).
AGREE = {"secretsvc_ready": ".until(", "secretsvc_readiness_problem": ".until("}


def rows_of(page: str) -> list[dict[str, str]]:
    """The rows of the tables that tell what went wrong, by the heads of their columns."""
    found, heads = [], None
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            heads = None
        elif heads is None:
            heads = cells
        elif not line.startswith("| ---") and any(tells in head for head in heads for tells in TELLS):
            found.append(dict(zip(heads, cells, strict=True)))
    return found


@cache
def definitions(source: str) -> dict[str, str]:
    """The text of each function, class and name of a file's top level, with its decorators."""
    found: dict[str, str] = {}
    lines = source.splitlines()
    for node in ast.parse(source).body:
        decorators = getattr(node, "decorator_list", [])
        first = min(one.lineno for one in (node, *decorators))
        names = [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [one.id for one in targets if isinstance(one, ast.Name)]
        found |= dict.fromkeys(names, "\n".join(lines[first - 1 : node.end_lineno]))
    return found


def said_by(row: dict[str, str], tests: dict[str, str]) -> str:
    """What the tests that a row names say, with all that they lead to in their own files."""
    found: dict[tuple[str, str], str] = {}
    for file, test in NAMED.findall(row.get("Test", "")):
        texts_there, names = definitions(tests[file]), [test]
        while names:
            name = names.pop()
            if name in texts_there and (file, name) not in found:
                found[file, name] = texts_there[name]
                names += re.findall(r"\w+", texts_there[name])
    return "\n".join(found.values())


def unproven(row: dict[str, str], tests: dict[str, str]) -> list[str]:
    """What a row quotes that no test which it names has; `tests` are the texts of files by their names."""
    column = next(head for head in row if any(tells in head for tells in TELLS))
    quoted = QUOTED.findall(row[column]) or QUOTED.findall(next(iter(row.values())))
    named = said_by(row, tests)
    return [text for text in quoted if max(text.split("…"), key=len).strip() not in named] or (
        [] if quoted else [str(row)]
    )


def unmoved(row: dict[str, str], tests: dict[str, str]) -> list[str]:
    """The figures of a row that none of its tests has; a row of what is seen must name some, or say none."""
    by_line_alone = HEAD in row and "Seen" not in row
    if not by_line_alone and not row.get("Figure"):
        return [str(row)]
    named = said_by(row, tests)
    found = ["".join(words) for words in FIGURE.findall(row.get("Figure", ""))]
    missing = [figure for figure in found if figure not in named and AGREE.get(figure, figure) not in named]
    numbers = [pair for pair in NUMBER.findall(row.get("Figure", "")) if pair[0] not in AGREE]
    return missing + [
        f"{figure} {number}"
        for figure, number in numbers
        if not re.search(rf'"{figure}".* == {number}\b', named)
    ]


@cache
def files() -> dict[str, str]:
    return {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in ROOT.glob("tests/**/test_*.py")}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_each_row_of_what_goes_wrong_names_tests_that_have_its_line_and_its_figures(page: Path) -> None:
    text = page.read_text("utf-8")
    rows = rows_of(text)
    assert rows, "a page without what is seen when something goes wrong"
    assert missing_from(text) == []
    tests = files()
    assert [wrong for row in rows for wrong in (*unproven(row, tests), *unmoved(row, tests))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_line_of_the_log_that_a_page_quotes_is_one_that_the_code_writes(page: Path) -> None:
    assert unknown(quoted_in(page.read_text("utf-8")), texts()) == []


def test_the_rule_of_what_goes_wrong_can_fail() -> None:
    page = f"| Seen | {HEAD} | Test |\n| --- | --- | --- |\n| `x` | `gone for … s` | `tests/a.py::test_a` |\n"
    page += "| `y` | none | `tests/a.py::test_a` |\n| z | `gone for … s` | by hand |\n\n"
    page += "| Seen | Do |\n| a | b |\n"
    first, second, third = rows_of(page)
    tests = {"tests/a.py": "def test_a():\n    told()\n\ndef told():\n    assert 'gone for 3 s' and y\n"}
    assert [unproven(row, tests) for row in (first, second, third)] == [[], [], ["gone for … s"]]
    assert unproven(first, {"tests/a.py": "def test_b():\n    assert 'gone for 3 s'\n"}) == ["gone for … s"]


def test_the_rule_of_figures_can_fail() -> None:
    page = f"| Seen | {HEAD} | Figure | Test |\n| --- | --- | --- | --- |\n"
    page += "| a | b | `secretsvc_ready` 0, `/ready` has `gone` | `tests/a.py::test_a` |\n| a | b |  | c |\n"
    page += "| a | b | `secretsvc_total` with status 503 | `tests/a.py::test_a` |\n"
    page += "| a | b | `secretsvc_left` is 0 | `tests/a.py::test_a` |\n"
    first, second, third, fourth = rows_of(page)
    tests = {"tests/a.py": "def test_a(operator):\n    operator.until(503)\n"}
    assert unmoved(first, tests) == ["gone"]
    assert unmoved(second, {}) == [str(second)]
    assert unmoved(third, tests) == ["secretsvc_total"]
    assert unmoved(third, {"tests/a.py": "def test_a():\n    'secretsvc_total', '500'\n"}) == ["503"]
    bodies = {relation: f'assert f("secretsvc_left") {relation} 0' for relation in ("==", "!=")}
    found = {key: unmoved(fourth, {"tests/a.py": f"def test_a():\n    {bodies[key]}\n"}) for key in bodies}
    assert found == {"==": [], "!=": ["secretsvc_left 0"]}
