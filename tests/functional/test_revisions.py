"""The revisions of an environment, and its deleted keys (contract 5.2 and 5.6)."""

from __future__ import annotations

import pytest
from pages import Browser, submit, words
from secrets_client import BOTH_SPELLINGS, CANONICAL, Vault, records

from secretsvc.secrets.models import revision
from secretsvc.secrets.queries import revision_changes as rules

pytestmark = pytest.mark.both_engines


def change(key, kind, version):
    return {"key": key, "kind": kind, "version": version}


@pytest.fixture
def vault(vault):
    """One revision of each kind of write of the API."""
    vault.batch(set={"A": "one", "B": "bee"}, descriptions={"A": "ay"}, reason="first")
    vault.load("A=two\nC=sea\n", reason="imported")
    vault.batch(delete=["B"])
    vault.post("rename", {"from": "C", "to": "D", "reason": "a better name"})
    vault.rollback("B", 1, reason="back again")
    return vault


def revisions(vault, query=""):
    return vault.get(f"revisions{query}").json


@BOTH_SPELLINGS
def test_revisions_are_listed_newest_first_with_what_each_write_did(vault, service):
    found = revisions(vault)
    assert (found["rev"], found["next_cursor"]) == (5, None)
    assert [(one["rev"], one["action"], one["reason"], one["changes"]) for one in found["items"]] == [
        (5, "secret.rollback", "back again", [change("B", "added", 3)]),
        (4, "secret.rename", "a better name", [change("C", "removed", 2), change("D", "added", 1)]),
        (3, "secret.batch", None, [change("B", "removed", 2)]),
        (2, "secret.import", "imported", [change("A", "changed", 2), change("C", "added", 1)]),
        (1, "secret.batch", "first", [change("A", "added", 1), change("B", "added", 1)]),
    ]
    assert all(
        set(one) == {"rev", "action", "reason", "created_at", "created_by", "changes"}
        for one in found["items"]
    )


def test_time_author_action_and_reason_are_those_of_the_audit_record(vault, service):
    rows = records(service)[::-1]
    items = revisions(vault)["items"]
    assert [(one["created_at"], one["created_by"], one["action"], one["reason"]) for one in items] == [
        (row["created_at"], str(row["identity_id"]), row["action"], row["reason"]) for row in rows
    ]


def test_changes_are_as_in_the_write_result(vault):
    for write in (
        lambda: vault.batch(mode="replace", set={"A": "x", "NEW": "y"}),
        lambda: vault.batch(set={"B": "b"}, delete=["A", "NEVER"]),
        lambda: vault.load("A=x\n", mode="replace"),
    ):
        result = write().json
        assert revisions(vault, "?limit=1")["items"][0]["changes"] == result["changes"]


def test_a_removed_keys_version_is_its_tombstones(vault):
    vault.batch(delete=["A"])
    [newest] = revisions(vault, "?limit=1")["items"]
    assert newest["changes"] == [change("A", "removed", 3)]
    assert [one["deleted"] for one in vault.versions("A")] == [True, False, False]


def test_changes_are_empty_where_only_descriptions_changed(vault, service):
    browser = Browser(service)
    page = browser.open(f"{CANONICAL}/secrets/A?describe")
    submit(page, "A/describe", description="another", reason="a note")
    [newest] = revisions(vault, "?limit=1")["items"]
    assert (newest["rev"], newest["action"], newest["reason"]) == (6, "secret.batch", "a note")
    assert newest["changes"] == []


def test_what_changes_nothing_or_fails_makes_no_revision(vault, service):
    vault.batch(delete=["NEVER"])
    vault.load("A=x", dry_run=True)
    vault.batch(412, set={"A": "x"}, expected_rev=1)
    vault.rename("A", "B", 409)
    assert service.count(revision) == revisions(vault)["rev"] == 5


@BOTH_SPELLINGS
def test_pages_of_revisions_hold_each_once(vault):
    found, cursor = [], ""
    for _ in range(3):
        page = revisions(vault, f"?limit=2{cursor}")
        found += [one["rev"] for one in page["items"]]
        cursor = f"&cursor={page['next_cursor']}"
        # What is written meanwhile moves nothing.
        vault.set(A="meanwhile")
    assert found == [5, 4, 3, 2, 1]
    assert page["next_cursor"] is None
    assert len(revisions(vault, "?limit=5")["items"]) == 5


@pytest.mark.both_engines
@pytest.mark.parametrize("bound", [1, 2, 3, 4])
def test_a_page_ends_before_its_changes_are_too_many_and_each_stands_once(vault, monkeypatch, bound):
    whole = revisions(vault)["items"]
    monkeypatch.setattr(rules, "MAX_CHANGES", bound)
    seen, cursor = [], ""
    while cursor is not None:
        page = revisions(vault, f"?cursor={cursor}" if cursor else "")
        changes = [len(one["changes"]) for one in page["items"]]
        assert sum(changes) <= bound or len(changes) == 1
        seen, cursor = seen + page["items"], page["next_cursor"]
    assert seen == whole


def test_50_are_a_page_unless_told_otherwise(vault):
    for number in range(50):
        vault.set(A=str(number))
    page = revisions(vault)
    assert (len(page["items"]), page["items"][-1]["rev"], page["rev"]) == (50, 6, 55)
    assert len(revisions(vault, f"?cursor={page['next_cursor']}")["items"]) == 5
    assert len(revisions(vault, "?limit=500")["items"]) == 55


