"""One word for one thing: names that were given up do not come back. Decisions have one form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RETIRED = re.compile(
    r"\b(is_live|count_live|\w*snapshot\.live|places_of|Places|is_listed|with_listing|Listed|outer_data|inner_data"
    r"|[Cc]ompartments?|_[Ff]light|_fly|_launch|_tend|_bite|Mode\.ONCE|reads_at_once|KEPT|run_last|execute_last"
    r"|beside_sqlalchemy|take_turn|keeping_an_admin\w*|_?[Ww]ings?|[Ff]loors?|[Dd]oors?|rooms|[Ss]tretch(es)?"
    r"|count_denied_in_vain|in vain|Sheet|handed_on|settle\w*|absences?|noise)\b"
)
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for ending in ("py", "pt")
    for package in ("secretsvc", "client/secretsvc_client")
    for path in sorted((ROOT / package).rglob(f"*.{ending}"))
}
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
FORM = ["- Status: ", "- Date: ", "## Context", "## Decision", "## Alternatives", "## Consequences"]


def retired_in(source: str) -> list[str]:
    return [found[0] for found in RETIRED.finditer(source)]


def test_no_retired_word_comes_back():
    assert {path: words for path, source in SOURCES.items() if (words := retired_in(source))} == {}


def test_the_law_of_words_bites():
    assert retired_in("Compartment of a wing, executed by run_last") == ["Compartment", "wing", "run_last"]


def test_the_numbers_of_decisions_have_no_gap():
    assert [path.name[:4] for path in DECISIONS] == [
        f"{number:04}" for number in range(1, len(DECISIONS) + 1)
    ]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name[:4])
def test_a_decision_has_its_status_date_alternatives_and_consequences(path):
    lines = path.read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith(tuple(FORM))] == [
        next(line for line in lines if line.startswith(part)) for part in FORM
    ]
