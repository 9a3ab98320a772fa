"""`POST …/secrets:copy`: what it writes (contract 5.4). Who may, what it leaves: test_copying_access.py."""

from __future__ import annotations

import pytest
from secrets_client import BOTH_SPELLINGS, Vault, records, state

pytestmark = pytest.mark.both_engines

DEV = "/projects/shop/environments/dev"
FROM_DEV = {"from": {"project": "shop", "environment": "dev"}}
FROM_PROD = {"from": {"project": "shop", "environment": "prod"}}


@pytest.fixture
def dev(vault):
    """The source."""
    return Vault(vault.client, DEV)


def copy(vault, status=200, **body):
    return vault.post("copy", FROM_DEV | body, status)


def changes(answer):
    return [(one["key"], one["kind"], one.get("version")) for one in answer.json["changes"]]


def paths(answer):
    return [issue["path"] for issue in answer.json["issues"]]


@BOTH_SPELLINGS
def test_merge_is_the_default_and_leaves_what_the_source_lacks(vault, dev):
    vault.set(MINE="mine", BOTH="old")
    dev.set(BOTH="new", THEIRS="theirs")
    answer = copy(vault)
    assert answer.json["rev"] == 2
    assert changes(answer) == [("BOTH", "changed", 2), ("THEIRS", "added", 1)]
    assert vault.values() == {"MINE": "mine", "BOTH": "new", "THEIRS": "theirs"}
    assert dev.values() == {"BOTH": "new", "THEIRS": "theirs"}
    assert dev.rev == 1


@BOTH_SPELLINGS
def test_replace_removes_what_the_source_lacks(vault, dev):
    vault.set(MINE="mine", BOTH="old")
    dev.set(BOTH="new", THEIRS="theirs")
    answer = copy(vault, mode="replace")
    assert changes(answer) == [("BOTH", "changed", 2), ("MINE", "removed", 2), ("THEIRS", "added", 1)]
    assert vault.values() == dev.values()


def test_replace_by_an_empty_environment_removes_everything(vault, dev):
    vault.set(A="x", B="y")
    assert changes(copy(vault, mode="replace")) == [("A", "removed", 2), ("B", "removed", 2)]


def test_replace_and_keys_are_422_together(vault, dev):
    dev.set(A="x")
    assert paths(copy(vault, 422, mode="replace", keys=["A"])) == ["keys"]
    assert vault.rev == 0


def test_only_the_keys_that_are_named_are_copied(vault, dev):
    dev.set(A="1", B="2", C="3")
    assert changes(copy(vault, keys=["C", "A"])) == [("A", "added", 1), ("C", "added", 1)]


def test_a_key_that_the_source_lacks_is_422_at_its_path(vault, dev):
    dev.set(A="1", GONE="2")
    dev.batch(delete=["GONE"])
    vault.set(MINE="x")
    assert paths(copy(vault, 422, keys=["A", "MINE", "GONE", "A", "NEVER"])) == ["keys.1", "keys.2", "keys.4"]
    assert vault.rev == 1


def test_an_empty_list_of_keys_is_422_at_keys(vault, dev):
    assert paths(copy(vault, 422, keys=[])) == ["keys"]
    assert paths(copy(vault, 422, keys=["no-key"])) == ["keys.0"]


def test_a_key_named_twice_counts_once(vault, dev):
    dev.set(A="1")
    assert changes(copy(vault, keys=["A", "A"])) == [("A", "added", 1)]


@BOTH_SPELLINGS
def test_existing_overwrite_is_the_default(vault, dev):
    vault.set(A="old")
    dev.set(A="new")
    assert changes(copy(vault, existing="overwrite", dry_run=True)) == [("A", "changed", None)]
    assert changes(copy(vault)) == [("A", "changed", 2)]


@BOTH_SPELLINGS
def test_existing_skip_leaves_every_key_that_is_there(vault, dev):
    vault.set(A="old", GONE="x")
    vault.batch(delete=["GONE"])
    dev.set(A="new", B="new", GONE="new")
    assert changes(copy(vault, existing="skip")) == [("B", "added", 1), ("GONE", "added", 3)]
    assert vault.value("A") == "old"


