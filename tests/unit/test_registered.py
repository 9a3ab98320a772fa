"""Which revisions in a database are those that an application with plugins was written for."""

from __future__ import annotations

import pytest

from secretsvc.db.model_registry import MigrationBranch, ModelRegistry
from secretsvc.db.schema import REVISION, SchemaRelease
from secretsvc.kernel.release import VERSION


def branch(label: str, head: str, *needs: str) -> MigrationBranch:
    return MigrationBranch(f"{label}:migrations", label, head, frozenset({head}), frozenset(needs))


NOTES, COLOURS = branch("notes", "a001", "0001"), branch("colours", "b001", "notes@head")
NEWEST = branch("newest", "c001", REVISION)


@pytest.mark.parametrize(
    ("branches", "found", "served"),
    [
        ([], {REVISION}, True),
        ([], set(), False),
        ([], {"0000"}, False),
        ([], {REVISION, "a001"}, False),
        ([NOTES], {REVISION, "a001"}, True),
        ([NOTES], {REVISION}, False),
        ([NOTES], {"a001"}, False),
        ([NOTES], {"9999", "a001"}, False),
        ([NOTES], {REVISION, "a002"}, False),
        # What another depends on has no row of its own.
        ([NEWEST], {"c001"}, True),
        ([NEWEST], {REVISION}, False),
        ([NEWEST], {"0000", "c001"}, False),
        ([NOTES, COLOURS], {REVISION, "b001"}, True),
        ([NOTES, COLOURS], {REVISION, "a001"}, False),
    ],
)
def test_a_schema_is_served_where_each_branch_is_at_its_newest(branches, found, served):
    models = ModelRegistry()
    for one in branches:
        models.add((), one)
    assert models.is_served(found, None) is served


def test_of_ours_a_newer_one_is_served_beside_a_plugins_where_it_is_recorded_for_this_release():
    newer = f"{int(REVISION) + 1:04}"
    models = ModelRegistry(
        branches=[MigrationBranch("a:migrations", "a", "a2", frozenset({"a1", "a2"}), frozenset())]
    )
    assert models.is_served([newer, "a2"], SchemaRelease(newer, VERSION))
    assert not models.is_served([newer, "a2"], SchemaRelease(newer, "99.0.0"))
    assert not models.is_served([newer, "a1"], SchemaRelease(newer, VERSION))
    assert not models.is_served([newer, "a2"], SchemaRelease(REVISION, VERSION))
