"""Documents that name tests: each name must be that of a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`((?:client/)?tests/[a-z_/]+\.py)::(test_\w+)`")
DOCUMENTS = [one for one in sorted(ROOT.glob("docs/**/*.md")) if NAMED.search(one.read_text("utf-8"))]
OPERATIONS = sorted(ROOT.glob("docs/operations/*.md"))
#: What is marked `bash` is run by a test; what cannot be run on any machine has no mark.
PASTED = [one for one in (ROOT / "docs" / "audit.md", *OPERATIONS) if "```bash\n" in one.read_text("utf-8")]
LINKED = [*OPERATIONS, *sorted(ROOT.glob("docs/*.md")), ROOT / "README.md"]
#: Pages of which each row is a promise.
PROMISING = ("guarantees.md", "threat-model.md")


def missing_from(text: str) -> list[str]:
    """The tests that a text names and that are not there."""
    return [
        f"{file}::{name}"
        for file, name in NAMED.findall(text)
        if not (ROOT / file).is_file() or f"def {name}(" not in (ROOT / file).read_text("utf-8")
    ]


def unproven(text: str) -> list[str]:
    """The rows of a text's tables that neither name a test nor say that there is no defence."""
    lines = text.splitlines()
    heads = {number - 1 for number, line in enumerate(lines) if line.startswith("| ---")}
    tables = [(number, line) for number, line in enumerate(lines) if line.startswith("| ")]
    rows = [line for number, line in tables if number not in heads and number - 1 not in heads]
    assert rows
    return [row for row in rows if not NAMED.search(row) and "no defence" not in row]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_that_a_document_names_exists(document: Path) -> None:
    assert missing_from(document.read_text("utf-8")) == []


@pytest.mark.parametrize("page", PROMISING)
def test_a_page_of_promises_names_a_test_for_each(page: str) -> None:
    assert unproven((ROOT / "docs" / page).read_text("utf-8")) == []


def without_test(text: str) -> list[str]:
    """The rows that name no test, of the tables whose last column is that of tests."""
    found, before, is_tested = [], "", False
    for line in text.splitlines():
        if line.startswith("| ---"):
            is_tested = before.endswith("| Test |")
        elif line.startswith("| ") and before.startswith("| ") and is_tested and not NAMED.search(line):
            found.append(line)
        before = line
    return found


@pytest.mark.parametrize("page", OPERATIONS, ids=lambda path: path.name)
def test_where_a_table_has_a_column_of_tests_each_row_names_one(page: Path) -> None:
    assert without_test(page.read_text("utf-8")) == []


def anchors_of(text: str) -> set[str]:
    """What a link may name of a page: its headings, as they are made into anchors."""
    heads = re.findall(r"(?m)^#+ (.*)$", re.sub(r"(?ms)^```.*?^```$", "", text))
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def lost_from(page: Path, text: str) -> list[str]:
    """The links of a text that lead to no file, or to no heading of a page."""
    found = []
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        if "://" in target or (there.exists() and (not anchor or there.suffix != ".md")):
            continue
        if not there.exists() or anchor not in anchors_of(there.read_text("utf-8")):
            found.append(target)
    return found


@pytest.mark.parametrize("page", LINKED, ids=lambda path: path.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    assert lost_from(page, page.read_text("utf-8")) == []


def test_the_rule_of_links_can_fail() -> None:
    text = "[a](docs/settings.md) [b](gone.md#x) [c](docs/operations/backup.md#sqlite) [d](README.md#gone)"
    assert lost_from(ROOT / "README.md", text) == ["gone.md#x", "README.md#gone"]


@pytest.mark.parametrize("page", PASTED, ids=lambda path: path.name)
def test_what_a_page_for_operators_has_to_be_pasted_is_pasted_by_a_test(page: Path) -> None:
    tests = (path.read_text("utf-8") for path in (ROOT / "tests").glob("*/test_*.py"))
    assert any("from doc_blocks import" in text and f'"{page.name}"' in text for text in tests)


def test_the_rule_of_promises_can_fail() -> None:
    here = "tests/architecture/test_documents.py"
    rows = (
        f"| What is kept | `{here}::test_the_rule_of_promises_can_fail` |\n"
        f"| Told | `{here}::test_that_is_gone` |"
    )
    text = f"| What | Test |\n| --- | --- |\n{rows}\n| What is bare | |\n"
    assert missing_from(text + "`client/tests/test_gone.py::test_x`") == [
        f"{here}::test_that_is_gone",
        "client/tests/test_gone.py::test_x",
    ]
    assert unproven(text) == ["| What is bare | |"]
    assert without_test(f"{text}\n| What |\n| --- |\n| a |\n") == ["| What is bare | |"]
