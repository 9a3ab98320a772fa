"""The key that signs checkpoints is replaced: a note of both keys says so for ever (contract 7.2)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

import orjson
from sqlalchemy import Connection, Engine, insert, select, update

from secretsvc.audit.models import audit_record
from secretsvc.audit.rules.records import write_record
from secretsvc.db.engine import write_transaction
from secretsvc.kernel.actors import SYSTEM
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.sealedlog.models import audit_former_signer, audit_head, audit_signer
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.log_reader import head_of
from secretsvc.sealedlog.rules.sealing import pause_sealing
from secretsvc.sealedlog.rules.signer import cursor_key, find_signer, private_key, seal_signer
from secretsvc.secrets.write.sealing import MAY_SEAL
from secretsvc.transparency.key_succession import Replacement, Signers, read_replacement
from secretsvc.transparency.signed_note import (
    KEY_BYTES,
    Checkpoint,
    Verifier,
    public_key_of,
    read_checkpoint,
    sign,
)

REPLACED = "audit.replace_key"


def replace_signing_key(engine: Engine, sealing: Sealing, request_id: str) -> Replacement:
    """Has a new key sign from the present head on, which the old one and the new one sign; records that.

    The key of cursors stays. Raises ValueError where nothing is sealed, or the head is not the old key's,
    `ServerMisconfigured` where the active master key is not adopted, and as `private_key`.
    """
    with write_transaction(engine) as connection:
        pause_sealing(connection)
        signer, head = find_signer(connection), head_of(connection)
        if signer is None or head is None:
            raise ValueError("nothing is sealed yet, so that there is no key to replace")
        old_key, new_key, now = private_key(sealing.ring, signer), os.urandom(KEY_BYTES), now_ms()
        old, new = (Verifier(sealing.origin, public_key_of(one)) for one in (old_key, new_key))
        done = Replacement(_head(head.checkpoint, old), old, new)
        note = sign(sealing.origin, old_key, done.body, new_key)
        former = {"public_key": old.public_key, "note": note, "created_at": now}
        connection.execute(insert(audit_former_signer), former)
        columns = seal_signer(sealing.ring, new_key + cursor_key(sealing.ring, signer))
        taken = update(audit_signer).where(audit_signer.c.public_key == old.public_key, MAY_SEAL)
        values = {"public_key": new.public_key, "created_at": now, **columns}
        if not connection.execute(taken.values(values), {"active_kid": sealing.ring.active_kid}).rowcount:
            raise ServerMisconfigured()
        # Whoever knows one of the keys alone reads this head, too.
        both = sign(sealing.origin, old_key, done.at.body, new_key)
        connection.execute(update(audit_head).values(checkpoint=both))
        detail = {"old": old.text, "new": new.text, "note": note}
        write_record(connection, SYSTEM, now, request_id, REPLACED, detail=detail)
    return done


def _head(checkpoint: str, verifier: Verifier) -> Checkpoint:
    try:
        return read_checkpoint(checkpoint, verifier)
    except ValueError as error:
        raise ValueError(f"nothing was replaced, because the newest checkpoint is {error}") from None


def notes_of(connection: Connection) -> Sequence[str]:
    """The notes on all replacements, the oldest first."""
    notes = select(audit_former_signer.c.note).order_by(audit_former_signer.c.created_at)
    return connection.execute(notes).scalars().all()


def signers_by(trusted: Verifier, notes: Iterable[str]) -> Signers:
    """The log's keys, as far as notes lead from one that is trusted.

    Raises ValueError for a note that is none, and for notes that differ.
    """
    return Signers(trusted, [read_replacement(one) for one in notes])


def wrong_signers(connection: Connection, signers: Signers, pruned: int) -> Iterator[str]:
    """What is stored of the log's keys otherwise than `signers` and the records tell; each is one line.

    The first `pruned` records of the log are gone. Raises ValueError for a stored note that is none.
    """
    stored, told = {*notes_of(connection)}, {*_told(connection, signers)}
    if told - stored:
        yield "the log tells of the replacement of a signing key, and the note on that is missing"
    for found in sorted(read_replacement(note) for note in stored - told):
        if found.at.size >= pruned:
            yield f"the log does not tell of the replacement of the signing key {found.old.text}"
    signer = find_signer(connection)
    if signer is None or signer.public_key != signers.newest.public_key:
        yield "the signing key that is stored is not the one that signs the log"


def _told(connection: Connection, signers: Signers) -> Iterator[str]:
    """The notes that records tell of, as far as a key of the log has signed them: whoever may write records
    can tell of others.
    """
    keys = {signers.newest, *(one.old for one in signers.replacements)}
    for detail in connection.execute(_TOLD).scalars():
        note = _note(detail)
        try:
            found = read_replacement(note)
        except ValueError:
            continue
        if not keys.isdisjoint((found.old, found.new)):
            yield note


def _note(detail: str | None) -> str:
    """That of a record's detail; empty where there is none."""
    try:
        found = orjson.loads(detail or "")
    except orjson.JSONDecodeError:
        return ""
    note = found.get("note") if isinstance(found, dict) else None
    return note if isinstance(note, str) else ""


_TOLD = select(audit_record.c.detail).where(audit_record.c.action == REPLACED)
