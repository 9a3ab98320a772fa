"""The table of docs/contract-tests.md: the test files that name each section of the contract.

python tests/contract_sections.py > docs/contract-tests.md
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("tests", "client/tests")
NUMBER = r"\d+(?:\.\d+)?"
#: For instance `contract 3.15, 4.10` or `contract 5.2 to 5.6 and 5.9`.
NAMED = re.compile(rf"\bcontract ({NUMBER}(?:(?:, | and | to ){NUMBER})*)")
HEAD = """# Tests of each section of the contract

Before you change a rule of the contract, read the tests that name its section.
`python tests/contract_sections.py` prints this page.

| Section | Test files |
| --- | --- |
"""


def page() -> str:
    """Return the page in Markdown."""
    files = defaultdict(set)
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py")):
        for section in sections_of(path.read_text("utf-8")):
            files[section].add(path.relative_to(ROOT).as_posix())
    rows = (f"| {section} | {_links(files[section])} |" for section in sorted(files, key=_order))
    return HEAD + "\n".join(rows) + "\n"


def sections_of(text: str) -> Iterator[str]:
    """Yield each section that a text names; one more than once if it is named more than once."""
    for found in NAMED.finditer(text):
        for part in re.split(", | and ", found[1]):
            first, _, last = part.partition(" to ")
            yield from _range(first, last or first)


def _range(first: str, last: str) -> Iterator[str]:
    chapter, _, number = first.partition(".")
    if first == last:
        yield first
    else:
        yield from (f"{chapter}.{one}" for one in range(int(number), int(last.partition(".")[2]) + 1))


def _links(paths: set[str]) -> str:
    return ", ".join(f"[{Path(path).stem}](../{path})" for path in sorted(paths))


def _order(section: str) -> list[int]:
    return [int(number) for number in section.split(".")]


if __name__ == "__main__":
    print(page(), end="")
