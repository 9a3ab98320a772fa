"""Messages name pages of `docs/` through `docs_page` alone, and only pages that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from architecture.parsed import nodes_of

ROOT = Path(__file__).parents[2]
CODE = sorted((ROOT / "secretsvc").rglob("*.py"))
PAGE = re.compile(r"docs/[\w/-]+\.md")


def docstrings_of(nodes: list[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield from (one.value for one in node.body[:1] if isinstance(one, ast.Expr))


def named_in(source: str) -> tuple[list[str], list[str]]:
    """The pages that texts name themselves, and those that are named through `docs_page`."""
    nodes = nodes_of(source)
    about = {id(node) for node in docstrings_of(nodes)}
    texts = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    bare = [page for node in texts if id(node) not in about for page in PAGE.findall(str(node.value))]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    through = [ast.literal_eval(one.args[0]) for one in calls if getattr(one.func, "id", "") == "docs_page"]
    return bare, through


def test_every_page_that_a_message_names_exists_and_is_named_through_one_function() -> None:
    found = [named_in(path.read_text("utf-8")) for path in CODE]
    assert [page for bare, _ in found for page in bare] == []
    through = {page for _, pages in found for page in pages}
    assert {"settings.md", "operations/key-rotation.md"} <= through
    assert [page for page in through if not (ROOT / "docs" / page).is_file()] == []


def test_a_text_that_names_a_page_itself_is_found() -> None:
    code = '"""docs/a.md"""\ndef f():\n "docs/b.md"\n return f"see docs/c.md: {docs_page(\'d.md\')}"\n'
    assert named_in(code) == (["docs/c.md"], ["d.md"])
