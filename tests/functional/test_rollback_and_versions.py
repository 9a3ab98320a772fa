"""`secrets:rollback` and the history of a key (specification, "Secrets" 7; contract 2, 3.3)."""

from __future__ import annotations

from uuid import UUID

import pytest
from secrets_client import BOTH_SPELLINGS, Vault, overwrite, records, state, version_row

pytestmark = pytest.mark.both_engines


@BOTH_SPELLINGS
def test_the_history_is_newest_first_and_has_exactly_the_fields_of_the_contract(vault, service):
    vault.set(A="one")
    vault.batch(delete=["A"])
    answer = vault.get("secrets/A/versions").json
    assert set(answer) == {"key", "items"}
    assert answer["key"] == "A"
    root = str(service.identity_id("root@example.com"))
    first = version_row(service, "A", 1)
    assert answer["items"] == [
        {
            "version": 2,
            "kid": None,
            "deleted": True,
            "created_at": version_row(service, "A", 2)["created_at"],
            "created_by": root,
        },
        {
            "version": 1,
            "kid": first["kid"],
            "deleted": False,
            "created_at": first["created_at"],
            "created_by": root,
        },
    ]


def test_each_version_names_its_own_writer(vault, service):
    vault.set(A="one")
    service.grant("ada@example.com", "writer", "shop/prod")
    Vault(service.user("ada@example.com")).set(A="two")
    overwrite(service, "A", created_by=None)
    authors = [one["created_by"] for one in vault.versions("A")]
    assert authors == [str(service.identity_id("ada@example.com")), "system"]
    assert UUID(authors[0]).version == 7


def test_the_history_holds_no_value_and_reading_it_is_not_recorded(vault, service):
    vault.set(A="correct-horse")
    known = len(service.audit())
    assert "horse" not in vault.get("secrets/A/versions").text
    assert len(service.audit()) == known


@BOTH_SPELLINGS
def test_a_key_that_never_was_has_no_history(vault):
    vault.set(A="x")
    assert vault.get("secrets/B/versions", 404).json["code"] == "NOT_FOUND"
    assert vault.get("secrets/B-/versions", 422).json["issues"][0]["path"] == "key"
    assert vault.get("secrets/A/versions?limit=1", 422).json["issues"][0]["path"] == "limit"


@BOTH_SPELLINGS
def test_a_rollback_writes_the_old_content_as_a_new_version(vault, service):
    vault.batch(set={"A": "one", "B": "rest"}, descriptions={"A": "first"})
    vault.batch(set={"A": "two"}, descriptions={"A": "second"})
    answer = vault.rollback("A", 1)
    assert answer.json == {"rev": 3, "changes": [{"key": "A", "kind": "changed", "version": 3}]}
    assert vault.values() == {"A": "one", "B": "rest"}
    assert vault.listed()["A"]["description"] == "second"
    assert [one["version"] for one in vault.versions("A")] == [3, 2, 1]
    assert version_row(service, "A", 3)["envelope"] != version_row(service, "A", 1)["envelope"]


def test_a_rollback_to_the_current_version_is_a_version_too(vault):
    vault.set(A="one")
    assert vault.rollback("A", 1).json["changes"] == [{"key": "A", "kind": "changed", "version": 2}]
    assert vault.value("A") == "one"


def test_a_rollback_revives_a_deleted_key(vault):
    vault.batch(set={"A": "one"}, descriptions={"A": "was here"})
    vault.batch(delete=["A"])
    answer = vault.rollback("A", 1)
    assert answer.json == {"rev": 3, "changes": [{"key": "A", "kind": "added", "version": 3}]}
    assert vault.values() == {"A": "one"}


@BOTH_SPELLINGS
@pytest.mark.parametrize(("key", "version"), [("A", 2), ("A", 4), ("A", 2**53 - 1), ("NEVER", 1), ("B", 2)])
def test_there_is_no_rollback_to_a_tombstone_or_to_what_never_was(vault, service, key, version):
    vault.set(A="one", B="x")
    vault.batch(delete=["A"])
    vault.set(A="three")
    before, known = state(service), len(records(service))
    answer = vault.rollback(key, version, 404).json
    assert answer["code"] == "NOT_FOUND"
    assert set(answer) == {"code", "message", "request_id"}
    assert state(service) == before
    assert len(records(service)) == known


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"key": "A"}, "to_version"),
        ({"to_version": 1}, "key"),
        ({"key": "A", "to_version": "1"}, "to_version"),
        ({"key": "A", "to_version": 1.0}, "to_version"),
        ({"key": "A", "to_version": True}, "to_version"),
        ({"key": "A", "to_version": None}, "to_version"),
        ({"key": "A", "to_version": -1}, "to_version"),
        ({"key": "A", "to_version": 2**53}, "to_version"),
        ({"key": "A.", "to_version": 1}, "key"),
        ({"key": "A", "to_version": 1, "reason": "r" * 513}, "reason"),
        ({"key": "A", "to_version": 1, "expected_rev": 1}, "expected_rev"),
        ({"key": "A", "to_version": 1, "version": 1}, "version"),
    ],
)
def test_a_body_outside_the_schema_is_refused(vault, body, path):
    vault.set(A="one")
    assert [issue["path"] for issue in vault.post("rollback", body, 422).json["issues"]] == [path]
    assert vault.rev == 1


def test_the_reason_of_a_rollback_is_recorded(vault, service):
    vault.set(A="one")
    vault.rollback("A", 1, reason="the new one leaked")
    assert records(service)[-1]["reason"] == "the new one leaked"


def test_history_goes_with_its_environment(vault, admin, service):
    vault.set(A="one")
    admin.delete("/projects/shop/environments/prod")
    admin.post("/projects/shop/environments", {"slug": "prod", "name": "Prod"}, 201)
    assert vault.get("secrets/A/versions", 404).json["message"] == "Secret not found."
    assert state(service)[1:] == ([], [])
    assert vault.batch(set={"A": "x"}).json["changes"][0]["version"] == 1
