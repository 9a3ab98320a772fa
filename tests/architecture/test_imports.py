"""Imports keep the order of packages and of layers in `.importlinter`; each contract is seen to fail."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "secretsvc"
CLIENT = ROOT / "client"
INITS = sorted(PACKAGE.glob("*/__init__.py"))
#: Unlawful each by itself.
PLANTED = {
    "secretsvc.audit.rules.records": "from secretsvc.authorization.rules.checks import assert_can",
    "secretsvc.authorization.rules.last_admin": "from secretsvc.projects.rules import find_project",
    "secretsvc.authentication.jose": "from secretsvc.authorization.rules.snapshot import not_expired",
    "secretsvc.tables.projects": "from secretsvc.authorization.rules.snapshot import not_expired",
    "secretsvc.projects.rules": "def later():\n    from secretsvc.projects import domain",
    "secretsvc.secrets.queries.key_rows": "from ..domain import editing",
    "secretsvc.secrets.queries.plan": "import secretsvc.secrets.domain.editor",
    "secretsvc.access.rules.grants": "from secretsvc.web.errors import translate",
    "secretsvc.projects.domain": "from pyramid.response import Response",
    "secretsvc.identity.domain": "import colander",
    "secretsvc.projects.schemas": "from secretsvc.projects.rules import Project",
    "secretsvc.projects.api": "from secretsvc.tables.projects import project",
    "secretsvc.secrets.api.secrets": "from secretsvc.secrets.models import secret",
    "secretsvc.access.api": "from sqlalchemy import select",
    "secretsvc.kernel.use_case": "from secretsvc.db.session import Database",
    "secretsvc.kernel.clock": "import pyramid",
    "secretsvc.db.session": "from secretsvc.tables.identities import identity",
    "secretsvc.web.views": "from secretsvc.db.engine import connect",
    "secretsvc.web.pages.directives": "from secretsvc.authorization.rules.checks import assert_can",
    "secretsvc.web.forms": "from zope.sqlalchemy import mark_changed",
    "secretsvc.devproxy.page": "from secretsvc.authentication.assertions import Verifier",
    "secretsvc.registry": "from secretsvc.secrets.queries.rows import open_value",
}


def lint(folder: Path) -> str:
    """What the package in a folder does against the contracts; nothing where it keeps every one."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()"]
    config = ("--config", str(ROOT / ".importlinter"), "--no-cache")
    done = subprocess.run([*command, *config], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def copy_with(planted: Mapping[str, str], folder: Path) -> None:
    """A copy of the package that imports also this."""
    shutil.copytree(PACKAGE, folder / "secretsvc", ignore=shutil.ignore_patterns("__pycache__"))
    for module, source in planted.items():
        path = (folder / module.replace(".", "/")).with_suffix(".py")
        path.write_text(f"{path.read_text('utf-8')}\n{source}\n", "utf-8")


@pytest.mark.linter
def test_the_contracts_of_imports_are_kept():
    assert lint(ROOT) == ""


@pytest.mark.linter
def test_the_contracts_of_imports_bite(tmp_path):
    copy_with(PLANTED, tmp_path)
    said = lint(tmp_path)
    for module in PLANTED:
        assert f"{module} -> " in said, module


@pytest.mark.linter
def test_a_new_package_must_have_its_place_in_the_order(tmp_path):
    copy_with({}, tmp_path)
    (tmp_path / "secretsvc" / "helpers").mkdir()
    (tmp_path / "secretsvc" / "helpers" / "__init__.py").touch()
    assert "helpers" in lint(tmp_path)


@pytest.mark.linter
def test_a_new_layer_must_have_its_place_in_the_order(tmp_path):
    copy_with({}, tmp_path)
    (tmp_path / "secretsvc" / "projects" / "helpers.py").touch()
    assert "helpers" in lint(tmp_path)


@pytest.mark.linter
def test_a_cycle_within_a_layer_is_seen(tmp_path):
    copy_with({"secretsvc.secrets.write.apply_plan": "from secretsvc.secrets.write import write"}, tmp_path)
    assert "acyclic by removing 1 dependency:\n\n- .write -> .apply_plan" in lint(tmp_path)


def imported_by(source: str) -> list[str]:
    """What of this project a source imports."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom)) and "secretsvc" in ast.unparse(node)
    ]


@pytest.mark.parametrize("path", INITS, ids=lambda path: path.parent.name)
def test_what_includes_a_package_names_its_modules_by_dotted_strings(path):
    if path.parent.name != "devproxy":
        assert imported_by(path.read_text("utf-8")) == []


def test_the_rule_of_inclusion_can_fail():
    assert imported_by("from secretsvc.projects import api") == ["from secretsvc.projects import api"]
    assert imported_by("def includeme(config):\n    import secretsvc.db.engine") != []


def client_circle(sources: Mapping[str, str]) -> list[str]:
    """Return modules of the client that import each other in a circle, imports inside functions included."""
    graph: dict[str, set[str]] = {module: set() for module in sources}
    for module, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module:
                named = {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
                graph[module] |= named & graph.keys()
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_two_modules_of_the_client_import_each_other():
    files = {".".join(path.relative_to(CLIENT).with_suffix("").parts): path for path in CLIENT.rglob("*.py")}
    sources = {module: path.read_text("utf-8") for module, path in files.items()}
    assert "secretsvc_client.commands.run" in sources
    assert client_circle(sources) == []


def test_a_circle_in_the_client_is_found():
    sources = {"client.a": "from client import b", "client.b": "def f():\n    from client.a import c"}
    assert set(client_circle(sources)) == {*sources}
