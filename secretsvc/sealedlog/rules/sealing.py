"""Sealing: records that wait get the next positions of the log, and its head is signed anew.

A step is one transaction of one process: on PostgreSQL by a lock that nobody waits for, on SQLite by the
write lock, under which nothing is computed. What it rests on is in the database, so that a process that dies
at any statement leaves what the next goes on from.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, TypedDict
from uuid import UUID

from sqlalchemy import Connection, Engine, delete, exists, func, insert, select, text, true, update

from secretsvc.db.engine import read_transaction, write_transaction
from secretsvc.db.statements import PerDialect, in_parameter, insert_many
from secretsvc.db.types import FoundRow
from secretsvc.kernel.clock import now_ms
from secretsvc.sealedlog.models import ONLY, audit_head, audit_seal, audit_signer, audit_unsealed
from secretsvc.sealedlog.rules.heads import HeadRow, Sealing, standing_of
from secretsvc.sealedlog.rules.leaves import leaf_of
from secretsvc.sealedlog.rules.signer import find_signer, is_adopted, make_signer
from secretsvc.sealedlog.rules.unsealed import waiting_records
from secretsvc.transparency.merkle import Frontier, leaf_hash
from secretsvc.transparency.signed_note import Checkpoint, sign


class Bound(NamedTuple):
    """How much a step does: so many records, and after so many seconds of its own work no further one."""

    records: int
    seconds: float


class SealRow(TypedDict):
    """A row of `audit_seal`."""

    position: int
    record_id: UUID
    leaf_hash: bytes


class Batch(NamedTuple):
    """What a step writes: the positions of records after the first `before`, and the head that they make.

    `signer` is the public key of who signed it. The head is None where nothing is sealed. `relisted` are ids
    of records that are listed though they are sealed: they come off the list.
    """

    before: int
    signer: bytes
    seals: list[SealRow]
    head: HeadRow | None
    relisted: list[UUID]


def is_due(connection: Connection) -> bool:
    """Whether a record waits; it takes the same however many are sealed."""
    return bool(connection.execute(_IS_DUE).scalar_one())


def how_many_wait(connection: Connection) -> int:
    """The number of records that wait; its time grows with that."""
    return int(connection.execute(_HOW_MANY).scalar_one())


def seal_some(engine: Engine, sealing: Sealing, bound: Bound) -> int:
    """Seals some of the records that wait, and says how many; 0 also where another process is at it.

    Where the active master key is not adopted it does nothing. Raises `UnknownKid` or `DecryptFailed` where
    the signing key cannot be opened, and `NotSignedLast`.
    """
    if engine.name == "sqlite":
        # Nothing is computed while others wait to write; whoever was quicker meanwhile is noticed.
        with read_transaction(engine) as connection:
            batch = _prepared(connection, sealing, bound)
        if batch is None:
            return _begin_log(engine, sealing, bound)
        with write_transaction(engine) as connection:
            return _put(connection, batch)
    with write_transaction(engine) as connection:
        if not connection.execute(_TRY).scalar_one():
            return 0
        batch = _prepared(connection, sealing, bound)
        if batch is not None:
            return _put(connection, batch)
    return _begin_log(engine, sealing, bound)


def pause_sealing(connection: Connection) -> None:
    """Waits until nobody seals, for 10 seconds at most, and keeps all from it until the transaction ends.

    On SQLite the write lock does, which the transaction must have: who prepared a step before finds another
    key, and drops it.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_LIMIT)
        connection.execute(_WAIT)


def _begin_log(engine: Engine, sealing: Sealing, bound: Bound) -> int:
    """Makes the signing key where there is none, in a transaction of its own, and goes on."""
    with read_transaction(engine) as connection:
        if find_signer(connection) is not None or not is_adopted(connection, sealing.ring):
            return 0
    with write_transaction(engine) as connection:
        if connection.dialect.name == "postgresql" and not connection.execute(_TRY).scalar_one():
            return 0
        if find_signer(connection) is not None or not make_signer(connection, sealing.ring, now_ms()):
            return 0
    return seal_some(engine, sealing, bound)


def _prepared(connection: Connection, sealing: Sealing, bound: Bound) -> Batch | None:
    """None where nothing waits, there is no signing key yet, or the active key is not adopted."""
    standing = standing_of(connection, sealing.ring)
    if standing is None or not standing.is_adopted:
        return None
    key, frontier = sealing.key(standing), sealing.frontier(standing)
    signer, before = standing.public_key, frontier.size
    waiting = waiting_records(connection, bound.records)
    seals = _seals(waiting.records, frontier, bound.seconds)
    if not seals:
        return Batch(before, signer, [], None, waiting.relisted) if waiting.relisted else None
    checkpoint = Checkpoint(sealing.origin, frontier.size, frontier.root())
    head = HeadRow(frontier.size, frontier.stored, sign(sealing.origin, key, checkpoint.body))
    sealing.hold(signer, head)
    return Batch(before, signer, seals, head, waiting.relisted)


def _seals(records: Sequence[FoundRow], frontier: Frontier, seconds: float) -> list[SealRow]:
    """Their positions, as far as there is time; the time of this thread, not that of the machine."""
    ends, seals = time.thread_time() + seconds, list[SealRow]()
    for record in records:
        leaf = leaf_hash(leaf_of(record).data)
        seals.append({"position": frontier.size, "record_id": record.id, "leaf_hash": leaf})
        frontier.append(leaf)
        if time.thread_time() > ends:
            break
    return seals


def _put(connection: Connection, batch: Batch) -> int:
    """Writes a batch, unless another process was quicker, or replaced the key; how many records it sealed."""
    found, signer = connection.execute(_SINCE).one()
    if (found or 0) != batch.before or signer != batch.signer:
        return 0
    sealed: list[UUID] = [one["record_id"] for one in batch.seals]
    if sealed:
        insert_many(connection, audit_seal, batch.seals)
    connection.execute(_UNLIST[connection.dialect.name], {"ids": [*sealed, *batch.relisted]})
    if batch.head is not None:
        row = {**batch.head._asdict(), "sealed_at": now_ms()}
        if found is None:
            connection.execute(insert(audit_head), {"id": ONLY, **row})
        else:
            connection.execute(update(audit_head), row)
    return len(sealed)


_TRY = text("SELECT pg_try_advisory_xact_lock(4872160839551207734)")
_WAIT = text("SELECT pg_advisory_xact_lock(4872160839551207734)")
#: For so long is a step of another process waited for; behind a pooler the session has no limits of its own.
_LIMIT = text("SET LOCAL lock_timeout = '10s'")
_HOW_MANY = select(func.count()).select_from(audit_unsealed)
_IS_DUE = select(exists(select(audit_unsealed.c.record_id)))
# The signing key is there before the first head.
_SINCE = select(audit_head.c.size, audit_signer.c.public_key).select_from(
    audit_signer.outerjoin(audit_head, true())
)
_UNLIST = PerDialect(
    lambda name: delete(audit_unsealed).where(in_parameter(audit_unsealed.c.record_id, "ids", name))
)