@pytest.mark.parametrize("path", ["revisions", "secrets:deleted"])
@pytest.mark.parametrize(
    ("query", "issue"),
    [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=x", "limit"),
        ("cursor=", "cursor"),
        ("cursor=-", "cursor"),
        ("cursor=1&cursor=2", "cursor"),
        ("since=1", "since"),
    ],
)
def test_a_query_outside_its_schema_is_422(vault, path, query, issue):
    assert [one["path"] for one in vault.get(f"{path}?{query}", 422).json["issues"]] == [issue]


@BOTH_SPELLINGS
def test_an_environment_that_was_never_written_has_none(vault):
    empty = Vault(vault.client, vault.base.replace("prod", "dev"))
    assert revisions(empty) == {"rev": 0, "items": [], "next_cursor": None}
    assert empty.get("secrets:deleted").json == {"rev": 0, "items": [], "next_cursor": None}


def test_reading_them_is_not_audited(vault, service):
    known = len(service.audit())
    revisions(vault)
    vault.get("secrets:deleted")
    assert len(service.audit()) == known


def test_a_write_of_the_system_is_by_the_system(vault, service):
    service.execute("UPDATE revision SET created_by = NULL")
    service.execute("UPDATE secret_version SET created_by = NULL")
    assert {one["created_by"] for one in revisions(vault)["items"]} == {"system"}
    assert {one["deleted_by"] for one in vault.get("secrets:deleted").json["items"]} == {"system"}


def test_an_older_revision_of_which_nobody_noted_more_has_neither_action_nor_reason(vault, service):
    service.execute("UPDATE revision SET action = NULL, reason = NULL WHERE rev = 1")
    *_, first = revisions(vault)["items"]
    assert (first["rev"], first["action"], first["reason"]) == (1, None, None)
    assert first["changes"] == [change("A", "added", 1), change("B", "added", 1)]


@BOTH_SPELLINGS
def test_deleted_keys_are_sorted_with_the_last_version_that_has_a_value(vault, service):
    vault.batch(delete=["A", "D"])
    tombstones = {key: vault.versions(key)[0] for key in "ACD"}
    assert vault.get("secrets:deleted").json == {
        "rev": 6,
        "items": [
            {
                "key": key,
                "version": version,
                "deleted_at": tombstones[key]["created_at"],
                "deleted_by": tombstones[key]["created_by"],
            }
            for key, version in (("A", 2), ("C", 1), ("D", 1))
        ],
        "next_cursor": None,
    }
    assert vault.get("secrets/A?version=2").json["value"] == "two"


def test_a_key_that_is_there_again_is_not_among_the_deleted(vault):
    assert [one["key"] for one in vault.get("secrets:deleted").json["items"]] == ["C"]
    vault.set(C="again")
    assert vault.get("secrets:deleted").json["items"] == []


@BOTH_SPELLINGS
def test_50_deleted_keys_are_a_page_unless_told_otherwise(vault):
    keys = [f"GONE_{number:02}" for number in range(51)]
    vault.batch(mode="replace", set=dict.fromkeys(keys, "x"))
    vault.batch(delete=keys)
    page = vault.get("secrets:deleted?limit=500").json
    assert (len(page["items"]), page["next_cursor"]) == (55, None)
    page = vault.get("secrets:deleted").json
    assert len(page["items"]) == 50
    assert len(vault.get(f"secrets:deleted?cursor={page['next_cursor']}").json["items"]) == 5


def test_pages_of_deleted_keys_hold_each_once(vault):
    keys = ["K" * 256, *(f"K{number}" for number in range(4))]
    vault.batch(set=dict.fromkeys(keys, "x"))
    vault.batch(delete=keys)
    found, cursor = [], ""
    while cursor is not None:
        page = vault.get(f"secrets:deleted?limit=2{cursor and '&cursor=' + cursor}").json
        found += [one["key"] for one in page["items"]]
        cursor = page["next_cursor"]
    assert found == sorted([*keys, "C"])


def described(vault, key):
    return vault.listed()[key]["description"]


def test_a_key_that_comes_back_by_rollback_has_the_description_that_it_had_when_it_was_deleted(vault):
    assert described(vault, "A") == "ay"
    vault.batch(delete=["A"])
    vault.rollback("A", 1)
    assert (described(vault, "A"), vault.value("A")) == ("ay", "one")


@pytest.mark.parametrize("removal", ["delete", "replace", "import", "rename"])
def test_whatever_deletes_a_key_keeps_its_description_for_a_rollback(vault, removal):
    {
        "delete": lambda: vault.batch(delete=["A"], set={"X": "y"}, descriptions={"X": "ex"}),
        "replace": lambda: vault.batch(mode="replace", set={"D": "y", "N": "z"}, descriptions={"D": "dee"}),
        "import": lambda: vault.load("D=y\n", mode="replace"),
        "rename": lambda: vault.rename("A", "OTHER"),
    }[removal]()
    vault.rollback("A", 1)
    assert described(vault, "A") == "ay"


def test_a_rollback_of_a_key_that_lives_leaves_its_description(vault):
    vault.batch(set={"A": "x"}, descriptions={"A": "later"})
    vault.rollback("A", 1)
    assert described(vault, "A") == "later"


@pytest.mark.parametrize("write", ["batch", "described", "import"])
def test_a_key_that_is_written_anew_has_what_the_write_gives_it(vault, write):
    vault.batch(delete=["A"])
    {
        "batch": lambda: vault.set(A="x"),
        "described": lambda: vault.batch(set={"A": "x"}, descriptions={"A": "new"}),
        "import": lambda: vault.load("A=x\n"),
    }[write]()
    assert described(vault, "A") == ("new" if write == "described" else None)


def test_a_deleted_secrets_page_shows_no_description(vault, service):
    vault.batch(delete=["A"])
    page = Browser(service).open(f"{CANONICAL}/secrets/A")
    assert words(page, ".head p").startswith("Version ")
