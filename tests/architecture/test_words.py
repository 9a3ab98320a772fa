"""One word for one thing: names that were given up do not come back. Decisions have one form."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from token import NAME
from tokenize import generate_tokens

import pytest

ROOT = Path(__file__).parents[2]
#: Names that were given up, and words of a metaphor where the field has a term.
RETIRED = re.compile(
    r"\b(is_live|count_live|live_secrets|\w*snapshot\.live|places_of|is_listed|with_listing|remove_listed_grant|Listed"
    r"|outer_data|inner_data|[Cc]ompartments?|_[Ff]light|_fly|_land|_launch|_tend|_bite|Mode\.ONCE|reads_at_once"
    r"|run_last|execute_last|beside_sqlalchemy|take_turn|keeping_an_admin\w*|_?[Ww]ings?|[Ff]loors?|[Dd]oors?|rooms"
    r"|[Ss]tretch(es)?|count_denied_in_vain|in vain|Sheet|handed_on|settle\w*|absences|noise"
    r"|_?[Pp]atience|MOST|FEWEST|USUAL|KEPT|set_place|find_place|Places?|FoundPlaces?|PlaceEnvironment)\b"
)
#: `place` may be a verb or common English in prose; as a name it meant six things.
PLACE = re.compile(r"_?places?|\w+_places?|_?places?_\w+|\w*(?<![a-z])Places?\w*|(\w+_)?PLACES?(_\w+)?")
#: The same in templates and scripts, whose texts may speak of a place.
USED_PLACE = re.compile(r"\bplaces?\.\w|[{(]places?\b|\b(const|let) places?\b|\bplaces? ui\b")
#: The column of the table of master keys.
COLUMN = {"secrets/write/sealing.py", "keyring/rules.py"}
#: A benchmark's floor is a lower bound, tests have patience with a slow machine, and a secret of that name.
ALLOWED = {
    "Makefile": {"floor"},
    "benchmarks": {"floor", "Floor"},
    "docs/performance.md": {"floor"},
    "docs/decisions": {"floor"},
    "secretsvc/keyring/static/rekey.js": {"floor"},
    "tests": {"KEPT", "patience"},
    "client/tests": {"patience"},
}
FOLDERS = ("secretsvc", "client", "tests", "benchmarks", "demo", "deploy", "docs")
ENDINGS = {".py", ".pt", ".md", ".ini", ".toml", ".cfg", ".js", ".css"}
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in sorted([*ROOT.glob("*"), *(one for folder in FOLDERS for one in (ROOT / folder).rglob("*"))])
    if path.suffix in ENDINGS
    and path.name not in (Path(__file__).name, "CHANGELOG.md")
    and {"build", "dist", "node_modules"}.isdisjoint(path.relative_to(ROOT).parts)
}
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
FORM = ["- Status: ", "- Date: ", "## Context", "## Decision", "## Alternatives", "## Consequences"]


def retired_in(source: str, path: str = "") -> list[str]:
    allowed = {word for start, words in ALLOWED.items() if path.startswith(start) for word in words}
    return [found[0] for found in RETIRED.finditer(source) if found[0] not in allowed]


def named_place(source: str) -> list[str]:
    tokens = generate_tokens(StringIO(source).readline)
    names = [token.string for token in tokens if token.type == NAME]
    return [name for name in names if PLACE.fullmatch(name) and not name.startswith(("test_", "put_in_"))]


@pytest.mark.slow
def test_no_retired_word_comes_back():
    found = {path: retired_in(source, path) for path, source in SOURCES.items()}
    assert {path: words for path, words in found.items() if words} == {}


@pytest.mark.slow
def test_nothing_is_called_a_place():
    modules = {path: named_place(source) for path, source in SOURCES.items() if path.endswith(".py")}
    left = {path: {*names} for path, names in modules.items() if names}
    assert left == {f"secretsvc/{path}": {"place"} for path in COLUMN}
    others = [path for path in SOURCES if path.startswith("secretsvc/") and path.endswith((".pt", ".js"))]
    assert [path for path in others if USED_PLACE.search(SOURCES[path])] == []


def test_the_rule_of_words_can_fail():
    assert retired_in("Compartment of a wing, executed by run_last") == ["Compartment", "wing", "run_last"]
    assert retired_in("no floor but a benchmark's", "benchmarks/floor.py") == []
    assert named_place("# in place\nplace = at_place + Place()") == ["place", "at_place", "Place"]
    assert USED_PLACE.search('<p tal:define="place ui.place">${place.name}</p>')
    assert {Path(path).suffix for path in SOURCES} == ENDINGS


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


def listed_row(path: Path) -> str:
    """Return the beginning of a decision's row in the list: its number, title and the word of its status."""
    title, *lines = path.read_text("utf-8").splitlines()
    status = next(line for line in lines if line.startswith(FORM[0])).removeprefix(FORM[0])
    word = re.match(r"\w+", status)
    assert word
    return f"| [{path.name[:4]}]({path.name}) | {title.removeprefix('# ')} | {word[0].lower()}"


def test_the_list_of_decisions_has_each_title_and_status():
    listing = (DECISIONS[0].parent / "README.md").read_text("utf-8").splitlines()
    rows = [row for row in listing if row.startswith("| [")]
    assert len(rows) == len(DECISIONS)
    assert [
        row for row, path in zip(rows, DECISIONS, strict=True) if not row.startswith(listed_row(path))
    ] == []


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name[:4])
def test_a_decision_has_a_short_title(path):
    assert len(path.read_text("utf-8").splitlines()[0].removeprefix("# ")) <= 72
