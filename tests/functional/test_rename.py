"""`POST …/secrets:rename` (specification, "Secrets" 6; contract 3.4)."""

from __future__ import annotations

import pytest
from secrets_client import BOTH_SPELLINGS, records, state, version_row

pytestmark = pytest.mark.both_engines


@BOTH_SPELLINGS
def test_a_renamed_secret_has_its_value_and_description_under_the_new_key_only(vault):
    vault.batch(set={"OLD": "one", "REST": "x"}, descriptions={"OLD": "the first"})
    vault.batch(set={"OLD": "two"})
    answer = vault.rename("OLD", "NEW")
    assert answer.json == {
        "rev": 3,
        "changes": [
            {"key": "NEW", "kind": "added", "version": 1},
            {"key": "OLD", "kind": "removed", "version": 3},
        ],
    }
    assert vault.values() == {"NEW": "two", "REST": "x"}
    assert vault.listed()["NEW"]["description"] == "the first"
    assert vault.get("secrets/OLD", 404).json["code"] == "NOT_FOUND"


def test_changes_are_sorted_by_key_whichever_way_the_secret_goes(vault):
    vault.set(A="x")
    assert [change["key"] for change in vault.rename("A", "B").json["changes"]] == ["A", "B"]
    assert [change["key"] for change in vault.rename("B", "A").json["changes"]] == ["A", "B"]


def test_the_value_is_sealed_anew_for_its_new_key(vault, service):
    vault.set(OLD="one")
    vault.rename("OLD", "NEW")
    assert version_row(service, "NEW")["envelope"] != version_row(service, "OLD")["envelope"]
    assert vault.listed()["NEW"]["readable"] is True


def test_the_old_key_keeps_its_history_and_a_tombstone(vault):
    vault.set(OLD="one")
    vault.set(OLD="two")
    vault.rename("OLD", "NEW")
    assert [(one["version"], one["deleted"]) for one in vault.versions("OLD")] == [
        (3, True),
        (2, False),
        (1, False),
    ]
    assert [one["version"] for one in vault.versions("NEW")] == [1]
    vault.rollback("OLD", 1)
    assert vault.values() == {"NEW": "two", "OLD": "one"}


def test_a_target_that_lived_before_goes_on_counting_and_takes_the_new_description(vault):
    vault.batch(set={"A": "one", "B": "two"}, descriptions={"A": "of a", "B": "of b"})
    vault.batch(delete=["B"])
    assert vault.rename("A", "B").json["changes"] == [
        {"key": "A", "kind": "removed", "version": 2},
        {"key": "B", "kind": "added", "version": 3},
    ]
    assert vault.value("B") == "one"
    assert vault.listed()["B"]["description"] == "of a"


def test_a_secret_may_go_there_and_back(vault):
    vault.set(A="one")
    vault.rename("A", "B")
    vault.rename("B", "A")
    assert vault.values() == {"A": "one"}
    assert vault.listed()["A"]["version"] == 3


def test_case_makes_another_key(vault):
    vault.set(key="one")
    vault.rename("key", "KEY")
    assert vault.values() == {"KEY": "one"}


@BOTH_SPELLINGS
@pytest.mark.parametrize(
    ("source", "target", "status", "code"),
    [
        ("NEVER", "NEW", 404, "NOT_FOUND"),
        ("GONE", "NEW", 404, "NOT_FOUND"),
        ("NEVER", "B", 404, "NOT_FOUND"),
        ("A", "B", 409, "CONFLICT"),
    ],
)
def test_a_rename_that_cannot_be_changes_nothing_and_is_not_recorded(
    vault, service, source, target, status, code
):
    vault.set(A="one", B="two", GONE="x")
    vault.batch(delete=["GONE"])
    before, known = state(service), len(records(service))
    answer = vault.rename(source, target, status).json
    assert answer["code"] == code
    assert answer["message"] == ("Secret not found." if status == 404 else "The new key is taken.")
    assert source not in answer["message"].split()
    assert state(service) == before
    assert len(records(service)) == known


@pytest.mark.parametrize("key", ["A", "NEVER"])
def test_a_key_cannot_be_renamed_to_itself(vault, service, key):
    vault.set(A="one")
    before = state(service)
    answer = vault.rename(key, key, 422).json
    assert answer["code"] == "VALIDATION_FAILED"
    assert [issue["path"] for issue in answer["issues"]] == ["to"]
    assert state(service) == before


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"from": "A"}, {"to"}),
        ({"to": "A"}, {"from"}),
        ({}, {"from", "to"}),
        ({"from": "A-", "to": "1B"}, {"from", "to"}),
        ({"from": None, "to": 1}, {"from", "to"}),
        ({"from": "A", "to": "B", "reason": 5}, {"reason"}),
        ({"from": "A", "to": "B", "expected_rev": 1}, {"expected_rev"}),
        ({"source": "A", "to": "B"}, {"source"}),
    ],
)
def test_a_body_outside_the_schema_is_refused(vault, body, paths):
    vault.set(A="one")
    issues = vault.post("rename", body, 422).json["issues"]
    assert paths <= {issue["path"] for issue in issues}
    assert vault.rev == 1
