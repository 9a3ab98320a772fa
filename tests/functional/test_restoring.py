"""`POST …/secrets:restore` (contract 5.5)."""

from __future__ import annotations

import pytest
from envelopes import noted
from secrets_client import (
    BOTH_SPELLINGS,
    Vault,
    block_audit,
    detail,
    environment_ids,
    origins,
    records,
    state,
    tamper,
)

pytestmark = pytest.mark.both_engines


def restore(vault, to_rev, status=200, **body):
    return vault.post("restore", {"to_rev": to_rev, **body}, status)


def changes(answer):
    return [(one["key"], one["kind"], one.get("version")) for one in answer.json["changes"]]


def paths(answer):
    return [issue["path"] for issue in answer.json["issues"]]


@pytest.fixture
def past(vault):
    """An environment at revision 3: A changed, B deleted, C added since the first."""
    vault.batch(set={"A": "one", "B": "bee", "D": "same"}, descriptions={"A": "ay", "B": "had"})
    vault.set(A="two", C="sea")
    vault.batch(delete=["B"])
    return vault


@BOTH_SPELLINGS
def test_one_new_revision_has_the_keys_and_values_of_the_old_one(past):
    answer = restore(past, 1)
    assert answer.json["rev"] == 4
    assert changes(answer) == [("A", "changed", 3), ("B", "added", 3), ("C", "removed", 2)]
    assert past.values() == {"A": "one", "B": "bee", "D": "same"}
    assert past.versions("D")[0]["version"] == 1
    assert [one["version"] for one in past.versions("A")] == [3, 2, 1]


@BOTH_SPELLINGS
def test_0_empties(past):
    assert changes(restore(past, 0)) == [("A", "removed", 3), ("C", "removed", 2), ("D", "removed", 2)]
    assert past.values() == {}
    assert restore(past, 0).json == {"rev": 4, "changes": []}


def test_a_restore_that_cannot_be_recorded_is_not_made(past, service):
    before = state(service)
    block_audit(service)
    assert restore(past, 1, 500).json["code"] == "INTERNAL"
    assert state(service) == before


@BOTH_SPELLINGS
def test_a_later_revision_is_404(past):
    for dry_run in (False, True):
        assert restore(past, 4, 404, dry_run=dry_run).json["message"] == "Revision not found."


def test_limits_are_those_of_a_batch(past, service):
    before = state(service)
    small = service.restarted(ENV_MAX_SECRETS="2")
    assert restore(Vault(small.user(), past.base), 1, 413).json["code"] == "PAYLOAD_TOO_LARGE"
    assert restore(Vault(small.user(), past.base), 1, 413, dry_run=True).json["code"] == "PAYLOAD_TOO_LARGE"
    short = service.restarted(SECRET_MAX_BYTES="2")
    assert restore(Vault(short.user(), past.base), 1, 413).json["code"] == "PAYLOAD_TOO_LARGE"
    assert state(service) == before


@BOTH_SPELLINGS
def test_values_that_are_equal_already_are_left_alone(vault):
    vault.set(A="one", B="x")
    vault.set(A="two")
    vault.set(A="one")
    assert restore(vault, 1).json == {"rev": 3, "changes": []}
    vault.set(B="y")
    assert changes(restore(vault, 1)) == [("B", "changed", 3)]


@BOTH_SPELLINGS
def test_where_nothing_differs_there_is_no_revision(past, service):
    before, known = state(service), len(service.audit())
    assert restore(past, 3, reason="none").json == {"rev": 3, "changes": []}
    assert state(service) == before
    assert len(service.audit()) == known


def test_what_is_at_the_same_version_is_equal_opened_or_not(past, service, monkeypatch):
    tamper(service, "D")
    opened = noted(monkeypatch)
    assert changes(restore(past, 1)) == [("A", "changed", 3), ("B", "added", 3), ("C", "removed", 2)]
    assert sorted(opened) == [("A", 1), ("A", 2), ("B", 1)]


