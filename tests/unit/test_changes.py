"""The table of a review: signs, kinds and versions, and values only where they were asked for."""

from __future__ import annotations

from secretsvc.secrets.queries.plan import PlannedChange
from secretsvc.secrets.ui.changes import ChangeRow, Side, change_rows, tally
from secretsvc.secrets.write.write import EditOutcome

WRITTEN = EditOutcome(
    7,
    [PlannedChange("A", "added", 1), PlannedChange("C", "changed", 3), PlannedChange("D", "removed", 2)],
    ["B"],
)


def test_rows_are_sorted_by_kind_and_say_what_happens_from_which_version_on():
    assert [(row.key, row.sign[0], row.what, row.versions) for row in change_rows(WRITTEN)] == [
        ("A", "+", "new", "v1"),
        ("C", "~", "new value", "v2 → v3"),
        ("B", "~", "description only", ""),
        ("D", "\u2212", "deleted, can be rolled back", "v1"),
    ]
    assert tally(change_rows(WRITTEN)) == "1 new, 1 changed, 1 described, 1 deleted"


def test_no_row_shows_its_values_in_its_representation():
    sides = (Side("Now", before="hidden-one"), Side("After", differing="hidden-two"))
    assert "hidden" not in repr(ChangeRow("A", "changed", 2, values=sides))
