"""The record of every write: exactly one row, of names and numbers (contract 3.11)."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from secrets_client import (
    BOTH_SPELLINGS,
    CANONICAL,
    Vault,
    block_audit,
    block_commit,
    detail,
    digests,
    environment_ids,
    origins,
    records,
    state,
    version_row,
)

pytestmark = pytest.mark.both_engines


class Case(NamedTuple):
    """A write by one verb, the reason it gives, and the changes that it makes to A: one, B: two."""

    verb: str
    body: dict
    changes: list


def change(key, kind, version):
    return {"key": key, "kind": kind, "version": version}


CASES = [
    Case(
        "batch",
        {
            "mode": "replace",
            "set": {"C": "hunter2-three", "A": "hunter2-one"},
            "descriptions": {"C": "hunter2-description"},
            "reason": "a new provider",
        },
        [change("A", "changed", 2), change("B", "removed", 2), change("C", "added", 1)],
    ),
    Case(
        "import",
        {"format": "env", "mode": "merge", "content": "C=hunter2-three\nB=hunter2", "reason": "moving"},
        [change("B", "changed", 2), change("C", "added", 1)],
    ),
    Case(
        "import",
        {"format": "json", "mode": "replace", "content": '{"C": "hunter2"}'},
        [change("A", "removed", 2), change("B", "removed", 2), change("C", "added", 1)],
    ),
    Case("rename", {"from": "A", "to": "C"}, [change("A", "removed", 2), change("C", "added", 1)]),
    Case("rollback", {"key": "B", "to_version": 1, "reason": "broken"}, [change("B", "changed", 2)]),
]
every_write = pytest.mark.parametrize("case", CASES, ids=lambda case: case.verb)


@pytest.fixture
def vault(vault):
    """An environment with A and B."""
    vault.set(A="hunter2-one", B="hunter2-two")
    return vault


@BOTH_SPELLINGS
@every_write
def test_a_write_leaves_exactly_one_record(vault, service, case):
    known = len(service.audit())
    answer = vault.post(case.verb, case.body, headers={"X-Request-Id": "req_1.a-Z"})
    (row,) = service.audit()[known:]
    told = digests(service, **case.body["descriptions"]) if case.verb == "batch" else {}
    if case.verb in {"rename", "rollback"}:
        told = origins(service, **{one["key"]: one["version"] for one in case.changes[-1:]})
    assert dict(row) | {"detail": detail(row)} == {
        "id": row["id"],
        "created_at": version_row(service, case.changes[0]["key"], 2)["created_at"],
        "action": f"secret.{case.verb}",
        "outcome": "success",
        "identity_id": service.identity_id("root@example.com"),
        "actor_kind": "user",
        "actor_subject": "root@example.com",
        **environment_ids(service),
        "request_id": "req_1.a-Z",
        "client_address": None,
        "reason": case.body.get("reason"),
        "detail": {"rev": 2, "changes": case.changes, **told},
        "key": None,
        "given": None,
    }
    assert row["id"].version == 7
    also = {"expandable": []} if case.verb == "import" else {}
    assert answer.json == {"rev": 2, "changes": case.changes} | also
    assert answer.headers["X-Request-Id"] == "req_1.a-Z"
    assert "hunter2" not in str(dict(row))


def test_descriptions_are_recorded_by_digests_that_tell_nothing_without_the_master_key(vault, service):
    other = Vault(vault.client, CANONICAL.replace("prod", "dev"))
    vault.batch(set={"A": "x", "B": "x", "C": "x"}, descriptions={"A": "of shop", "B": "of shop"})
    vault.batch(set={"A": "y"}, descriptions={"A": None})
    vault.rename("B", "D")
    other.batch(set={"A": "x"}, descriptions={"A": "of shop"})
    first, cleared, renamed, elsewhere = (detail(row)["descriptions"] for row in records(service)[1:])
    assert first == digests(service, A="of shop", B="of shop")["descriptions"]
    assert cleared == {"kid": None, "digests": {"A": None}}
    assert renamed == digests(service, D="of shop")["descriptions"]
    same = [*first["digests"].values(), *renamed["digests"].values(), *elsewhere["digests"].values()]
    assert len({*same}) == 4
    assert all(len(digest) == 32 for digest in same)
    assert "of shop" not in str(records(service))


@every_write
@pytest.mark.parametrize("block", [block_audit, block_commit], ids=["insert", "commit"])
def test_a_write_that_cannot_be_recorded_does_not_happen(vault, service, case, block):
    block(service)
    before, known = state(service), service.audit()
    assert vault.post(case.verb, case.body, 500).json["code"] == "INTERNAL"
    assert state(service) == before
    assert service.audit() == known


@BOTH_SPELLINGS
def test_a_write_that_fails_leaves_no_record(vault, service):
    known = len(service.audit())
    vault.batch(422, set={"A": 1})
    vault.batch(412, set={"A": "x"}, expected_rev=7)
    vault.batch(413, set={"A": "x" * 65_537})
    vault.batch(400, set={"A": "x"}, headers={"If-Match": "1"})
    vault.load("no line of dotenv", 422)
    vault.load("A=x", 412, expected_rev=7)
    vault.rename("A", "B", 409)
    vault.rename("C", "D", 404)
    vault.rollback("A", 9, 404)
    assert len(service.audit()) == known
    assert vault.rev == 1


def test_a_write_that_changes_nothing_leaves_no_record(vault, service):
    known = len(service.audit())
    vault.batch(delete=["NEVER"])
    vault.load("# nothing but a comment")
    vault.load("C=x", dry_run=True)
    assert len(service.audit()) == known


def test_reads_of_values_and_writes_are_recorded_in_the_order_they_happened(vault, service):
    vault.get("secrets/A")
    vault.rename("A", "C")
    vault.get("secrets/C:reveal?reason=copy")
    vault.get("secrets:export?reason=run")
    rows = records(service)[1:]
    assert [(row["action"], row["reason"]) for row in rows] == [
        ("secret.reveal", "reveal"),
        ("secret.rename", None),
        ("secret.reveal", "copy"),
        ("secret.export", "run"),
    ]
    assert [detail(row) for row in rows] == [
        {"key": "A", "version": 1},
        {"rev": 2, "changes": [change("A", "removed", 2), change("C", "added", 1)]} | origins(service, C=1),
        {"key": "C", "version": 1},
        {"rev": 2, "count": 2},
    ]
    times = [row["created_at"] for row in rows]
    assert times == sorted(times)


def test_an_overlong_request_id_is_not_what_is_recorded(vault, service):
    answer = vault.get("secrets/A", headers={"X-Request-Id": "x" * 65})
    given = answer.headers["X-Request-Id"]
    assert given != "x" * 65
    assert records(service)[-1]["request_id"] == given
