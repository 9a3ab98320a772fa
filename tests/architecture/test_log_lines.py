"""docs/operations/troubleshooting.md quotes lines of the log: each must be one that the code writes."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from architecture.parsed import nodes_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations" / "troubleshooting.md"
HEAD = "Line in the log"
LEVELS = ("warning", "error", "exception", "critical")


@cache
def texts() -> tuple[str, ...]:
    """Every text of the package's code, with `…` for what is filled in."""
    return tuple(
        text
        for path in sorted((ROOT / "secretsvc").rglob("*.py"))
        for text in texts_of(path.read_text("utf-8"))
    )


def texts_of(source: str) -> list[str]:
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            found.append("".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(re.sub(r"%(?:0?\d*[sdgo])", "…", node.value))
    return found


def quoted_in(page: str) -> list[str]:
    """What the columns of lines quote; one word alone is a field of a line, not a line."""
    found, column = [], None
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if HEAD in line:
            column = next(number for number, cell in enumerate(cells) if HEAD in cell)
        elif not line.startswith("|"):
            column = None
        elif column is not None:
            found += [text for text in re.findall(r"`([^`]+)`", cells[column]) if " " in text]
    return found


def unknown(quoted: list[str], told: tuple[str, ...]) -> list[str]:
    return [line for line in quoted if not any(line in text for text in told)]


def test_every_line_of_the_log_that_the_page_quotes_is_one_that_the_code_writes():
    quoted = quoted_in(PAGE.read_text("utf-8"))
    assert len(quoted) > 20
    assert unknown(quoted, texts()) == []


def test_the_rule_of_log_lines_can_fail():
    code = 'log.warning("gone for %d seconds: " "%s", 1, name)\nlog.info(f"setting {name} is missing")'
    lines = "`gone for … seconds: …`, `setting … is bad`, `cause`"
    page = f"| Seen | {HEAD} |\n| --- | --- |\n| x | {lines} |\n\n`a b`"
    assert unknown(quoted_in(page), tuple(texts_of(code))) == ["setting … is bad"]


def warnings_of(source: str) -> list[str]:
    """What code logs as a warning or an error, with `…` for what is filled in."""
    calls = [node for node in nodes_of(source) if isinstance(node, ast.Call)]
    logged = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in LEVELS]
    told = [call.args[0].value for call in logged if call.args and isinstance(call.args[0], ast.Constant)]
    return [re.sub(r"%(?:0?\d*[sdgo])", "…", text) for text in told]


def untold(lines: list[str], quoted: list[str]) -> list[str]:
    """The lines of which no page quotes the beginning, or the whole."""
    starts = [text.rstrip("… ") for text in quoted]
    return [line for line in lines if not any(line.startswith(start) for start in starts)]


def test_every_warning_and_error_of_the_code_is_on_a_page_for_operators():
    pages = [ROOT / "docs" / "audit.md", *(ROOT / "docs" / "operations").glob("*.md")]
    quoted = [text for page in pages for text in quoted_in(page.read_text("utf-8"))]
    lines = [
        line
        for path in (ROOT / "secretsvc").rglob("*.py")
        for line in warnings_of(path.read_text("utf-8"))
        if path.name != "error_logging.py"  # whose text is a field of another line
    ]
    assert len(lines) > 20
    assert untold(lines, quoted) == []


def test_the_rule_of_warnings_can_fail():
    code = 'log.warning("gone for %d seconds: %s", 1, name)\nlog.error("lost %s", name)\nlog.info("began")'
    assert warnings_of(code) == ["gone for … seconds: …", "lost …"]
    assert untold(warnings_of(code), ["gone for …"]) == ["lost …"]
