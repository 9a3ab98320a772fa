"""Reads of values, one and all: shapes, reasons, and the record without which no value leaves."""

from __future__ import annotations

import io

import pytest
from dotenv import dotenv_values
from secrets_client import (
    BOTH_SPELLINGS,
    Vault,
    block_audit,
    block_commit,
    detail,
    environment_ids,
    records,
)
from service import Client

pytestmark = pytest.mark.both_engines

READS = ("secrets/A", "secrets/A:reveal", "secrets:export", "secrets:export?format=env")
REASONS = ("reveal", "copy", "export", "run")


@BOTH_SPELLINGS
@pytest.mark.parametrize("suffix", ["", ":reveal", "%3Areveal"])
def test_a_value_is_read_under_both_names_of_the_operation(vault, suffix):
    vault.set(A="one", B="two")
    assert vault.get(f"secrets/A{suffix}").json == {"key": "A", "value": "one"}


@pytest.mark.both_engines
@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "\n",
        "a\x00b",
        "\u00e9\u20ac\U0001f511",
        "\ufeffx",
        "a\r\nb",
        "\"\\'",
        "${HOME} $(id)",
        "\u2028",
    ],
    ids=ascii,
)
def test_a_value_comes_back_as_it_was_sent(vault, value):
    vault.set(A=value)
    assert vault.value("A") == value
    assert vault.values() == {"A": value}
    assert dotenv(vault.get("secrets:export?format=env").text) == {"A": value}


def dotenv(text):
    """What python-dotenv makes of an export, with no interpolation."""
    return dict(dotenv_values(stream=io.StringIO(text, newline=""), interpolate=False))


def test_the_current_version_is_read(vault):
    vault.set(A="one")
    vault.set(A="two")
    assert vault.value("A") == "two"
    assert vault.values() == {"A": "two"}


@BOTH_SPELLINGS
def test_an_absent_and_a_deleted_secret_are_answered_alike_and_not_named(vault, service):
    vault.set(GONE="x")
    vault.batch(delete=["GONE"])
    known = len(service.audit())
    answers = [vault.get(f"secrets/{key}", 404).json for key in ("GONE", "NEVER", "GONE:reveal")]
    for answer in answers:
        assert set(answer) == {"code", "message", "request_id"}
        assert answer["code"] == "NOT_FOUND"
        assert "GONE" not in answer["message"]
        assert "NEVER" not in answer["message"]
    assert len({answer["message"] for answer in answers}) == 1
    assert len(service.audit()) == known


@BOTH_SPELLINGS
@pytest.mark.parametrize(
    "key", ["1A", "A-B", "A.B", "%C3%84", "A%20", "A:bogus", "A" * 257, "A:reveal:reveal"]
)
def test_a_key_outside_its_grammar_is_an_invalid_parameter(vault, key):
    answer = vault.get(f"secrets/{key}", 422).json
    assert answer["code"] == "VALIDATION_FAILED"
    assert [issue["path"] for issue in answer["issues"]] == ["key"]


def test_a_key_of_256_characters_is_a_key(vault):
    vault.set(**{"K" * 256: "long"})
    assert vault.value("K" * 256) == "long"


@pytest.mark.parametrize("path", READS)
def test_the_reason_of_a_read_is_recorded(vault, service, path):
    rev = vault.set(A="one")
    reveals = "export" not in path
    for reason in (None, *REASONS):
        query = f"{'&' if '?' in path else '?'}reason={reason}" if reason else ""
        vault.get(path + query, headers={"X-Request-Id": "read-1"})
        row = records(service)[-1]
        assert row["action"] == ("secret.reveal" if reveals else "secret.export")
        assert row["reason"] == (reason or ("reveal" if reveals else "export"))
        assert (row["outcome"], row["request_id"]) == ("success", "read-1")
        assert detail(row) == ({"key": "A", "version": 1} if reveals else {"rev": rev, "count": 1})
        assert {name: row[name] for name in ("project_id", "environment_id")} == environment_ids(service)
        assert (row["actor_kind"], row["actor_subject"]) == ("user", "root@example.com")


