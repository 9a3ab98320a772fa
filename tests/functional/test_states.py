"""Older states of an environment and older versions of a key (contract 5.1)."""

from __future__ import annotations

import pytest
from rotation import adopt, rotated
from secrets_client import (
    BOTH_SPELLINGS,
    PLAINTEXT_HEADERS,
    Vault,
    detail,
    environment_ids,
    overwrite,
    records,
    tamper,
    version_row,
)

pytestmark = pytest.mark.both_engines

VALUES = {
    1: {"A": "one", "B": "bee"},
    2: {"A": "two", "B": "bee"},
    3: {"B": "bee"},
    4: {"A": "four", "B": "bee"},
}
UNKNOWN = "f" * 16


@pytest.fixture
def vault(vault):
    """Four revisions: A and B, another A, no A, A again."""
    vault.batch(set={"A": "one", "B": "bee"}, descriptions={"A": "ay", "B": "bee's"})
    vault.set(A="two")
    vault.batch(delete=["A"])
    vault.set(A="four")
    return vault


def take_an_unknown_key(service, key, version):
    envelope = version_row(service, key, version)["envelope"]
    forged = envelope[:1] + bytes.fromhex(UNKNOWN) + envelope[9:]
    overwrite(service, key, version=version, kid=UNKNOWN, envelope=forged)


def at(vault, rev, status=200):
    return vault.get(f"secrets?rev={rev}", status)


@BOTH_SPELLINGS
def test_an_export_of_a_revision_is_that_of_then(vault):
    assert {rev: vault.get(f"secrets:export?rev={rev}").json["secrets"] for rev in VALUES} == VALUES
    assert vault.get("secrets:export?rev=2&format=env").text == "A=two\nB=bee\n"
    assert list(vault.get("secrets:export?rev=1").json["secrets"]) == ["A", "B"]


@BOTH_SPELLINGS
def test_a_list_of_a_revision_names_the_keys_and_versions_of_then_sorted(vault):
    listed = {rev: [(one["key"], one["version"]) for one in at(vault, rev).json["items"]] for rev in VALUES}
    assert listed == {
        1: [("A", 1), ("B", 1)],
        2: [("A", 2), ("B", 1)],
        3: [("B", 1)],
        4: [("A", 4), ("B", 1)],
    }


@BOTH_SPELLINGS
@pytest.mark.parametrize("path", ["secrets", "secrets:export"])
def test_the_number_of_the_revision_is_its_rev_and_etag(vault, path):
    for rev in (0, 2, 4):
        answer = vault.get(f"{path}?rev={rev}")
        assert (answer.json["rev"], answer.headers["ETag"]) == (rev, f'"{rev}"')


@BOTH_SPELLINGS
def test_revision_0_is_empty(vault):
    assert at(vault, 0).json == {"items": [], "rev": 0}
    assert vault.get("secrets:export?rev=0").json == {"rev": 0, "secrets": {}}
    assert vault.get("secrets:export?rev=0&format=env").text == ""


@BOTH_SPELLINGS
@pytest.mark.parametrize("path", ["secrets", "secrets:export"])
def test_a_later_revision_is_404(vault, service, path):
    known = len(service.audit())
    for rev in (5, 2**53 - 1):
        answer = vault.get(f"{path}?rev={rev}", 404).json
        assert (answer["code"], answer["message"]) == ("NOT_FOUND", "Revision not found.")
    assert len(service.audit()) == known


@pytest.mark.parametrize("path", ["secrets", "secrets:export"])
@pytest.mark.parametrize("rev", ["", "-1", "1.0", "x", "%2B1", str(2**53), "1&rev=1"])
def test_what_is_no_revision_is_422(vault, path, rev):
    assert [issue["path"] for issue in vault.get(f"{path}?rev={rev}", 422).json["issues"]] == ["rev"]


def test_version_and_updated_at_are_of_then_and_created_at_is_the_keys_first(vault, service):
    made = {version: version_row(service, "A", version)["created_at"] for version in (1, 2, 3, 4)}
    for number, version in enumerate((1, 2, 4)):
        overwrite(service, "A", version=version, created_at=made[version] + 1000 * number)
    firsts = {rev: at(vault, rev).json["items"][0] for rev in (1, 2, 4)}
    times = {rev: (one["version"], one["created_at"], one["updated_at"]) for rev, one in firsts.items()}
    assert times == {
        1: (1, made[1], made[1]),
        2: (2, made[1], made[2] + 1000),
        4: (4, made[1], made[4] + 2000),
    }


def test_the_description_is_todays_and_null_for_a_key_deleted_since(vault):
    assert [one["description"] for one in at(vault, 1).json["items"]] == [None, "bee's"]
    vault.batch(set={"A": "x"}, descriptions={"A": "anew"})
    assert [one["description"] for one in at(vault, 1).json["items"]] == ["anew", "bee's"]
    vault.batch(delete=["A", "B"])
    assert [one["description"] for one in at(vault, 1).json["items"]] == [None, None]


def test_a_state_of_the_present_revision_is_the_present_one(vault):
    vault.set(C="new")
    assert at(vault, 5).json["items"][1:] == vault.get("secrets").json["items"][1:]
    assert vault.get("secrets:export?rev=5").json == vault.get("secrets:export").json


