"""mypy sees what a view takes, how it is declared, and what of a struct is set: wrong is an error."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from architecture.parsed import nodes_of

from secretsvc.web.views import Declaration, Operation

pytestmark = pytest.mark.linter

ROOT = Path(__file__).parents[2]
#: Of twelve modules: what a view in it calls, with two arguments that are to change places.
SWAPPED = (
    ("access/api.py", "domain.update_grant(request.call, ", "context.id", "request.body_values"),
    ("auditlog/ui/page.py", "domain.browse_audit(", "request.call", "asked"),
    ("groups/api.py", "domain.list_members(", "request.call", "context.group_id"),
    ("groups/ui.py", "domain.update_group(request.call, ", "context.id", "changes"),
    ("identity/ui.py", "domain.list_identities(", "call", "window"),
    ("identity/api.py", "domain.update_identity(request.call, ", "context.id", "request.body_values"),
    ("projects/api.py", "domain.update_project(request.call, ", "context.address", "request.body_values"),
    ("projects/ui.py", "domain.get_project(", "request.call", "context.address"),
    ("secrets/api/secrets.py", "reads.reveal_secret(call, ", "at", "key"),
    ("secrets/api/copies.py", "domain.copy_secrets(", "request.call", "context.address"),
    ("secrets/ui/secret.py", "key_history.key_history(call, ", "at", "context.__name__"),
    ("tokens/api.py", "domain.list_tokens(", "request.call", "context.identity_id"),
)
#: Two keywords that no directive has, a view of other nodes, and an attribute that is set.
WRONG = (
    ("keyring/api.py", "summary=", "sumary="),
    ("keyring/ui.py", "rerender=", "rerendered="),
    ("secrets/api/secrets.py", "context=Secrets", "context=Secret"),
    ("projects/domain.py", "if not changes:", "found.name = ''\n    if not changes:"),
)

#: So many times may the package say `Any`, which hides what has changed places. Not to be raised.
ANY = 200


def count_any(source: str) -> int:
    """How often a module names `Any` in its code: neither where it imports it, nor in texts and comments."""
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes_of(source))


def alike(source: str) -> list[str]:
    """Use cases with two arguments of one type by position: mypy could not tell one from the other."""
    found = []
    for one in ast.parse(source).body:
        if isinstance(one, ast.FunctionDef) and not one.name.startswith("_"):
            types = [ast.unparse(argument.annotation) for argument in one.args.args if argument.annotation]
            if types[:1] == ["UseCaseContext"] and len({*types}) < len(types):
                found.append(one.name)
    return found


def replaced(folder: Path, module: str, before: str, after: str) -> str:
    """Where it was, as mypy names it."""
    path = folder / "secretsvc" / module
    source = path.read_text("utf-8")
    path.write_text(source.replace(before, after, 1), "utf-8")
    return f"secretsvc/{module}:{source[: source.index(before)].count(chr(10)) + 1}"


def mypy_errors(folder: Path) -> list[str]:
    """File and line of each error."""
    # What was found out of the modules that are as they were is kept from run to run: without it, all that
    # they import is read anew, which takes half a minute. What `make check` keeps is a beginning.
    kept = ROOT / ".pytest_cache" / "mypy"
    if not kept.exists() and (ROOT / ".mypy_cache").exists():
        shutil.copytree(ROOT / ".mypy_cache", kept)
    command = [sys.executable, "-m", "mypy", "--cache-dir", kept]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return re.findall(r"(?m)^(\S+:\d+): error:", done.stdout)


@pytest.mark.linter
def test_swapped_arguments_in_twelve_views_and_what_is_wrong_elsewhere_are_errors(tmp_path):
    shutil.copytree(ROOT / "secretsvc", tmp_path / "secretsvc", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    client = Path("client", "secretsvc_client")
    shutil.copytree(ROOT / client, tmp_path / client, ignore=shutil.ignore_patterns("__pycache__"))
    swapped = {
        replaced(tmp_path, module, f"{call}{first}, {second}", f"{call}{second}, {first}")
        for module, call, first, second in SWAPPED
    }
    wrong = {replaced(tmp_path, *planted).partition(":")[0] for planted in WRONG}
    found = set(mypy_errors(tmp_path))
    assert len(swapped) == 12
    assert swapped <= found
    # Of a call over several lines, mypy names the first or that of the argument.
    assert {at.partition(":")[0] for at in found - swapped} == wrong


def test_the_directive_takes_each_field_of_an_operation():
    assert set(Declaration.__annotations__) == {field.name for field in fields(Operation)}


def test_the_package_says_any_fewer_than_two_hundred_times():
    found = {path: count_any(path.read_text("utf-8")) for path in (ROOT / "secretsvc").rglob("*.py")}
    assert sum(found.values()) < ANY, sorted(((number, str(path)) for path, number in found.items()))[-10:]


def test_the_count_of_any_bites():
    planted = "from typing import Any\n\nRow = dict[str, Any]  # not Any\n\n\ndef f(one: Any) -> Any: ...\n"
    assert count_any(planted) == 3
    assert count_any("Anything = Many = None") == 0


def test_no_two_arguments_of_a_use_case_can_change_places_unseen():
    domains = [path for path in (ROOT / "secretsvc").rglob("*.py") if "domain" in str(path)]
    assert domains
    assert {path.stem: names for path in domains if (names := alike(path.read_text("utf-8")))} == {}
    assert alike("def move(call: UseCaseContext, source: str, target: str): ...") == ["move"]
    assert alike("def move(call: UseCaseContext, *, source: str, target: str): ...") == []
