"""The audit table only grows, and the database itself sees to it (contract 3.13, 4.14)."""

from __future__ import annotations

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import DBAPIError

from secretsvc.audit.models import audit_key, audit_record

COLUMNS = "id, created_at, action, outcome, actor_subject, request_id"
COPY = "SELECT id, 1, 'forged', outcome, actor_subject, request_id FROM audit_record"
ON_BOTH = [
    "UPDATE audit_record SET action = 'forged'",
    "UPDATE audit_record SET detail = NULL WHERE action = 'identity.create'",
    "UPDATE audit_record SET id = id",
    "DELETE FROM audit_record",
    "DELETE FROM audit_record WHERE action = 'identity.create'",
    f"INSERT INTO audit_record ({COLUMNS}) {COPY}",
    f"INSERT INTO audit_record ({COLUMNS}) {COPY} WHERE true ON CONFLICT (id) DO UPDATE SET action = 'x'",
]
ON_SQLITE = [
    f"INSERT OR REPLACE INTO audit_record ({COLUMNS}) {COPY}",
    f"REPLACE INTO audit_record ({COLUMNS}) {COPY}",
    "UPDATE OR REPLACE audit_record SET action = 'forged'",
    "UPDATE OR REPLACE audit_record SET id = (SELECT max(id) FROM audit_record)",
    "UPDATE OR IGNORE audit_record SET action = 'forged'",
]
ON_POSTGRESQL = [
    "TRUNCATE audit_record",
    "TRUNCATE audit_record, project CASCADE",
    "MERGE INTO audit_record a USING audit_record b ON a.id = b.id WHEN MATCHED THEN DELETE",
    "WITH gone AS (DELETE FROM audit_record RETURNING id) SELECT count(*) FROM gone",
]
STATEMENTS = {"sqlite": ON_BOTH + ON_SQLITE, "postgresql": ON_BOTH + ON_POSTGRESQL}


def test_no_statement_changes_or_removes_a_record(service):
    service.user().get("/whoami")
    before = service.audit()
    assert len(before) == 2
    for statement in STATEMENTS[service.engine.name]:
        with pytest.raises(DBAPIError):
            service.execute(statement)
        assert service.audit() == before, statement


KEYS = "environment_id, key, record_id, created_at"
KEY_COPY = f"SELECT {KEYS} FROM audit_key"  # noqa: S608
KEYS_ON_BOTH = [
    "UPDATE audit_key SET given = 1",
    "DELETE FROM audit_key",
    f"INSERT INTO audit_key ({KEYS}) {KEY_COPY}",
    f"INSERT INTO audit_key ({KEYS}) {KEY_COPY} WHERE true"
    " ON CONFLICT (record_id, key) DO UPDATE SET given = 1",
]
KEY_STATEMENTS = {
    "sqlite": [*KEYS_ON_BOTH, f"INSERT OR REPLACE INTO audit_key ({KEYS}) {KEY_COPY}"],
    "postgresql": [*KEYS_ON_BOTH, "TRUNCATE audit_key"],
}


def test_no_statement_changes_or_removes_what_a_record_of_many_keys_names(vault, service):
    vault.set(A="x", B="x")
    vault.set(A="y", B="y")
    source = {"project": "shop", "environment": "prod"}
    vault.post("copy", {"from": source, "from_rev": 1, "keys": ["A", "B"]})
    before = service.rows(audit_key)
    assert [row["key"] for row in before] == ["A", "B"]
    for statement in KEY_STATEMENTS[service.engine.name]:
        with pytest.raises(DBAPIError):
            service.execute(statement)
        assert service.rows(audit_key) == before, statement


def test_records_can_be_added(service):
    service.user().get("/whoami")
    service.user("ada@example.com").get("/whoami")
    assert len(service.audit()) == 3


def test_a_record_outlives_what_it_tells_of(admin, service):
    made = admin.get("/projects/shop").json["id"]
    admin.delete("/projects/shop")
    kept = [row["action"] for row in service.audit() if str(row["project_id"]) == made]
    assert kept == ["project.create", "environment.create", "environment.create", "project.delete"]


def test_an_outcome_is_one_of_two(service):
    service.user().get("/whoami")
    [row, _] = service.audit()
    with pytest.raises(DBAPIError):
        service.execute(
            insert(audit_record), {**row, "id": service.identity_id("x@example.com"), "outcome": "maybe"}
        )