@BOTH_SPELLINGS
def test_existing_refuse_is_409_if_a_differing_value_would_be_overwritten(vault, dev, service):
    vault.set(A="old", SAME="same", UNTOUCHED="old")
    dev.set(A="new", SAME="same", B="new")
    before, known = state(service), len(service.audit())
    for dry_run in (False, True):
        assert copy(vault, 409, existing="refuse", dry_run=dry_run).json["code"] == "CONFLICT"
    assert state(service) == before
    assert len(service.audit()) == known
    assert changes(copy(vault, existing="refuse", keys=["SAME", "B"])) == [("B", "added", 1)]


def test_a_refusal_holds_no_value(vault, dev):
    vault.set(A="hunter2-old")
    dev.set(A="hunter2-new")
    assert "hunter2" not in copy(vault, 409, existing="refuse").text


@BOTH_SPELLINGS
def test_from_rev_takes_the_values_of_then(vault, dev):
    dev.set(A="one", GONE="x")
    dev.batch(mode="replace", set={"A": "two", "LATER": "y"})
    assert changes(copy(vault, from_rev=1)) == [("A", "added", 1), ("GONE", "added", 1)]
    assert vault.values() == {"A": "one", "GONE": "x"}
    assert changes(copy(vault, from_rev=0, mode="replace")) == [("A", "removed", 2), ("GONE", "removed", 2)]
    assert paths(copy(vault, 422, from_rev=1, keys=["LATER"])) == ["keys.0"]


@BOTH_SPELLINGS
def test_a_later_from_rev_is_404(vault, dev):
    dev.set(A="one")
    assert copy(vault, 404, from_rev=2).json["message"] == "Revision not found."
    assert copy(vault, 404, from_rev=2, dry_run=True).json["message"] == "Revision not found."


@BOTH_SPELLINGS
def test_values_that_are_equal_already_are_left_alone(vault, dev, service):
    vault.batch(set={"A": "x", "B": "old"}, descriptions={"A": "mine"})
    dev.batch(set={"A": "x", "B": "new"}, descriptions={"A": "theirs"})
    assert changes(copy(vault)) == [("B", "changed", 2)]
    assert vault.listed()["A"] | {"version": 1, "description": "mine"} == vault.listed()["A"]


@BOTH_SPELLINGS
def test_where_nothing_differs_nothing_is_written(vault, dev, service):
    vault.set(A="x", B="y")
    dev.set(A="x")
    before, known = state(service), len(service.audit())
    assert copy(vault, reason="none").json == {"rev": 1, "changes": []}
    assert copy(vault, from_rev=0).json == {"rev": 1, "changes": []}
    assert state(service) == before
    assert len(service.audit()) == known


@BOTH_SPELLINGS
def test_descriptions_go_along_with_what_is_written_null_too(vault, dev):
    vault.batch(set={"A": "old", "B": "old"}, descriptions={"A": "mine", "B": "mine"})
    dev.batch(set={"A": "new", "B": "new", "C": "new"}, descriptions={"A": "theirs", "C": "theirs"})
    copy(vault)
    found = {key: one["description"] for key, one in vault.listed().items()}
    assert found == {"A": "theirs", "B": None, "C": "theirs"}


def test_with_from_rev_they_are_todays_and_null_for_a_key_deleted_since(vault, dev):
    dev.batch(set={"A": "one", "GONE": "x"}, descriptions={"A": "then", "GONE": "then"})
    dev.batch(mode="replace", set={"A": "two"}, descriptions={"A": "today"})
    copy(vault, from_rev=1)
    found = {key: one["description"] for key, one in vault.listed().items()}
    assert found == {"A": "today", "GONE": None}


