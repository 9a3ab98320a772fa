"""The page of refusals has each reason that there is, and for each a test that makes it."""

from __future__ import annotations

import re
from pathlib import Path

from architecture.test_troubleshooting_docs import files, said_by

from secretsvc.kernel.rejections import RejectionReason

PAGE = (Path(__file__).parents[2] / "docs" / "operations" / "refusals.md").read_text("utf-8")
REASONS = {reason.value: reason.name for reason in RejectionReason}


def reasons_of(page: str) -> list[tuple[tuple[str, str], str]]:
    """What is refused and why, by the table of reasons, each with the cell of its tests."""
    found, refused = [], ""
    table = page.partition("| Refused | Reason |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        first, reasons, _, test = (cell.strip() for cell in line.strip("|").split(" | "))
        refused = first or refused
        found += [((refused, why), test) for why in re.findall(r"`([^`]+)`", reasons)]
    return found


def unmet(page: str, tests: dict[str, str]) -> list[str]:
    """The reasons of a page that no test which their row names has, be it by name or in words."""
    found = []
    for reason, test in reasons_of(page):
        said = said_by({"Test": test}, tests)
        if not re.search(rf'\bRejectionReason\.{REASONS[reason]}\b|[": ]{re.escape(reason[1])}[";]', said):
            found.append(reason[1])
    return found


def test_each_reason_has_its_row() -> None:
    assert sorted(reason for reason, _ in reasons_of(PAGE)) == sorted(REASONS)


def test_each_reason_is_made_by_a_test_that_its_row_names() -> None:
    assert unmet(PAGE, files()) == []


def test_the_rule_of_refusals_can_fail() -> None:
    rows = "| assertion | `absent`, `no kid` | x | `tests/a.py::test_a` |\n"
    rows += "| | `issuer` | x | `tests/a.py::test_b` |"
    page = f"| Refused | Reason | Most often | Test |\n| --- | --- | --- | --- |\n{rows}\n\nmore"
    both = "def test_a():\n    RejectionReason.ABSENT{}\n\ndef test_b():\n    {}\n"
    assert unmet(page, {"tests/a.py": both.format("", "RejectionReason.ISSUERS")}) == ["no kid", "issuer"]
    assert unmet(page, {"tests/a.py": both.format(", 'refused: no kid;'", '"issuer"')}) == []
