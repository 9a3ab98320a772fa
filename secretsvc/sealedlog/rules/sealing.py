"""Sealing: records that wait get the next positions of the log, and its head is signed anew.

A step is one transaction of one process: on PostgreSQL by a lock that nobody waits for, on SQLite by the
write lock, under which nothing is computed. What it rests on is in the database, so that a process that dies
at any statement leaves what the next goes on from.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import NamedTuple, TypedDict
from uuid import UUID

from sqlalchemy import Connection, Engine, delete, exists, insert, select, text, true, update

from secretsvc.audit.models import audit_record
from secretsvc.db.engine import read_transaction, write_transaction
from secretsvc.db.statements import insert_many, is_among
from secretsvc.db.types import FoundRow
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.merkle import Frontier, leaf_hash
from secretsvc.kernel.notes import Checkpoint, Verifier, read_checkpoint, sign
from secretsvc.kernel.throttle import Throttle
from secretsvc.sealedlog.models import ONLY, audit_head, audit_seal, audit_signer, audit_unsealed
from secretsvc.sealedlog.rules.leaves import leaf_of
from secretsvc.sealedlog.rules.reading import positions_of
from secretsvc.sealedlog.rules.signing import find_signer, is_adopted, make_signer, private_key

log = logging.getLogger(__name__)
_complaints = Throttle()

OTHER_TREE = "the tree that is stored is not the one that was signed last"


class NotSignedLast(ValueError):
    """The head that the database holds is not what the log's key has signed last; why, in one line.

    Nothing is sealed on top of it: the key would sign whatever somebody has put there.
    """


class Sealing(NamedTuple):
    """With what is sealed: the ring that opens the signing key, and the log's name."""

    ring: KeyRing
    origin: str


class Bound(NamedTuple):
    """How much a step does: so many records, and after so many seconds of its own work no further one."""

    records: int
    seconds: float


class Waiting(NamedTuple):
    """Records to be sealed; the ids of others that are listed though they are sealed.

    `lost` is how many are listed that are not there: they stay on the list, for a verification to name.
    """

    records: Sequence[FoundRow]
    relisted: list[UUID]
    lost: int


class SealRow(TypedDict):
    """A row of `audit_seal`."""

    position: int
    record_id: UUID
    leaf_hash: bytes


class Batch(NamedTuple):
    """What a step writes: the positions of records after the first `before`, and the head that they make.

    `signer` is the public key of who signed it. `relisted` are ids of records that are listed though they are
    sealed: they come off the list.
    """

    before: int
    signer: bytes
    seals: list[SealRow]
    head: dict[str, object]
    relisted: list[UUID]


def is_due(connection: Connection) -> bool:
    """Whether a record waits; it takes the same however many are sealed."""
    found: bool = connection.execute(select(exists(select(audit_unsealed.c.record_id)))).scalar_one()
    return found


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


def keep_from_sealing(connection: Connection) -> None:
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
    signer = find_signer(connection)
    if signer is None or not is_adopted(connection, sealing.ring):
        return None
    key = private_key(sealing.ring, signer)
    frontier = frontier_of(connection, Verifier(sealing.origin, signer.public_key))
    before = frontier.size
    waiting = _waiting(connection, bound.records)
    if waiting.lost and _complaints.passes("lost") is not None:
        log.error("records that are listed to be sealed are missing (%d): verify the log", waiting.lost)
    seals = _seals(waiting.records, frontier, bound.seconds)
    if not seals:
        return Batch(before, signer.public_key, [], {}, waiting.relisted) if waiting.relisted else None
    checkpoint = Checkpoint(sealing.origin, frontier.size, frontier.root())
    return Batch(
        before,
        signer.public_key,
        seals,
        {
            "size": frontier.size,
            "frontier": frontier.stored,
            "checkpoint": sign(sealing.origin, key, checkpoint.body),
            "sealed_at": now_ms(),
        },
        waiting.relisted,
    )


def frontier_of(connection: Connection, verifier: Verifier) -> Frontier:
    """That of the head, which must be what the newest checkpoint says. Raises `NotSignedLast`."""
    head = connection.execute(select(audit_head)).first()
    if head is None:
        return Frontier()
    try:
        last = read_checkpoint(head.checkpoint, verifier)
    except ValueError as error:
        raise NotSignedLast(f"the newest checkpoint is {error}") from None
    try:
        frontier = Frontier(head.size, head.frontier)
    except ValueError:
        raise NotSignedLast(OTHER_TREE) from None
    if (frontier.size, frontier.root()) != (last.size, last.root):
        raise NotSignedLast(OTHER_TREE)
    return frontier


def _waiting(connection: Connection, limit: int) -> Waiting:
    """The oldest records that wait, and what is listed among them beside these.

    In statements of their own: PostgreSQL may take a join of the tables for a walk along the whole log.
    """
    named = is_among(audit_record.c.id, "ids", connection.dialect.name)
    records = select(audit_record).where(named).order_by(audit_record.c.id)
    listed = select(audit_unsealed.c.record_id).order_by(audit_unsealed.c.record_id).limit(limit)
    page, relisted, lost = listed, list[UUID](), 0
    while ids := connection.execute(page).scalars().all():
        sealed = positions_of(connection, ids)
        relisted += sealed
        left = [one for one in ids if one not in sealed]
        found = connection.execute(records, {"ids": left}).all() if left else []
        lost += len(left) - len(found)
        if found:
            return Waiting(found, relisted, lost)
        page = listed.where(audit_unsealed.c.record_id > ids[-1])
    return Waiting([], relisted, lost)


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
    named = is_among(audit_unsealed.c.record_id, "ids", connection.dialect.name)
    connection.execute(delete(audit_unsealed).where(named), {"ids": [*sealed, *batch.relisted]})
    if sealed and found is None:
        connection.execute(insert(audit_head), {"id": ONLY, **batch.head})
    elif sealed:
        connection.execute(update(audit_head).values(batch.head))
    return len(sealed)


_TRY = text("SELECT pg_try_advisory_xact_lock(4872160839551207734)")
_WAIT = text("SELECT pg_advisory_xact_lock(4872160839551207734)")
#: For so long is a step of another process waited for; behind a pooler the session has no limits of its own.
_LIMIT = text("SET LOCAL lock_timeout = '10s'")
# The signing key is there before the first head.
_SINCE = select(audit_head.c.size, audit_signer.c.public_key).select_from(
    audit_signer.outerjoin(audit_head, true())
)