@BOTH_SPELLINGS
def test_within_one_environment_a_key_comes_back_with_the_description_that_it_had(vault):
    vault.batch(set={"A": "one", "GONE": "x"}, descriptions={"A": "then", "GONE": "had"})
    vault.batch(mode="replace", set={"A": "two"}, descriptions={"A": "today"})
    answer = vault.post("copy", FROM_PROD | {"from_rev": 1})
    assert changes(answer) == [("A", "changed", 3), ("GONE", "added", 3)]
    found = {key: one["description"] for key, one in vault.listed().items()}
    assert found == {"A": "today", "GONE": "had"}
    assert vault.values() == {"A": "one", "GONE": "x"}


@BOTH_SPELLINGS
def test_source_and_destination_the_same_is_422_unless_from_rev_is_given(vault):
    vault.set(A="one")
    vault.set(A="two")
    assert paths(vault.post("copy", FROM_PROD, 422)) == ["from"]
    assert paths(vault.post("copy", FROM_PROD | {"keys": ["A"], "mode": "replace"}, 422)) == ["from", "keys"]
    assert changes(vault.post("copy", FROM_PROD | {"from_rev": 1})) == [("A", "changed", 3)]
    assert vault.post("copy", FROM_PROD | {"from_rev": 3}).json == {"rev": 3, "changes": []}


def test_a_key_that_comes_back_goes_on_counting(vault, dev):
    vault.set(A="x")
    vault.batch(delete=["A"])
    dev.set(A="x")
    assert changes(copy(vault)) == [("A", "added", 3)]


@BOTH_SPELLINGS
def test_a_dry_run_tells_keys_and_kinds_and_writes_nothing(vault, dev, service):
    vault.set(A="old", MINE="x", SAME="s")
    dev.set(A="new", B="x", SAME="s")
    before, known = state(service), len(service.audit())
    answer = copy(vault, mode="replace", dry_run=True)
    assert answer.json == {
        "rev": 1,
        "dry_run": True,
        "changes": [
            {"key": "A", "kind": "changed"},
            {"key": "B", "kind": "added"},
            {"key": "MINE", "kind": "removed"},
        ],
    }
    assert state(service) == before
    assert len(service.audit()) == known


@BOTH_SPELLINGS
def test_expected_rev_is_held_to_the_destination(vault, dev, service):
    vault.set(A="old")
    dev.set(A="new")
    dev.set(B="new")
    before, known = state(service), len(records(service))
    for stale in (0, 2):
        for dry_run in (False, True):
            answer = copy(vault, 412, expected_rev=stale, dry_run=dry_run)
            assert answer.json["code"] == "PRECONDITION_FAILED"
    assert state(service) == before
    assert len(records(service)) == known
    assert copy(vault, expected_rev=1).json["rev"] == 2


@BOTH_SPELLINGS
@pytest.mark.parametrize("header", ["*", '"0"', 'W/"0"', '"1"', "nonsense", ""])
def test_if_match_is_400_on_copy_and_restore(vault, dev, service, header):
    dev.set(A="new")
    before = state(service)
    for verb, body in (("copy", FROM_DEV), ("restore", {"to_rev": 0})):
        answer = vault.post(verb, body, 400, headers={"If-Match": header})
        assert answer.json["code"] == "BAD_REQUEST"
    assert state(service) == before


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, ["from"]),
        ({"from": "dev"}, ["from"]),
        ({"from": None}, ["from"]),
        ({"from": {"project": "shop"}}, ["from.environment"]),
        ({"from": {"project": "Shop", "environment": "dev", "rev": 1}}, ["from.project", "from.rev"]),
        (FROM_DEV | {"mode": "overwrite"}, ["mode"]),
        (FROM_DEV | {"existing": "replace"}, ["existing"]),
        (FROM_DEV | {"from_rev": -1}, ["from_rev"]),
        (FROM_DEV | {"from_rev": "1"}, ["from_rev"]),
        (FROM_DEV | {"keys": "A"}, ["keys"]),
        (FROM_DEV | {"dry_run": 1}, ["dry_run"]),
        (FROM_DEV | {"set": {}}, ["set"]),
        (FROM_DEV | {"reason": "x" * 513}, ["reason"]),
    ],
)
def test_a_body_that_is_none_is_422_at_what_is_wrong(vault, body, at):
    assert paths(vault.post("copy", body, 422)) == at