def test_kid_readable_and_error_are_those_of_the_envelopes_as_they_are_now(vault, service):
    before = at(vault, 2).json["items"][0]
    assert (before["kid"], before["readable"], before["error"]) == (
        version_row(service, "A", 2)["kid"],
        True,
        None,
    )
    tamper(service, "A", version=2)
    take_an_unknown_key(service, "B", 1)
    found = [(one["kid"], one["readable"], one["error"]) for one in at(vault, 2).json["items"]]
    assert found == [(before["kid"], False, "DECRYPT_FAILED"), (UNKNOWN, False, "UNKNOWN_KID")]


@BOTH_SPELLINGS
def test_an_export_fails_whole_by_what_cannot_be_opened_of_its_own_revision_only(vault, service):
    tamper(service, "A", version=2)
    known = len(records(service))
    answer = vault.get("secrets:export?rev=2", 500)
    assert answer.json["code"] == "DECRYPT_FAILED"
    assert "bee" not in answer.text.replace(answer.json["request_id"], "")
    assert len(records(service)) == known
    assert vault.get("secrets:export?rev=1").json["secrets"] == VALUES[1]
    assert vault.get("secrets/A?version=2", 500).json["code"] == "DECRYPT_FAILED"
    take_an_unknown_key(service, "A", 1)
    assert vault.get("secrets:export?rev=1", 500).json["code"] == "UNKNOWN_KID"
    assert vault.get("secrets/A?version=1", 500).json["code"] == "UNKNOWN_KID"


@BOTH_SPELLINGS
@pytest.mark.parametrize("suffix", ["", ":reveal"])
def test_any_version_is_revealed_also_of_a_deleted_key(vault, suffix):
    def values():
        return [vault.get(f"secrets/A{suffix}?version={version}").json for version in (1, 2, 4)]

    expected = [{"key": "A", "value": value} for value in ("one", "two", "four")]
    assert values() == expected
    vault.batch(delete=["A"])
    assert values() == expected


@BOTH_SPELLINGS
@pytest.mark.parametrize("suffix", ["", ":reveal"])
def test_a_tombstone_or_a_missing_version_is_404(vault, service, suffix):
    known = len(service.audit())
    for key, version, message in (
        ("A", 3, "Version not found."),
        ("A", 5, "Version not found."),
        ("B", 2**53 - 1, "Version not found."),
        ("NEVER", 1, "Secret not found."),
    ):
        answer = vault.get(f"secrets/{key}{suffix}?version={version}", 404).json
        assert (answer["code"], answer["message"]) == ("NOT_FOUND", message)
    assert len(service.audit()) == known


@pytest.mark.parametrize("version", ["0", "", "-1", "x", "1.0", str(2**53)])
@pytest.mark.parametrize("suffix", ["", ":reveal"])
def test_version_0_and_what_is_no_version_is_422(vault, version, suffix):
    issues = vault.get(f"secrets/A{suffix}?version={version}", 422).json["issues"]
    assert [issue["path"] for issue in issues] == ["version"]


@BOTH_SPELLINGS
def test_they_are_audited_as_without_with_rev_or_version_in_detail(vault, service):
    for path, action, reason, told in (
        ("secrets:export?rev=2&reason=run", "secret.export", "run", {"rev": 2, "count": 2}),
        ("secrets:export?rev=0", "secret.export", "export", {"rev": 0, "count": 0}),
        ("secrets/A?version=1", "secret.reveal", "reveal", {"key": "A", "version": 1}),
        ("secrets/A:reveal?version=2&reason=copy", "secret.reveal", "copy", {"key": "A", "version": 2}),
    ):
        known = len(service.audit())
        vault.get(path)
        [row] = service.audit()[known:]
        assert (row["action"], row["reason"], detail(row)) == (action, reason, told)
        assert {name: row[name] for name in ("project_id", "environment_id")} == environment_ids(service)
    known = len(service.audit())
    at(vault, 2)
    assert len(service.audit()) == known


@BOTH_SPELLINGS
def test_values_of_older_states_carry_the_plaintext_headers(vault):
    for path in (
        "secrets:export?rev=1",
        "secrets:export?rev=99",
        "secrets/A?version=1",
        "secrets/A?version=9",
    ):
        headers = vault.get(path, "*").headers
        assert {name: headers[name] for name in PLAINTEXT_HEADERS} == PLAINTEXT_HEADERS


def test_a_reader_of_the_environment_may_do_all_of_this(vault, service):
    service.grant("ada@example.com", "reader", "shop/prod")
    ada = Vault(service.user("ada@example.com"), vault.base)
    for path in (
        "secrets?rev=1",
        "secrets:export?rev=1",
        "secrets/A?version=1",
        "revisions",
        "secrets:deleted",
    ):
        ada.get(path)


def test_states_are_read_while_a_rotation_goes_on_and_after_it(vault, service):
    now = rotated(service)
    adopt(now)
    admin = now.user()
    other = Vault(admin, vault.base)
    for _ in range(4):
        assert {rev: other.get(f"secrets:export?rev={rev}").json["secrets"] for rev in VALUES} == VALUES
        admin.post("/admin/rekey", {"limit": 1})
    assert admin.post("/admin/rekey", {"limit": 1}).json["remaining"] == 0
    kids = {one["kid"] for rev in VALUES for one in other.get(f"secrets?rev={rev}").json["items"]}
    assert kids == {now.app.registry.load_ring().active_kid}
    assert other.get("secrets/A?version=1").json["value"] == "one"


def test_whoever_does_not_ask_for_a_revision_gets_the_answers_of_before(vault):
    items = vault.get("secrets").json["items"]
    assert [one["version"] for one in items] == [4, 1]
    # Whoever comes back was not there before.
    assert items[0]["created_at"] == items[0]["updated_at"]
