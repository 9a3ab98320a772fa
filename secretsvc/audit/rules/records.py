"""Writing audit records: one function that every use case calls, inside its own transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypedDict, Unpack
from uuid import UUID

import orjson
from sqlalchemy import BigInteger, Connection, Insert, Table, Text, bindparam, insert, select

from secretsvc.audit.models import audit_key, audit_record
from secretsvc.db.base import Id
from secretsvc.db.engine import mode_of, set_mode
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.row_parameters import rows_parameters, rows_table
from secretsvc.db.statement_batch import BoundStatement
from secretsvc.db.statements import PerDialect
from secretsvc.db.types import ColumnType
from secretsvc.kernel.actors import Actor
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.kernel.use_case import UseCaseContext

SUCCESS = "success"
DENIED = "denied"


class DisclosedValue(NamedTuple):
    """A value that was given: its key, and which version of it."""

    key: str
    version: int


class RecordFields(TypedDict, total=False):
    """What a record says beside who did what and when; its columns are as in the model.

    `detail` holds names and numbers, never a value (contract 3.11).
    """

    record_id: UUID | None
    project_id: UUID | None
    environment_id: UUID | None
    reason: str | None
    detail: Mapping[str, object] | None
    key: str | None
    given: int | None


def record(call: UseCaseContext, action: str, **said: Unpack[RecordFields]) -> None:
    """Writes one success in the call's transaction: if this fails, so does what it tells of."""
    address = call.client_address
    write_record(
        call.connection, call.actor, call.now, call.request_id, action, client_address=address, **said
    )


def record_statement(call: UseCaseContext, action: str, **said: Unpack[RecordFields]) -> BoundStatement:
    """The statement of `record`, to be executed with others."""
    row = _row(call.actor, call.now, call.request_id, action, client_address=call.client_address, **said)
    return _INSERTION, row


def record_each(
    call: UseCaseContext,
    action: str,
    given: Iterable[DisclosedValue],
    project_id: UUID,
    environment_id: UUID,
    reason: str,
) -> None:
    """As `record` for each value, with its key and its version for detail: one statement for all of them."""
    rows = [(new_id(), _detail(one._asdict()), *one) for one in given]
    dialect_name = call.connection.dialect.name
    call.connection.execute(
        _INSERT_EACH[dialect_name],
        {
            "created_at": call.now,
            "action": action,
            "outcome": SUCCESS,
            "identity_id": call.actor.identity_id,
            "actor_kind": call.actor.kind,
            "actor_subject": call.actor.subject,
            "project_id": project_id,
            "environment_id": environment_id,
            "request_id": call.request_id,
            "client_address": call.client_address,
            "reason": reason,
            **rows_parameters(dialect_name, rows, *_EACH),
        },
    )


def record_keys(
    call: UseCaseContext, environment_id: UUID, record_id: UUID, given: Mapping[str, int | None]
) -> None:
    """Tells which keys of an environment a record concerns, each with the version that was given, if any."""
    if given:
        call.connection.execute(*keys_statement(call, environment_id, record_id, given))


def keys_statement(
    call: UseCaseContext, environment_id: UUID, record_id: UUID, given: Mapping[str, int | None]
) -> BoundStatement:
    """The statement of `record_keys`, to be executed with others."""
    dialect_name = call.connection.dialect.name
    return _INSERT_KEYS[dialect_name], {
        "environment_id": environment_id,
        "record_id": record_id,
        "identity_id": call.actor.identity_id,
        "created_at": call.now,
        **rows_parameters(dialect_name, given.items(), "key", "given"),
    }


def write_record(
    connection: Connection,
    actor: Actor,
    now: int,
    request_id: str,
    action: str,
    *,
    outcome: str = SUCCESS,
    client_address: str | None = None,
    **said: Unpack[RecordFields],
) -> None:
    """Inserts one record, as the last of its transaction; `now` is in epoch milliseconds.

    Where what was read began no transaction, the record begins one, which the request ends.
    """
    row = _row(actor, now, request_id, action, outcome=outcome, client_address=client_address, **said)
    if mode_of(connection) is Mode.AUTOCOMMIT:
        set_mode(connection, Mode.WRITE)
    _INSERT.run(connection, row)


def _row(
    actor: Actor,
    now: int,
    request_id: str,
    action: str,
    *,
    outcome: str = SUCCESS,
    client_address: str | None,
    **said: Unpack[RecordFields],
) -> dict[str, object]:
    return {
        "id": said.get("record_id") or new_id(),
        "created_at": now,
        "action": action,
        "outcome": outcome,
        "identity_id": actor.identity_id,
        "actor_kind": actor.kind,
        "actor_subject": actor.subject,
        "project_id": said.get("project_id"),
        "environment_id": said.get("environment_id"),
        "request_id": request_id,
        "client_address": client_address,
        "reason": said.get("reason"),
        "detail": _detail(said.get("detail")),
        "key": said.get("key"),
        "given": said.get("given"),
    }


def _detail(detail: Mapping[str, object] | None) -> str | None:
    return None if detail is None else orjson.dumps(detail).decode()


def _insert_listed(dialect_name: str, table: Table, **types: type[ColumnType]) -> Insert:
    """Takes rows of the columns whose types are given, and one value of every other for all of them."""
    rows, columns = rows_table(dialect_name, **types)
    same = [bindparam(one.name, type_=one.type) for one in table.c if one.name not in types]
    names = [*(one.key for one in same), *types]
    return insert(table).from_select(names, select(*same, *columns).select_from(rows))


_INSERTION = insert(audit_record)
_INSERT = Prepared(_INSERTION)
#: What differs between the records of values that are given at once.
_EACH = {"id": Id, "detail": Text, "key": Text, "given": BigInteger}
_INSERT_EACH = PerDialect(lambda name: _insert_listed(name, audit_record, **_EACH))
_INSERT_KEYS = PerDialect(lambda name: _insert_listed(name, audit_key, key=Text, given=BigInteger))
