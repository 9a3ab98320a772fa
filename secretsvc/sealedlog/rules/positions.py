"""What is read of the sealed log: its head, the positions of records, and positions that tell nothing."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC
from sqlalchemy import Connection, func, select, true

from secretsvc.db.statements import in_parameter
from secretsvc.kernel.crypto import KeyRing
from secretsvc.sealedlog.models import audit_head, audit_pruned, audit_seal, audit_signer
from secretsvc.sealedlog.rules.signer import cursor_key

#: Of a cursor, beside the position: bytes that make each another, and zeros by which it is known.
_RANDOM, _ZEROS, _POSITION = 6, 3, 7
_BLOCK = _RANDOM + _ZEROS + _POSITION
#: The position before every record, also while there is no key for others.
START = UUID(int=0)


def newest_checkpoint(connection: Connection) -> str | None:
    """None before anything is sealed."""
    return connection.execute(select(audit_head.c.checkpoint)).scalar()


def positions_of(connection: Connection, ids: Collection[UUID]) -> dict[UUID, int]:
    """Those of the records that are sealed; one statement, or none where there is no id."""
    if not ids:
        return {}
    named = in_parameter(audit_seal.c.record_id, "ids", connection.dialect.name)
    found = select(audit_seal.c.record_id, audit_seal.c.position).where(named)
    return {row.record_id: row.position for row in connection.execute(found, {"ids": [*ids]})}


class Cursors:
    """Positions as one block of AES: a number would tell how many records there are that one may not see.

    The key outlives rotations of the master key, and replacements of the signing key. No two cursors are
    alike, so that neither tells whether something was sealed in between.
    """

    def __init__(self, key: bytes) -> None:
        # Of a single block, this is the block cipher itself.
        self._cipher = Cipher(AES(key), CBC(bytes(_BLOCK)))

    def cursor(self, position: int) -> UUID:
        """One of those of a position."""
        if not position:
            return START
        block = os.urandom(_RANDOM) + bytes(_ZEROS) + position.to_bytes(_POSITION, "big")
        return UUID(bytes=self._cipher.encryptor().update(block))

    def position(self, cursor: UUID) -> int:
        """Raises ValueError for what is no cursor."""
        if cursor == START:
            return 0
        block = self._cipher.decryptor().update(cursor.bytes)
        if any(block[_RANDOM:-_POSITION]):
            raise ValueError("no cursor")
        return int.from_bytes(block[-_POSITION:], "big")


class SealedLog(NamedTuple):
    """How many records are sealed, how many of these are pruned, and the cursors into them."""

    size: int
    pruned: int
    cursors: Cursors


def sealed_log(connection: Connection, ring: KeyRing) -> SealedLog | None:
    """None before anything is sealed. Raises as `private_key`."""
    found = connection.execute(
        select(audit_signer, audit_head.c.size, func.coalesce(audit_pruned.c.position, 0).label("pruned"))
        .join_from(audit_signer, audit_head, true())
        .outerjoin(audit_pruned, true())
    )
    row = found.first()
    return None if row is None else SealedLog(row.size, row.pruned, Cursors(cursor_key(ring, row)))
