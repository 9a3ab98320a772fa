"""Templates compile, show everything as text, and hold nothing that the pages' policy would refuse."""

from __future__ import annotations

import builtins
import re
from pathlib import Path

import pytest
from chameleon import PageTemplateFile

from secretsvc.secrets.ui.history_text import ELSEWHERE

PACKAGE = Path(__file__).parents[2] / "secretsvc"
TEMPLATES = sorted(PACKAGE.glob("*/templates/*.pt"))
COLUMNS = 110
FORBIDDEN = {
    "structure": r"structure:",
    "inline script": r"<script(?![^>]*\ssrc=)[^>]*>",
    "script with content": r"<script[^>]*>[^<]",
    "inline style": r"<style|\sstyle=",
    "handler": r"\son[a-z]+=",
    "another host": r"""(?:href|src|action)=["']?(?:https?:)?//""",
    "javascript": r"javascript:",
}

#: Where the name of a symbol stands.
PATTERN = r"""icon\('([a-z0-9-]+)'|icon="([a-z0-9-]+)"|sprite\}#([a-z0-9-]+)"""


def offences(source: str) -> set[str]:
    """What a template holds that none may."""
    return {name for name, pattern in FORBIDDEN.items() if re.search(pattern, source, re.IGNORECASE)}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parts[-3]}/{path.name}")
def test_a_template_compiles_and_holds_nothing_forbidden(path):
    # As the application makes it: what was compiled for one is there for the other (tests/conftest.py).
    PageTemplateFile(str(path)).cook_check()
    assert offences(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize(
    "source",
    [
        "<p>${structure: name}</p>",
        "<script>alert(1)</script>",
        '<script src="/x.js">var name = 1</script>',
        "<p style='color: red'>",
        "<style>p {}</style>",
        '<button onclick="go()">',
        '<a href="//elsewhere.example/">',
        '<img src="https://elsewhere.example/">',
        '<a href="javascript:go()">',
    ],
)
def test_the_rule_of_templates_can_fail(source):
    assert offences(source)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{path.parts[-3]}/{path.name}")
def test_a_template_is_indented_and_not_wider_than_the_code(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > COLUMNS or "\t" in line] == []
    assert any(line.startswith("  ") for line in lines)


def test_there_is_one_stylesheet_and_one_sprite():
    assert [path.name for path in PACKAGE.rglob("*.css")] == ["secretsvc.css"]
    assert sorted(path.name for path in PACKAGE.rglob("*.svg")) == ["icon.svg", "icons.svg"]
    assert {*PACKAGE.rglob("*.pt")} == {*TEMPLATES}


def test_every_symbol_that_a_page_shows_is_in_the_sprite():
    symbols = set(re.findall(r'symbol id="([^"]+)"', (PACKAGE / "web/static/icons.svg").read_text()))
    sources = [*TEMPLATES, *PACKAGE.rglob("*.py")]
    used = {
        name
        for path in sources
        for found in re.findall(PATTERN, path.read_text(encoding="utf-8"))
        for name in found
        if name
    }
    # Those of what stands beside a key elsewhere are in a table.
    used |= {symbol for symbol, _, _ in ELSEWHERE.values()}
    assert len(used) > 15
    assert used - symbols == set()


def test_no_field_takes_a_builtin_of_the_language_for_its_text():
    """What a macro is not given must not be found elsewhere: `help` and `type` are words of Python too."""
    macros = (PACKAGE / "web/templates/forms.pt").read_text(encoding="utf-8")
    optional = set(re.findall(r"\b(\w+) \|", macros))
    assert optional
    assert not optional & set(dir(builtins))
