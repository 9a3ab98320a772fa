"""docs/contract-tests.md lists the test files that name each section of the contract."""

from __future__ import annotations

from contract_sections import ROOT, page, sections_of


def test_the_page_is_as_the_tests_name_the_sections():
    assert (ROOT / "docs" / "contract-tests.md").read_text("utf-8") == page(), (
        "run: python tests/contract_sections.py > docs/contract-tests.md"
    )


def test_lists_and_ranges_of_sections_are_found():
    named = "(? 3.15, 4.10) and ? 5.2 to 5.4 and 5.9; ? 2, the table; no ? at all"
    text = named.replace("?", "contract")
    assert [*sections_of(text)] == ["3.15", "4.10", "5.2", "5.3", "5.4", "5.9", "2"]