@pytest.mark.parametrize(
    ("path", "issue"),
    [
        ("secrets/A?reason=", "reason"),
        ("secrets/A?reason=Reveal", "reason"),
        ("secrets/A?reason=other", "reason"),
        ("secrets/A?reason=run&reason=run", "reason"),
        ("secrets/A:reveal?reason=other", "reason"),
        ("secrets/A?format=env", "format"),
        ("secrets/A?reveal", "reveal"),
        ("secrets:export?reason=other", "reason"),
        ("secrets:export?format=yaml", "format"),
        ("secrets:export?format=env&format=env", "format"),
        ("secrets:export?keys=A", "keys"),
    ],
)
def test_a_query_outside_its_schema_reads_nothing(vault, service, path, issue):
    vault.set(A="one")
    known = len(records(service))
    assert [found["path"] for found in vault.get(path, 422).json["issues"]] == [issue]
    assert len(records(service)) == known


@BOTH_SPELLINGS
def test_an_export_holds_every_value_and_the_lists_own_etag(vault):
    vault.set(B="two", A="one", C="")
    vault.batch(delete=["C"])
    answer = vault.get("secrets:export")
    assert answer.json == {"rev": 2, "secrets": {"A": "one", "B": "two"}}
    assert list(answer.json["secrets"]) == ["A", "B"]
    assert answer.headers["ETag"] == vault.get("secrets").headers["ETag"] == '"2"'
    assert vault.get("secrets:export?format=json").json == answer.json


@BOTH_SPELLINGS
def test_an_export_as_dotenv_is_plain_text_in_utf_8(vault):
    vault.set(A="one", B="zwei \u00fc")
    answer = vault.get("secrets:export?format=env")
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["ETag"] == '"1"'
    assert dotenv(answer.body.decode()) == {"A": "one", "B": "zwei \u00fc"}


def test_an_empty_environment_exports_nothing(vault, service):
    assert vault.get("secrets:export").json == {"rev": 0, "secrets": {}}
    assert vault.get("secrets:export?format=env").body == b""
    assert [detail(row) for row in records(service)] == [{"rev": 0, "count": 0}] * 2


@pytest.mark.both_engines
@pytest.mark.parametrize("block", [block_audit, block_commit], ids=["insert", "commit"])
def test_a_value_that_cannot_be_recorded_does_not_leave(vault, service, block):
    vault.set(A="correct-horse-battery")
    known = len(records(service))
    block(service)
    for path in READS:
        answer = vault.get(path, 500)
        assert answer.json["code"] == "INTERNAL"
        assert answer.json["message"] == "An unexpected error occurred."
        assert "correct-horse" not in answer.text
        # The connection and the write lock are free again: what needs no record still works.
        assert vault.rev == 1
    assert len(records(service)) == known


def test_a_robot_with_a_readers_grant_reads_and_is_recorded_by_its_name(admin, service):
    Vault(admin).set(A="one")
    robot_id = service.identity_id("deploy.access", "service")
    service.grant(robot_id, "reader", "shop/prod")
    for path in READS:
        Vault(service.robot("deploy.access")).get(path)
        row = records(service)[-1]
        actor = (row["actor_kind"], row["actor_subject"], row["identity_id"])
        assert actor == ("service", "deploy.access", robot_id)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:81"}, 403),
        ({"Origin": "http://localhost:80"}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"}, 200),
        ({}, 200),
    ],
)
def test_values_are_not_served_to_other_sites(vault, service, headers, status):
    vault.set(A="one")
    for path in READS:
        known = len(records(service))
        answer = vault.get(path, status, headers=headers)
        assert len(records(service)) - known == (status == 200)
        if status == 403:
            assert answer.json["code"] == "FORBIDDEN"


def test_another_site_may_still_ask_for_what_holds_no_value(vault):
    vault.get("secrets", headers={"Sec-Fetch-Site": "cross-site"})


def test_no_representation_shows_a_value(vault, service, caplog):
    """Neither in the log nor, whatever goes wrong, in an answer."""
    vault.set(A="correct-horse-battery")
    block_audit(service)
    with caplog.at_level(0):
        vault.batch(500, set={"A": "staple-battery"})
        vault.get("secrets/A", 500)
        vault.get("secrets:export", 500)
    assert "horse" not in caplog.text
    assert "staple" not in caplog.text


def test_a_read_needs_an_assertion(vault):
    nobody = Vault(Client(vault.client.app.app, None))
    for path in READS:
        assert nobody.get(path, 401).json["code"] == "UNAUTHENTICATED"
