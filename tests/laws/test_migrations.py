"""A migration that only adds does not raise the oldest release that may serve the schema."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

VERSIONS = sorted((Path(__file__).parents[2] / "alembic" / "versions").glob("*.py"))
#: From here on migrations tell which releases may serve the schema after them.
FIRST = "0010"
#: What older code may meet without harm, of what Alembic's operations are called.
EXPANDING = {
    "create_table",
    "add_column",
    "create_index",
    "batch_alter_table",
    "f",
    "get_bind",
    "get_context",
}


def operations(tree: ast.Module) -> set[str]:
    """What `upgrade` calls of `op`, or of a batch."""
    upgrade = next(one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "upgrade")
    return {
        node.func.attr
        for node in ast.walk(upgrade)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("op", "batch")
    }


def names_release(tree: ast.Module) -> bool:
    return any(
        isinstance(one, ast.Assign) and isinstance(target, ast.Name) and target.id == "oldest_release"
        for one in tree.body
        if isinstance(one, ast.Assign)
        for target in one.targets
    )


def is_wrong(source: str) -> bool:
    """Whether it raises the release though it only adds."""
    tree = ast.parse(source)
    return names_release(tree) and operations(tree) <= EXPANDING


def test_an_expand_migration_never_raises_the_oldest_release() -> None:
    later = [one for one in VERSIONS if one.name[:4] > FIRST]
    assert [one.name for one in later if is_wrong(one.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("body", "release", "wrong"),
    [
        ("op.add_column('a', 1)", True, True),
        ("op.add_column('a', 1)", False, False),
        ("op.drop_column('a', 'b')", True, False),
        ("op.create_table('a')\n    op.alter_column('a', 'b')", True, False),
    ],
)
def test_the_law_bites(body: str, release: bool, wrong: bool) -> None:
    named = "oldest_release = '0.2.0'\n" if release else ""
    assert is_wrong(f"{named}def upgrade():\n    {body}\n") is wrong
