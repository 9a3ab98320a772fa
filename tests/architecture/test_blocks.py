"""What a page shows in a block is run by a test; a page for operators may say above it why not."""

from __future__ import annotations

import re
from pathlib import Path

from architecture.test_documents import NAMED

ROOT = Path(__file__).parents[2]
OTHERS = ("audit.md", "scale.md", "settings.md", "guarantees.md", "threat-model.md")
PAGES = [*(ROOT / "docs" / name for name in OTHERS), *sorted((ROOT / "docs" / "operations").glob("*.md"))]
#: A block's language, behind what stands right above it.
BLOCK = re.compile(r"(?ms)^(?:<!-- not pasted: (.*?) -->\n)? *```(\w*)\n.*?^ *```$")
#: What tests read from a page: `bash` is held to its test in test_documents.py, these by their sections here.
READ = {"sql", "ini", "yaml", "python", "text"}
#: Pages whose blocks are recipes: a test runs each of them.
RECIPES = [page for name in ("use", "identity") for page in sorted((ROOT / "docs" / name).glob("*.md"))]
#: Recipes that a test finds otherwise than by page and language.
FOUND_OTHERWISE = {"use/promoting.md": {"bash"}} | {
    f"identity/{page.name}": {"sh", "json"} for page in RECIPES if page.parent.name == "identity"
}
#: Fewer is better.
NOT_PASTED = 7


def unmarked(page: str) -> list[str]:
    """The languages of blocks that are neither to be run nor say why not."""
    run = {"bash", *READ}
    return [language for reason, language in BLOCK.findall(page) if not reason and language not in run]


def test_a_block_that_is_not_run_says_why() -> None:
    found = {page.name: unmarked(page.read_text("utf-8")) for page in PAGES}
    assert {name: blocks for name, blocks in found.items() if blocks} == {}


def test_no_more_blocks_than_are_known_are_not_run() -> None:
    reasons = [reason for page in PAGES for reason, _ in BLOCK.findall(page.read_text("utf-8")) if reason]
    assert len(reasons) == NOT_PASTED
    # Such a block is held to what it names, if it cannot be run.
    assert [reason for reason in reasons if not NAMED.search(reason)] == []


def test_what_a_page_shows_in_another_language_is_read_by_a_test() -> None:
    tests = [path.read_text("utf-8") for path in ROOT.glob("tests/*/test_*.py")]
    for page in PAGES:
        shown = {language for _, language in BLOCK.findall(page.read_text("utf-8"))} & READ
        readers = "".join(text for text in tests if f'"{page.name}"' in text)
        assert {one for one in shown if f'"{one}"' not in readers and f"```{one}" not in readers} == set()


def without_test(name: str, text: str, tests: list[str]) -> set[str]:
    """Return the languages of a page of recipes that no test names together with the page."""
    shown = {language for _, language in BLOCK.findall(text)} - FOUND_OTHERWISE.get(name, set())
    readers = [test for test in tests if f'"{name}"' in test]
    return {one for one in shown if not one or not any(f'"{one}"' in test for test in readers)}


def test_each_recipe_is_run_by_a_test() -> None:
    files = [*ROOT.glob("tests/*/test_*.py"), *ROOT.glob("client/tests/*/test_*.py")]
    tests = [path.read_text("utf-8") for path in files]
    names = {f"{page.parent.name}/{page.name}": page.read_text("utf-8") for page in RECIPES}
    assert len(names) > 20
    found = {name: without_test(name, text, tests) for name, text in names.items()}
    assert {name: languages for name, languages in found.items() if languages} == {}


def test_the_rule_of_recipes_can_fail() -> None:
    page, test = "```sh\na\n```\n\n```\nb\n```\n\n```toml\nc\n```\n", 'blocks("use/a.md", "sh")'
    assert without_test("use/a.md", page, [test, '"toml"']) == {"", "toml"}
    assert without_test("use/promoting.md", "```bash\na\n```\n", []) == set()


def test_the_rule_of_blocks_can_fail() -> None:
    page = "```bash\na\n```\n\n```\nb\n```\n\n<!-- not pasted: shown -->\n```\nc\n```\n\n```json\nd\n```\n"
    assert unmarked(page) == ["", "json"]
