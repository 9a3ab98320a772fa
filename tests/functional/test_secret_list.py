"""`GET …/secrets`: metadata of every secret, and no value (specification, "Secrets" 1; contract 2)."""

from __future__ import annotations

import pytest
from secrets_client import BOTH_SPELLINGS, Vault, records, version_row
from sqlalchemy import event, text

from secretsvc.db.engine import read_transaction

FIELDS = {"key", "version", "description", "kid", "created_at", "updated_at", "readable", "error"}


def test_an_empty_environment_lists_nothing_at_revision_zero(vault):
    answer = vault.get("secrets")
    assert answer.json == {"items": [], "rev": 0}
    assert answer.headers["ETag"] == '"0"'


@BOTH_SPELLINGS
def test_an_entry_has_exactly_the_fields_of_the_contract(vault, service):
    vault.batch(set={"A": "one"}, descriptions={"A": "the first"})
    listing = vault.get("secrets").json
    assert set(listing) == {"items", "rev"}
    (entry,) = listing["items"]
    assert set(entry) == FIELDS
    row = version_row(service, "A")
    assert entry == {
        "key": "A",
        "version": 1,
        "description": "the first",
        "kid": row["kid"],
        "created_at": row["created_at"],
        "updated_at": row["created_at"],
        "readable": True,
        "error": None,
    }


def test_no_value_is_listed(vault):
    vault.set(A="correct-horse-battery")
    assert "correct-horse" not in vault.get("secrets").text


def test_entries_are_sorted_by_the_code_points_of_their_keys(vault):
    vault.set(**dict.fromkeys(["b", "A", "_c", "a_", "aB", "a1", "Z", "a"], "x"))
    assert list(vault.listed()) == ["A", "Z", "_c", "a", "a1", "aB", "a_", "b"]


@BOTH_SPELLINGS
def test_the_etag_is_the_revision_in_quotes_and_strong(vault):
    for expected in (1, 2, 3):
        vault.set(A="x")
        answer = vault.get("secrets")
        assert answer.json["rev"] == expected
        assert answer.headers["ETag"] == f'"{expected}"'


def test_a_deleted_secret_is_not_listed(vault):
    vault.set(A="x", B="y")
    vault.batch(delete=["A"])
    assert list(vault.listed()) == ["B"]


def test_a_change_moves_the_version_and_the_time_of_update_only(vault, monkeypatch):
    vault.set(A="one")
    before = vault.listed()["A"]
    later = before["updated_at"] + 5_000
    monkeypatch.setattr("secretsvc.authorization.tweens.now_ms", lambda: later)
    vault.set(A="two")
    assert vault.listed()["A"] == before | {"version": 2, "updated_at": later}


def test_a_secret_that_comes_back_is_new_but_for_its_version(vault, monkeypatch):
    vault.batch(set={"A": "one"}, descriptions={"A": "old"})
    before = vault.listed()["A"]
    vault.batch(delete=["A"])
    later = before["updated_at"] + 5_000
    monkeypatch.setattr("secretsvc.authorization.tweens.now_ms", lambda: later)
    vault.set(A="two")
    again = before | {"version": 3, "description": None, "created_at": later, "updated_at": later}
    assert vault.listed()["A"] == again


LONG = "x" * 2000


def before(service, needle, act):
    """Does something before the first statement that holds the words; the list has what that gave."""
    meanwhile = []

    def between(_connection, _cursor, statement, *_rest):
        if not meanwhile and needle in " ".join(statement.split()):
            meanwhile.append(None)
            meanwhile[0] = act()

    event.listen(service.engine, "before_cursor_execute", between)
    return meanwhile


def write_before(service, needle):
    """Has A be changed, and B be set; the list has the revision."""
    return before(service, needle, lambda: Vault(service.user()).set(A=LONG + "2", B="two"))


#: What reads long envelopes by itself, behind the statement that finds an environment with its secrets.
LONG_ONES = "secret_version.secret_id, "


