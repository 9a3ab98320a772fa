"""Checks are silenced seldom, and never without a reason after it."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

pytestmark = pytest.mark.linter

ROOT = Path(__file__).parents[2]
PACKAGE, CLIENT = ROOT / "secretsvc", ROOT / "client" / "secretsvc_client"
FILES = sorted(PACKAGE.rglob("*.py"))
#: Lines of code for each comment that silences a check.
LINES = 1_000

SILENCING = re.compile(r"#\s*(?:type:\s*ignore|noqa|pylint:|mypy:|ruff:)", re.IGNORECASE)
REASONED = re.compile(
    r"# (?:type: ignore\[[a-z, -]+\]  # |noqa: [A-Z]+[0-9]+ - |pylint: disable=[a-z,-]+  # )\w"
)


def silencing(source: str) -> list[str]:
    """The comments that silence a check."""
    if not SILENCING.search(source):
        return []
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [
        token.string for token in tokens if token.type == tokenize.COMMENT and SILENCING.search(token.string)
    ]


def without_reason(source: str) -> list[str]:
    """Those of them that name no check, or give no reason."""
    return [comment for comment in silencing(source) if not REASONED.match(comment)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_silences_a_check_names_it_and_says_why(path):
    assert without_reason(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", sorted(CLIENT.rglob("*.py")), ids=lambda path: str(path.relative_to(CLIENT)))
def test_what_silences_a_check_of_the_client_names_it_and_says_why(path):
    assert without_reason(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("package", [PACKAGE, CLIENT], ids=["service", "client"])
def test_a_thousand_lines_silence_one_check_at_most(package):
    sources = [path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))]
    silenced = sum(len(silencing(source)) for source in sources)
    assert silenced * LINES <= sum(len(source.splitlines()) for source in sources)


@pytest.mark.parametrize(
    "comment",
    [
        "# type: ignore",
        "# type: ignore[misc]",
        "# type: ignore  # it has no types",
        "#type:ignore[misc]  # it has no types",
        "# noqa",
        "# noqa: S105",
        "# noqa - a message",
        "# pylint: disable=all",
        "# mypy: ignore-errors",
        "# ruff: noqa",
    ],
)
def test_the_rule_of_silenced_checks_can_fail(comment):
    assert without_reason(f"x = 1  {comment}\n") == [comment]


def test_the_rule_of_silenced_checks_lets_the_reasoned_pass_and_counts_them():
    reasoned = [
        "# type: ignore[misc]  # it has no types of its own",
        "# noqa: S105 - a message, not a password",
        "# pylint: disable=duplicate-code  # two tables",
    ]
    source = "".join(f"x = '# noqa'  {comment}\n" for comment in reasoned)
    assert without_reason(source) == []
    assert silencing(source) == reasoned
