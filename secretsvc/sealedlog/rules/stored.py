"""The sealed log as it lies in the database, read in its order and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, bindparam, exists, func, select

from secretsvc.audit.models import audit_record
from secretsvc.sealedlog.models import audit_head, audit_seal, audit_unsealed
from secretsvc.sealedlog.rules.leaves import Leaf, leaf_of

#: Records that are read at once.
PAGE = 1024


class Sealed(NamedTuple):
    """A place of the log: the hash that was sealed, and the leaf of the record as it is, if it is there."""

    position: int
    leaf_hash: bytes
    leaf: Leaf | None


class Head(NamedTuple):
    """How many records are sealed, and the signed checkpoint that says so."""

    size: int
    checkpoint: str


def head_of(connection: Connection) -> Head | None:
    """None before anything is sealed."""
    found = connection.execute(select(audit_head.c.size, audit_head.c.checkpoint)).first()
    return None if found is None else Head(*found)


def sealed_from(connection: Connection, first: int, size: int) -> Iterator[Sealed]:
    """The places from `first` on and below `size`, as far as they are there."""
    while first < size:
        rows = connection.execute(_PAGE, {"first": first, "size": min(size, first + PAGE)}).all()
        for row in rows:
            yield Sealed(row.position, row.leaf_hash, None if row.id is None else leaf_of(row))
        first += PAGE


def waiting_leaves(connection: Connection) -> Iterator[tuple[UUID, Leaf]]:
    """The records that wait to be sealed, the oldest first."""
    after = UUID(int=0)
    while rows := connection.execute(_WAITING, {"after": after}).all():
        for row in rows:
            yield row.id, leaf_of(row)
        after = rows[-1].id


def count_beyond(connection: Connection, size: int) -> int:
    """How many places there are that no head speaks of."""
    beyond = select(func.count()).select_from(audit_seal).where(audit_seal.c.position >= size)
    found: int = connection.execute(beyond).scalar_one()
    return found


def left_out(connection: Connection) -> Any:
    """The id of a record that is neither sealed nor waits to be, None where there is none."""
    is_sealed = exists(select(audit_seal.c.position).where(audit_seal.c.record_id == audit_record.c.id))
    waits = exists(select(audit_unsealed.c.record_id).where(audit_unsealed.c.record_id == audit_record.c.id))
    return connection.execute(select(audit_record.c.id).where(~is_sealed, ~waits).limit(1)).scalar()


_WAITING = (
    select(audit_record)
    .where(audit_record.c.id.in_(select(audit_unsealed.c.record_id)), audit_record.c.id > bindparam("after"))
    .order_by(audit_record.c.id)
    .limit(PAGE)
)
_place = audit_seal.c.position
_PAGE = (
    select(_place, audit_seal.c.leaf_hash, audit_record)
    .join_from(audit_seal, audit_record, audit_record.c.id == audit_seal.c.record_id, isouter=True)
    .where(_place >= bindparam("first"), _place < bindparam("size"))
    .order_by(_place)
)
