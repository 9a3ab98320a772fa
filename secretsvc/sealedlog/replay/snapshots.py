"""A state of the tables under the log's signature, from which a replay goes on."""

from __future__ import annotations

import base64
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import Connection, Engine, exists, select

from secretsvc.audit.models import audit_record
from secretsvc.audit.rules.records import write_record
from secretsvc.db.engine import snapshot, write_transaction
from secretsvc.db.statements import insert_or_ignore
from secretsvc.kernel.actors import SYSTEM
from secretsvc.kernel.clock import now_ms
from secretsvc.sealedlog.models import ONLY, PRUNE, audit_snapshot
from secretsvc.sealedlog.replay.comparison import read_state
from secretsvc.sealedlog.replay.contents import VERSION, VERSIONS
from secretsvc.sealedlog.replay.replay import State
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.log_reader import head_of, waiting_ids
from secretsvc.sealedlog.rules.signer import find_signer, private_key
from secretsvc.transparency.signed_note import Signatory, sign

ADOPTED = "audit.adopt"
#: With more records that wait, a state is not adopted: it would have to name each.
MOST_WAITING = 10_000


class Snapshot(NamedTuple):
    """The state that the first `size` records of the log lead to, and the digest of its JSON.

    The digest is None where no record is to come that tells of it.
    """

    size: int
    state: State
    digest: str | None


def sign_state(origin: str, key: bytes, size: int, content: bytes) -> str:
    """A note (C2SP signed-note) that says which state the first `size` records of the log lead to.

    `content` is its JSON.
    """
    return sign(origin, key, _said(origin, size, content))


def open_state(note: str, signatory: Signatory, content: bytes) -> Snapshot:
    """What is signed as of a log. Raises ValueError for everything else."""
    body = signatory.has_signed(note)
    size = (body or "\n").split("\n")[1]
    if body is None or not size.isdecimal() or body not in _all_said(signatory.name, int(size), content):
        raise ValueError("the state that a replay begins with is not signed by this key")
    return Snapshot(int(size), State.from_json(content), sha256(content).hexdigest())


def adopt_state(engine: Engine, sealing: Sealing, request_id: str) -> bool:
    """Takes what the tables hold for what a replay begins with, once in the life of a log; whether it did.

    It is read in one state of the database, with the number of sealed records and the ids of those that wait:
    of each change the record is in there too, or neither is. To be called when nothing waits, or little.
    Raises as `private_key`.
    """
    with snapshot(engine) as connection:
        head, signer = head_of(connection), find_signer(connection)
        if head is None or signer is None or _has_begun(connection):
            return False
        key = private_key(sealing.ring, signer)
        waiting = connection.execute(waiting_ids().limit(MOST_WAITING + 1)).scalars().all()
        if len(waiting) > MOST_WAITING:
            return False
        state = read_state(connection, sealing.ring)
        state.applied = {str(one) for one in waiting}
    content, now = state.to_json(), now_ms()
    note = sign_state(sealing.origin, key, head.size, content)
    detail = {"size": head.size, "sha256": sha256(content).hexdigest()}
    with write_transaction(engine) as connection:
        row = {"id": ONLY, "note": note, "content": content, "created_at": now}
        if _has_begun(connection) or not insert_or_ignore(connection, audit_snapshot, row):
            return False
        write_record(connection, SYSTEM, now, request_id, ADOPTED, detail=detail)
    return True


def find_snapshot(connection: Connection, signatory: Signatory) -> Snapshot | None:
    """What a replay begins with, None where that is the first record. Raises ValueError as `open_state`."""
    row = connection.execute(select(audit_snapshot)).first()
    return None if row is None else open_state(row.note, signatory, row.content)


def _has_begun(connection: Connection) -> bool:
    """Whether a state was adopted. The log tells of it, too: whoever takes it away gains no other.

    Where that record was pruned, the pruning's tells of it: before one, a state is adopted.
    """
    adopted = exists(select(audit_record.c.id).where(audit_record.c.action.in_((ADOPTED, PRUNE))))
    found: bool = connection.execute(select(exists(select(audit_snapshot.c.id)) | adopted)).scalar_one()
    return found


def _said(origin: str, size: int, content: bytes, version: int = VERSION) -> str:
    # No origin holds a space: it never passes for a checkpoint.
    return f"{origin} state/{version}\n{size}\n{base64.b64encode(sha256(content).digest()).decode()}\n"


def _all_said(origin: str, size: int, content: bytes) -> list[str]:
    """Return what the notes of this release and of earlier ones say."""
    return [_said(origin, size, content, version) for version in VERSIONS]
