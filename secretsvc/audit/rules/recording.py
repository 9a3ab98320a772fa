"""Writing audit records: one function that every use case calls, inside its own transaction."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

import orjson
from sqlalchemy import BigInteger, Connection, Insert, Text, bindparam, insert, select

from secretsvc.audit.models import audit_key, audit_record
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.listed import as_listed, listed
from secretsvc.db.statements import DIALECTS
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
    detail: Mapping[str, object] | None = None,
    key: str | None = None,
    given: int | None = None,
    record_id: UUID | None = None,
) -> None:
    """Writes one success in the call's transaction: if this fails, so does what it tells of.

    `detail` holds names and numbers, never a value (contract 3.11); `key` and `given` are as in the model.
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
        key=key,
        given=given,
        record_id=record_id,
        client_address=call.client_address,
    )


def record_keys(call: Call, environment_id: UUID, record_id: UUID, given: Mapping[str, int | None]) -> None:
    """Tells which keys of an environment a record concerns, each with the version that was given, if any."""
    if not given:
        return
    dialect_name = call.connection.dialect.name
    _INSERT_KEYS[dialect_name].run_with_commit(
        call.connection,
        {
            "environment_id": environment_id,
            "record_id": record_id,
            "identity_id": call.actor.identity_id,
            "created_at": call.now,
            **as_listed(dialect_name, given.items(), "key", "given"),
        },
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
    detail: Mapping[str, object] | None = None,
    key: str | None = None,
    given: int | None = None,
    record_id: UUID | None = None,
    client_address: str | None = None,
) -> None:
    """Inserts one record, as the last of its transaction; `now` is in epoch milliseconds."""
    _INSERT.run_with_commit(
        connection,
        {
            "id": record_id or new_id(),
            "created_at": now,
            "action": action,
            "outcome": outcome,
            "identity_id": actor.identity_id,
            "actor_kind": actor.kind,
            "actor_subject": actor.subject,
            "project_id": project_id,
            "environment_id": environment_id,
            "request_id": request_id,
            "client_address": client_address,
            "reason": reason,
            "detail": None if detail is None else orjson.dumps(detail).decode(),
            "key": key,
            "given": given,
        },
    )


def _insert_keys(dialect_name: str) -> Insert:
    rows, (key, given) = listed(dialect_name, key=Text, given=BigInteger)
    same = {
        name: bindparam(name, type_=audit_key.c[name].type)
        for name in ("environment_id", "record_id", "identity_id", "created_at")
    }
    columns = {**same, "key": key, "given": given}
    return insert(audit_key).from_select([*columns], select(*columns.values()).select_from(rows))


_INSERT = Prepared(insert(audit_record))
_INSERT_KEYS = {name: Prepared(_insert_keys(name)) for name in DIALECTS}
