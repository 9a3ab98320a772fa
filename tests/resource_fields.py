"""The fields of each resource (contract 2), and rows that a test writes into the log itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from service import Service

from secretsvc.audit.models import audit_record
from secretsvc.kernel.ids import new_id

IDENTITY = {"id", "kind", "subject", "display_name", "disabled", "created_at", "last_seen_at"}
GRANT = {
    "id", "identity_id", "group_id", "scope_type", "project", "environment", "project_id", "environment_id",
    "role", "expires_at", "created_at", "created_by",
}  # fmt: skip
GROUP = {"id", "slug", "name", "description", "created_at", "updated_at"}
EFFECTIVE = {"identity", "items"}
ENTRY = {"scope_type", "project", "environment", "role", "sources"}
SOURCE = {"grant_id", "group", "role", "scope_type", "project", "environment", "expires_at", "decisive"}
UNKNOWN = {"subject", "kind", "denials", "first_denied_at", "last_denied_at"}
RECORD = {
    "id", "created_at", "action", "outcome", "actor", "project_id", "environment_id", "request_id",
    "client_address", "reason", "detail", "index",
}  # fmt: skip
ACTOR = {"identity_id", "kind", "subject"}


def paths(answer: Any) -> set[str]:
    """Where a 422 found issues."""
    return {issue["path"] for issue in answer.json["issues"]}


def log(service: Service, count: int = 1, ids: Iterable[UUID] | None = None, **columns: Any) -> list[UUID]:
    """Adds rows to the audit log, with new ids unless some are given; the ids, oldest first."""
    usual = {
        "created_at": 1,
        "action": "test.made",
        "outcome": "success",
        "identity_id": None,
        "actor_kind": "user",
        "actor_subject": "writer@example.com",
        "project_id": None,
        "environment_id": None,
        "request_id": "made-by-a-test",
        "reason": None,
        "detail": None,
    }
    rows = [usual | columns | {"id": one} for one in ids or (new_id() for _ in range(count))]
    service.execute(audit_record.insert(), rows)
    return [row["id"] for row in rows]
