"""Documents that name tests: each name must be that of a test that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.compile(r"`(tests/[a-z_/]+\.py)::(test_\w+)`")
DOCUMENTS = [one for one in sorted(ROOT.glob("docs/**/*.md")) if NAMED.search(one.read_text("utf-8"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_that_a_document_names_exists(document: Path) -> None:
    missing = [
        f"{file}::{name}"
        for file, name in NAMED.findall(document.read_text("utf-8"))
        if not (ROOT / file).is_file() or f"def {name}(" not in (ROOT / file).read_text("utf-8")
    ]
    assert not missing


def test_the_threat_model_names_a_test_for_every_claim() -> None:
    text = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
    claims = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    rows = [line for line in claims if not re.match(r"\| (What|Who) ", line)]
    assert rows
    assert [row for row in rows if not NAMED.search(row) and "no defence" not in row] == []
