"""The authorization check is the first step of each use case, not only of its route."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "secretsvc"
ASSERTIONS = {"assert_can", "assert_sees", "assert_admin_somewhere"}
EXCEPTIONS = {
    ("projects/domain", "list_projects"): "open to any identity; its visibility is scoped in the query",
    (
        "projects/domain",
        "visible_environments",
    ): "open to any identity; its visibility is scoped in the query",
    ("identity/domain", "who_am_i"): "open to any identity; it tells the caller of itself alone",
    ("home/domain/attention", "missing"): "open to any identity; narrowed in the query to where it writes",
    ("home/domain/attention", "unreadable"): "open to any identity; narrowed in the query to where it writes",
    ("home/domain/page_search", "find_scopes"): "open to any identity; its visibility is scoped in the query",
    (
        "home/domain/recent_usage",
        "recently_used",
    ): "open to any identity; narrowed in the query to what it sees",
    ("home/domain/overview", "overview"): "open to any identity; its visibility is scoped in the query",
    ("home/domain/search", "search"): "open to any identity; its visibility is scoped in the query",
    (
        "secrets/domain/sidebar_project",
        "find_sidebar_project",
    ): "open to any identity; its visibility is scoped in the query",
    (
        "access/domain/role_map",
        "own_roles",
    ): "open to any identity; it tells the caller of itself alone",
}
DOMAINS = {
    str(path.relative_to(PACKAGE).with_suffix("")): path.read_text(encoding="utf-8")
    for path in (*PACKAGE.glob("*/domain.py"), *PACKAGE.glob("*/domain/*.py"))
}


def use_cases(source: str) -> dict[str, bool]:
    """The public functions of a source, and whether each asserts a role first."""
    return {
        node.name: asserts_first(node)
        for node in ast.parse(source).body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.name.startswith("_")
    }


def asserts_first(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    match body[0] if body else None:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name in ASSERTIONS
    return False


@pytest.mark.parametrize("module", DOMAINS)
def test_every_use_case_asserts_a_role_first_or_is_listed_with_its_reason(module):
    lax = {name for name, strict in use_cases(DOMAINS[module]).items() if not strict}
    assert lax == {name for listed, name in EXCEPTIONS if listed == module}


def test_the_exceptions_name_modules_that_exist():
    assert {module for module, _ in EXCEPTIONS} <= set(DOMAINS)


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "'''Says it.'''",
        "found = find(call)\n    assert_can(call, READER, at)",
        "if at:\n        assert_can(call, READER, at)",
        "found = assert_can(call, READER, at)",
        "assert assert_can",
        "recheck_by_id(call, at)",
    ],
)
def test_the_rule_of_assertions_can_fail(body):
    assert use_cases(f"def leak(call, at):\n    {body}\n") == {"leak": False}


def test_the_rule_of_assertions_lets_the_lawful_pass():
    source = "def fine(call, at):\n    '''Says it.'''\n    assert_can(call, READER, at)\n    return 1\n"
    assert use_cases(source + "def _private(call): return call\n") == {"fine": True}
