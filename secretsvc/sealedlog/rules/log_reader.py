"""The sealed log as it lies in the database, read in its order and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, exists, func, or_, select, tuple_

from secretsvc.audit.models import audit_record
from secretsvc.db.types import Expression, Query
from secretsvc.sealedlog.models import (
    audit_export,
    audit_former_signer,
    audit_head,
    audit_pruned,
    audit_seal,
    audit_signer,
    audit_snapshot,
    audit_unsealed,
)
from secretsvc.sealedlog.rules.ids import IdText, as_text
from secretsvc.sealedlog.rules.leaves import FIELDS, Leaf, leaf_of, sealed_leaf

#: Records that are read at once.
PAGE = 1024
_FEW_ROWS = (audit_head, audit_signer, audit_former_signer, audit_export, audit_pruned, audit_snapshot)
#: As SQLite calls them.
_TYPES = {int: "integer", str: "text", bytes: "blob"}


class Sealed(NamedTuple):
    """An entry of the log: the hash that was sealed, and the leaf of the record as it is, if it is there."""

    position: int
    leaf_hash: bytes
    leaf: Leaf | None


class Head(NamedTuple):
    """How many records are sealed, and the signed checkpoint that says so."""

    size: int
    checkpoint: str


def check_types(connection: Connection) -> None:
    """Raises ValueError where a table of the log that has few rows holds what no service writes there.

    SQLite takes a value of any type for any column.
    """
    if connection.dialect.name != "sqlite":
        return
    for table in _FEW_ROWS:
        are_odd = [func.typeof(one).not_in(_types_of(one)).label(one.name) for one in table.c]
        for row in connection.execute(select(*are_odd)).mappings():
            for name in (name for name, is_odd in row.items() if is_odd):
                raise ValueError(f"{table.name} holds a {name} of another type: somebody has written to it")


def _types_of(column: Expression) -> list[str]:
    return [_TYPES[column.type.python_type], *(["null"] if column.nullable else [])]


def head_of(connection: Connection) -> Head | None:
    """None before anything is sealed."""
    found = connection.execute(select(audit_head.c.size, audit_head.c.checkpoint)).first()
    return None if found is None else Head(*found)


def sealed_from(connection: Connection, first: int, size: int) -> Iterator[Sealed]:
    """The positions from `first` on and below `size`, as far as they are there."""
    while first < size:
        rows = connection.execute(_PAGE, {"first": first, "size": min(size, first + PAGE)}).all()
        for row in rows:
            # On SQLite something else may stand there.
            sealed = row.leaf_hash if isinstance(row.leaf_hash, bytes) else b""
            leaf = None if row.id is None else sealed_leaf(row, sealed)
            yield Sealed(row.position, sealed, leaf)
        first += PAGE


def waiting_ids() -> Query:
    """Asks for the ids of the records that wait to be sealed: not for what is listed beside these."""
    return select(as_text(_listed)).where(_IS_THERE, ~_IS_SEALED)


def waiting_leaves(connection: Connection) -> Iterator[tuple[str, Leaf]]:
    """The records that wait to be sealed, the first that was written first."""
    rows = connection.execute(_WAITING).all()
    while rows:
        for row in rows:
            yield row.id, leaf_of(row)
        rows = connection.execute(_LATER, {"number": rows[-1].number, "after": rows[-1].id}).all()


def wrongly_listed(connection: Connection) -> Iterator[str]:
    """What is listed to be sealed, and is sealed or is not there; each is one line."""
    for one in connection.execute(select(as_text(_listed)).where(_IS_SEALED).order_by(_listed)).scalars():
        yield f"record {one} is sealed, and is listed to be sealed again"
    lost = select(as_text(_listed)).where(~_IS_THERE, ~_IS_SEALED).order_by(_listed)
    for one in connection.execute(lost).scalars():
        yield f"record {one} is listed to be sealed, and is missing"


def count_beyond(connection: Connection, size: int) -> int:
    """How many positions there are that no head speaks of."""
    outside = or_(audit_seal.c.position < 0, audit_seal.c.position >= size)
    found: int = connection.execute(select(func.count()).select_from(audit_seal).where(outside)).scalar_one()
    return found


def left_out(connection: Connection) -> Sequence[str]:
    """The ids of the records that are neither sealed nor wait to be."""
    is_sealed = exists(select(audit_seal.c.position).where(audit_seal.c.record_id == audit_record.c.id))
    waits = exists(select(audit_unsealed.c.record_id).where(audit_unsealed.c.record_id == audit_record.c.id))
    found = select(as_text(audit_record.c.id)).where(~is_sealed, ~waits).order_by(audit_record.c.id)
    return connection.execute(found).scalars().all()


_RECORD = [as_text(audit_record.c.id), *FIELDS]
_listed = audit_unsealed.c.record_id
_IS_THERE = exists(select(audit_record.c.id).where(audit_record.c.id == _listed))
_IS_SEALED = exists(select(audit_seal.c.position).where(audit_seal.c.record_id == _listed))
_number = audit_unsealed.c.number
_WAITING = (
    select(_number, *_RECORD)
    .join_from(audit_unsealed, audit_record, audit_record.c.id == _listed)
    .where(~_IS_SEALED)
    .order_by(_number, _listed)
    .limit(PAGE)
)
_LATER = _WAITING.where(
    tuple_(_number, _listed) > tuple_(bindparam("number"), bindparam("after", type_=IdText()))
)
_position = audit_seal.c.position
_PAGE = (
    select(_position, audit_seal.c.leaf_hash, *_RECORD)
    .join_from(audit_seal, audit_record, audit_record.c.id == audit_seal.c.record_id, isouter=True)
    .where(_position >= bindparam("first"), _position < bindparam("size"))
    .order_by(_position)
)
