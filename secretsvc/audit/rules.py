"""Writing audit records: one function that every use case calls, inside its own transaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import Connection, insert, text

from secretsvc.audit.models import audit_record
from secretsvc.db.prepared import Prepared
from secretsvc.kernel.actors import Actor
from secretsvc.kernel.call import Call, Denial
from secretsvc.kernel.ids import new_id

SUCCESS = "success"
DENIED = "denied"
# One row would do, but requests that come at once would wait for each other there, as denials do not.
ABSENCES = 1024


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
    _INSERT.run_last(
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


def write_denials(connection: Connection, call: Call, denials: Iterable[Denial]) -> None:
    """Inserts the refusals that a call met (specification, "Events")."""
    for denial in denials:
        write(
            connection,
            call.actor,
            call.now,
            call.request_id,
            denial.action,
            outcome=DENIED,
            project_id=denial.project_id,
            environment_id=denial.environment_id,
        )


def write_absence(connection: Connection) -> None:
    """The like of a denial, where a caller without rights asked for a thing that does not exist.

    An invisible thing costs a durable denial; without as much work, the time of an answer would tell the
    absent from the invisible. It says nothing of who asked for what, and takes the place of an older one.
    """
    connection.execute(_ABSENCE, {"slot": secrets.randbelow(ABSENCES), "noise": str(new_id())})


_INSERT = Prepared(insert(audit_record))
# Not the same row again: SQLite does not even write what does not change.
_ABSENCE = text(
    "INSERT INTO absence (slot, noise) VALUES (:slot, :noise)"
    " ON CONFLICT (slot) DO UPDATE SET noise = excluded.noise"
)
