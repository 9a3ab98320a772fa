"""What became of the tests between two lists of `pytest --collect-only -q`.

    python tests/compare_ids.py before.txt after.txt

A test that has the same name and parameters in another file is moved. Those removed are told apart: of some
tests nothing is left, of others there are cases still, under other parameters. Exit 1 where one is removed.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path


def ids(path: str) -> list[str]:
    """The lines that name tests."""
    return [line for line in Path(path).read_text().splitlines() if "::" in line and not line.startswith(" ")]


def compare(before: list[str], after: list[str]) -> tuple[list[str], list[str], list[tuple[str, str]]]:
    """The removed, the added, and the moved with where they are now."""
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    arrived: dict[str, list[str]] = {}
    for one in new.elements():
        arrived.setdefault(one.partition("::")[2], []).append(one)
    removed, moved = [], []
    for one in gone.elements():
        paths = arrived.get(one.partition("::")[2])
        if paths:
            moved.append((one, paths.pop()))
        else:
            removed.append(one)
    added = [one for paths in arrived.values() for one in paths]
    return sorted(removed), sorted(added), sorted(moved)


def main() -> int:
    before, after = (ids(path) for path in sys.argv[1:])
    removed, added, moved = compare(before, after)
    print(f"{len(before)} before, {len(after)} after")
    left = {one.partition("[")[0] for one in after}
    for title, lines in (
        ("removed", [one for one in removed if one.partition("[")[0] not in left]),
        ("removed, with other cases left", [one for one in removed if one.partition("[")[0] in left]),
        ("added", added),
        ("moved", [f"{old} -> {new}" for old, new in moved]),
    ):
        print(f"{title}: {len(lines)}")
        for line in lines:
            print(f"  {line}")
    return 1 if removed else 0


if __name__ == "__main__":
    sys.exit(main())