@pytest.mark.both_engines
def test_a_listing_is_of_the_revision_that_was_read_with_its_keys(vault, service):
    vault.set(A=LONG)
    meanwhile = write_before(service, LONG_ONES)
    shown = vault.get("secrets").json
    assert (shown["rev"], [(one["key"], one["version"]) for one in shown["items"]]) == (1, [("A", 1)])
    assert meanwhile == [2]
    assert vault.rev == 2


@pytest.mark.both_engines
def test_an_export_is_of_the_revision_that_was_read_with_its_keys(vault, service):
    vault.set(A=LONG)
    meanwhile = write_before(service, LONG_ONES)
    assert vault.values() == {"A": LONG}
    assert meanwhile == [2]
    assert vault.values() == {"A": LONG + "2", "B": "two"}


@pytest.mark.both_engines
def test_a_listing_whose_long_values_go_with_their_environment_is_of_none(vault, service):
    vault.set(A=LONG, B="short")
    meanwhile = before(service, LONG_ONES, lambda: service.execute("DELETE FROM secret_version"))
    assert vault.get("secrets", 404).json["code"] == "NOT_FOUND"
    assert meanwhile


@pytest.mark.both_engines
def test_an_export_whose_long_values_go_with_their_environment_is_of_none(vault, service):
    vault.set(A=LONG, B="short")
    meanwhile = before(service, LONG_ONES, lambda: service.execute("DELETE FROM secret_version"))
    assert vault.get("secrets:export", 404).json["code"] == "NOT_FOUND"
    assert meanwhile
    assert service.audit("secret.export") == []


def test_a_list_waits_for_no_request_that_keeps_its_connection(vault, service):
    vault.set(A="x")
    with read_transaction(service.engine) as slow:
        slow.execute(text("SELECT count(*) FROM secret"))
        assert vault.get("secrets").json["rev"] == 1


def test_a_list_is_not_recorded(vault, service):
    vault.set(A="x")
    before = len(service.audit())
    vault.get("secrets")
    assert len(service.audit()) == before


@pytest.mark.parametrize("query", ["?limit=1", "?reason=reveal", "?x=", "?format=json"])
def test_a_list_takes_no_parameters(vault, query):
    (issue,) = vault.get(f"secrets{query}", 422).json["issues"]
    assert issue == {"path": query[1:].partition("=")[0], "message": "Unknown field."}


@pytest.mark.parametrize("scope", ["global", "shop", "shop/prod"])
def test_a_reader_of_any_covering_scope_may_list(vault, service, scope):
    vault.set(A="x")
    service.grant("ada@example.com", "reader", scope)
    reader = Vault(service.user("ada@example.com"), vault.base)
    assert list(reader.listed()) == ["A"]


PATHS = (
    *("secrets", "secrets:export", "secrets/A", "secrets/A:reveal", "secrets/A/versions"),
    *("secrets?rev=1", "secrets:export?rev=1", "secrets/A?version=1", "secrets:deleted", "revisions"),
)


@BOTH_SPELLINGS
@pytest.mark.parametrize("scope", [None, "shop/dev"])
def test_an_environment_that_the_caller_cannot_see_is_like_none(vault, service, scope):
    vault.set(A="x")
    if scope:
        service.grant("ada@example.com", "reader", scope)
    stranger = Vault(service.user("ada@example.com"), vault.base)
    absent = Vault(stranger.client, vault.base.replace("prod", "nowhere"))
    known = len(records(service))
    for number, path in enumerate(PATHS, 1):
        invisible, missing = stranger.get(path, 404).json, absent.get(path, 404).json
        assert invisible.pop("request_id") != missing.pop("request_id")
        assert invisible == missing
        denials = service.denials()
        assert len(denials) == number
        assert denials[-1]["action"] == "authz.environment.reader"
        assert denials[-1]["project_id"] is None
        assert denials[-1]["environment_id"] is not None
    assert len(records(service)) == known