def test_any_other_envelope_that_cannot_be_opened_counts_as_differing(vault, service):
    vault.set(A="same")
    vault.set(A="same")
    tamper(service, "A", version=2)
    assert changes(restore(vault, 1, dry_run=True)) == [("A", "changed", None)]
    assert changes(restore(vault, 1)) == [("A", "changed", 3)]
    assert vault.values() == {"A": "same"}


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_envelope_that_would_be_written_anew_and_cannot_be_opened_fails_it_whole(past, service, dry_run):
    tamper(service, "A")
    before, known = state(service), len(service.audit())
    assert restore(past, 1, 500, dry_run=dry_run).json["code"] == "DECRYPT_FAILED"
    assert state(service) == before
    assert len(service.audit()) == known


@BOTH_SPELLINGS
def test_a_dry_run_tells_what_it_would_do_and_leaves_no_record(past, service):
    before, known = state(service), len(service.audit())
    answer = restore(past, 1, dry_run=True, reason="look")
    assert answer.json == {
        "rev": 3,
        "dry_run": True,
        "changes": [
            {"key": "A", "kind": "changed"},
            {"key": "B", "kind": "added"},
            {"key": "C", "kind": "removed"},
        ],
    }
    assert state(service) == before
    assert len(service.audit()) == known


@BOTH_SPELLINGS
def test_it_is_audited_once_with_to_rev(past, service):
    known = len(service.audit())
    answer = restore(past, 1, reason="a bad day").json
    (row,) = service.audit()[known:]
    assert (row["action"], row["outcome"], row["reason"]) == ("secret.restore", "success", "a bad day")
    assert {name: row[name] for name in environment_ids(service)} == environment_ids(service)
    written = {one["key"]: one["version"] for one in answer["changes"] if one["kind"] != "removed"}
    assert detail(row) == answer | {"to_rev": 1} | origins(service, **written)


def test_a_key_comes_back_with_the_description_that_it_had(past):
    restore(past, 1)
    found = {key: one["description"] for key, one in past.listed().items()}
    assert found == {"A": "ay", "B": "had", "D": None}


def test_a_description_that_was_changed_since_stays(vault):
    vault.batch(set={"A": "one"}, descriptions={"A": "then"})
    vault.batch(set={"A": "two"}, descriptions={"A": "today"})
    restore(vault, 1)
    assert vault.listed()["A"]["description"] == "today"


@BOTH_SPELLINGS
def test_expected_rev_is_evaluated(past, service):
    before = state(service)
    for dry_run in (False, True):
        restore(past, 1, 412, expected_rev=2, dry_run=dry_run)
    assert state(service) == before
    assert restore(past, 1, expected_rev=3).json["rev"] == 4


@BOTH_SPELLINGS
def test_a_writer_restores_and_a_reader_does_not(past, service):
    service.grant("ada@example.com", "reader", "shop/prod")
    service.grant("bob@example.com", "writer", "shop/prod")
    ada, bob, eve = (Vault(service.user(f"{name}@example.com"), past.base) for name in ("ada", "bob", "eve"))
    assert restore(ada, 1, 403).json["code"] == "FORBIDDEN"
    assert restore(eve, 1, 404).json["message"] == "Project not found."
    assert restore(bob, 1).json["rev"] == 4
    assert [row["action"] for row in service.denials()] == ["authz.environment.writer"] * 2


def test_a_restore_of_a_restore_is_where_it_began(past):
    before = past.values()
    restore(past, 1)
    restore(past, 3)
    assert past.values() == before
    assert past.rev == 5


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, ["to_rev"]),
        ({"to_rev": -1}, ["to_rev"]),
        ({"to_rev": "1"}, ["to_rev"]),
        ({"to_rev": 1.5}, ["to_rev"]),
        ({"to_rev": None}, ["to_rev"]),
        ({"to_rev": 2**53}, ["to_rev"]),
        ({"to_rev": 1, "keys": ["A"]}, ["keys"]),
        ({"to_rev": 1, "dry_run": "yes"}, ["dry_run"]),
    ],
)
def test_a_body_that_is_none_is_422_at_what_is_wrong(vault, body, at):
    assert paths(vault.post("restore", body, 422)) == at


def test_the_records_name_no_value(past, service):
    restore(past, 1)
    found = [row["detail"] for row in records(service)]
    assert not [one for one in found for value in ("sea", "same") if value in one]
