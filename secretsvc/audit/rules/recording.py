"""Writing audit records: one function that every use case calls, inside its own transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import Connection, insert

from secretsvc.audit.models import audit_record
from secretsvc.db.prepared import Prepared
from secretsvc.kernel.actors import Actor
from secretsvc.kernel.call import Call
from secretsvc.kernel.ids import new_id

SUCCESS = "success"
DENIED = "denied"


def record(
    call: Call,
    action: str,
    *,
    project_id: UUID | None = None,
    environment_id: UUID | None = None,
    reason: str | None = None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Writes one success in the call's transaction: if this fails, so does what it tells of.

    `detail` holds names and numbers, never a value (contract 3.11).
    """
    write(
        call.connection,
        call.actor,
        call.now,
        call.request_id,
        action,
        project_id=project_id,
        environment_id=environment_id,
        reason=reason,
        detail=detail,
    )


def write(
    connection: Connection,
    actor: Actor,
    now: int,
    request_id: str,
    action: str,
    *,
    outcome: str = SUCCESS,
    project_id: UUID | None = None,
    environment_id: UUID | None = None,
    reason: str | None = None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Inserts one record, as the last of its transaction; `now` is in epoch milliseconds."""
    _INSERT.run_with_commit(
        connection,
        {
            "id": new_id(),
            "created_at": now,
            "action": action,
            "outcome": outcome,
            "identity_id": actor.identity_id,
            "actor_kind": actor.kind,
            "actor_subject": actor.subject,
            "project_id": project_id,
            "environment_id": environment_id,
            "request_id": request_id,
            "reason": reason,
            "detail": None if detail is None else orjson.dumps(detail).decode(),
        },
    )


_INSERT = Prepared(insert(audit_record))
