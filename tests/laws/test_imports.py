"""The law of imports: down a floor to any wing, or on the same floor to an earlier one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[2] / "secretsvc"

WINGS = ("identity", "audit", "access", "projects", "secrets", "keyring", "meta")
FLOORS = {
    "models": 1,
    "rules": 2,
    "admission": 2,
    "assertions": 2,
    "directory": 2,
    "explanation": 2,
    "grants": 2,
    "guard": 2,
    "holders": 2,
    "narrowing": 2,
    "denials": 2,
    "rows": 2,
    "jose": 2,
    "locating": 2,
    "jwks": 2,
    "key_source": 2,
    "remembering": 2,
    "roca": 2,
    "unverified": 2,
    "formats": 2,
    "sealing": 2,
    "verdict": 2,
    "known": 2,
    "planning": 2,
    "writing": 2,
    "domain": 3,
    "matrix_domain": 3,
    "editing_domain": 3,
    "group_domain": 3,
    "grant_domain": 3,
    "readers_domain": 3,
    "resources": 4,
    "schemas": 4,
    "viewer": 4,
    "api": 5,
    "group_api": 5,
    "ui": 5,
    "grant_ui": 5,
    "group_ui": 5,
    "identity_ui": 5,
    "place_ui": 5,
    "editing_ui": 5,
    "tweens": 5,
    "providers": 5,
    "policy": 5,
    "__init__": 6,
    "selection": 2,
    "activity": 2,
    "expiring_domain": 3,
    "search_domain": 3,
    "words": 4,
    "chart": 4,
}
#: Beside the wings: what each may import of the package apart from itself.
ROOMS = {
    "kernel": {"kernel"},
    "db": {"kernel"},
    "web": {"kernel"},
    "devproxy": {"kernel", "web"},
    "house": {"kernel", "db", "web"},
    "server": {"kernel", "db", "web", "house"},
    "commands": {"kernel", "db", "web", "house", *WINGS},
}
WEB_FRAMEWORK = {"pyramid", "pyramid_tm", "pyramid_chameleon", "webob", "colander", "chameleon", "waitress"}
DATABASE = {"sqlalchemy", "psycopg", "sqlite3", "alembic"}


class Place(NamedTuple):
    """The coordinates of a module; `room` is a wing or one of those beside them, whose floor is -1."""

    room: str
    floor: int

    @property
    def wing(self) -> int:
        return WINGS.index(self.room)

    @property
    def is_wing(self) -> bool:
        return self.room in WINGS


def place_of(module: str) -> Place | None:
    """Where a dotted name of the package is, None if the house has no such place."""
    parts = module.split(".")[1:]
    if not parts or parts == ["service"]:
        return Place("house", -1)
    if parts[0] in ROOMS and (parts[0] != "commands" or len(parts) == 1):
        return Place(parts[0], -1)
    floor = FLOORS.get(parts[1] if len(parts) > 1 else "__init__")
    return Place(parts[0], floor) if parts[0] in WINGS and floor is not None else None


def imported(module: str, source: str, modules: set[str]) -> Iterator[str]:
    """The dotted names that a source imports; of `from package import module` the module."""
    package = module.split(".") if module in {name.rpartition(".")[0] for name in modules} else None
    here = package or module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*here[: len(here) - node.level + 1], node.module or ""]) if node.level else ""
            origin = base.rstrip(".") or node.module or ""
            for alias in node.names:
                inner = f"{origin}.{alias.name}"
                yield inner if inner in modules or (node.level and not node.module) else origin


def offences(module: str, source: str, modules: set[str]) -> list[str]:
    """What a module imports against the law."""
    here = place_of(module)
    if here is None:
        return [f"{module} is on no floor"]
    found = []
    for target in sorted(set(imported(module, source, modules))):
        problem = problem_with(here, target)
        if problem:
            found.append(f"{module} imports {target}: {problem}")
    return found


def problem_with(here: Place, target: str) -> str | None:
    if target.split(".")[0] != "secretsvc":
        return foreign_problem(here, target)
    there = place_of(target)
    if there is None:
        return "it is on no floor"
    if not here.is_wing:
        allowed = there.room == here.room or there.room in ROOMS[here.room]
        return None if allowed else f"{here.room} does not know {there.room}"
    if here.floor == 6:
        return "a wing's door names its rooms by dotted strings"
    if not there.is_wing:
        known = {"kernel", "db", "web"} if here.floor >= 4 else {"kernel", "db"}
        return None if there.room in known else f"floor {here.floor} does not know {there.room}"
    if here.floor == 4 and there.floor < 4:
        return "addresses and schemas know neither SQL nor use cases"
    if here.floor == 5 and there.floor == 1:
        return "views know no tables"
    lawful = there.floor < here.floor or (there.floor == here.floor and there.wing <= here.wing)
    return None if lawful else "neither down a floor nor to an earlier wing"


def foreign_problem(here: Place, target: str) -> str | None:
    top = "sqlalchemy" if target.startswith("zope.sqlalchemy") else target.split(".")[0]
    low = here.room in ("kernel", "db") or (here.is_wing and here.floor <= 3)
    high = here.room == "web" or (here.is_wing and here.floor >= 4)
    if low and top in WEB_FRAMEWORK:
        return "nothing of the web below floor 4"
    if high and top in DATABASE:
        return "no database above floor 3"
    return None


def sources() -> dict[str, str]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = ["secretsvc", *path.relative_to(PACKAGE).with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path.read_text(encoding="utf-8")
    return found


SOURCES = sources()
MODULES = set(SOURCES)


@pytest.mark.parametrize("module", SOURCES)
def test_a_module_imports_only_downwards_or_from_earlier_wings(module):
    assert offences(module, SOURCES[module], MODULES) == []


def test_no_two_modules_need_each_other():
    graph = {
        module: {target for target in imported(module, source, MODULES) if target in MODULES} - {module}
        for module, source in SOURCES.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a cycle of imports: {error.args[1]}")


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("secretsvc.audit.rules", "from secretsvc.access.rules import assert_can"),
        ("secretsvc.access.rules", "from secretsvc.projects.rules import find_project"),
        ("secretsvc.projects.models", "from secretsvc.access.rules import is_live"),
        ("secretsvc.projects.rules", "from secretsvc.projects.domain import get_project"),
        ("secretsvc.projects.rules", "def later():\n    from secretsvc.projects import domain"),
        ("secretsvc.projects.rules", "from . import domain"),
        ("secretsvc.projects.rules", "from .domain import get_project"),
        ("secretsvc.projects.rules", "import secretsvc.projects.domain"),
        ("secretsvc.projects.rules", "from secretsvc.web.errors import STATUS"),
        ("secretsvc.projects.domain", "from pyramid.response import Response"),
        ("secretsvc.projects.domain", "import colander"),
        ("secretsvc.projects.schemas", "from secretsvc.projects.rules import Project"),
        ("secretsvc.projects.api", "from secretsvc.projects.models import project"),
        ("secretsvc.projects.api", "from sqlalchemy import select"),
        ("secretsvc.projects", "from secretsvc.projects import api"),
        ("secretsvc.projects.helpers", ""),
        ("secretsvc.kernel.call", "from secretsvc.db.session import Database"),
        ("secretsvc.kernel.call", "import pyramid"),
        ("secretsvc.db.session", "from secretsvc.identity.models import identity"),
        ("secretsvc.web.views", "from secretsvc.access.rules import assert_can"),
        ("secretsvc.web.views", "from secretsvc.db.engine import Mode"),
        ("secretsvc.web.views", "from zope.sqlalchemy import mark_changed"),
        ("secretsvc.devproxy", "from secretsvc.identity.assertions import Verifier"),
        ("secretsvc.service", "from secretsvc.secrets.rules import open_value"),
    ],
)
def test_the_law_of_imports_bites(module, source):
    assert offences(module, source, MODULES)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("secretsvc.access.rules", "from secretsvc.projects.models import project"),
        ("secretsvc.projects.rules", "from secretsvc.access.rules import confirm"),
        ("secretsvc.identity.tweens", "from secretsvc.access.admission import Admission"),
        ("secretsvc.projects.api", "from secretsvc.projects import domain, schemas"),
        ("secretsvc.projects.api", "from pyramid.response import Response"),
        ("secretsvc.projects.rules", "from sqlalchemy import select"),
    ],
)
def test_the_law_of_imports_lets_the_lawful_pass(module, source):
    assert offences(module, source, MODULES) == []
