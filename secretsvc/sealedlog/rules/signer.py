"""The key that signs checkpoints: made once, kept as an envelope under the key ring, moved with a rotation.

Whoever writes to the database alone has no master key, and so cannot sign (contract 7.2).
"""

from __future__ import annotations

import hmac
import logging
import os

from sqlalchemy import Connection, insert, literal, select, update

from secretsvc.db.types import FoundRow
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.errors import DecryptFailed, UnknownKid
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.sealedlog.models import ONLY, audit_signer
from secretsvc.secrets.write.sealing import MAY_SEAL, ensure_key_may_seal, open_own, seal_own
from secretsvc.transparency.signed_note import KEY_BYTES, public_key_of

log = logging.getLogger(__name__)

PURPOSE = "audit-signer/1"


def find_signer(connection: Connection) -> FoundRow | None:
    """The row of the key, None before anything was sealed."""
    return connection.execute(select(audit_signer)).first()


def is_adopted(connection: Connection, ring: KeyRing) -> bool:
    """Whether the active master key is in use here; one that would be by its first envelope is not."""
    found: bool = connection.execute(select(MAY_SEAL), {"active_kid": ring.active_kid}).scalar_one()
    return found


def make_signer(connection: Connection, ring: KeyRing, now: int) -> bool:
    """Makes the key, unless the active master key is not adopted; whether it did. `now` in milliseconds."""
    private_key = os.urandom(KEY_BYTES)
    row = {
        "id": ONLY,
        "public_key": public_key_of(private_key),
        **seal_signer(ring, private_key),
        "created_at": now,
    }
    values = [literal(value, audit_signer.c[name].type) for name, value in row.items()]
    made = insert(audit_signer).from_select([*row], select(*values).where(MAY_SEAL))
    returned = connection.execute(made.returning(audit_signer.c.id), {"active_kid": ring.active_kid})
    return returned.first() is not None


def private_key(ring: KeyRing, signer: FoundRow) -> bytes:
    """The private half, which goes with the public one beside it.

    Raises `UnknownKid` where the ring lacks its master key, and `DecryptFailed` for a row that was changed.
    """
    return _opened(ring, signer)[:KEY_BYTES]


def cursor_key(ring: KeyRing, signer: FoundRow) -> bytes:
    """The key of cursors, which is of the log's first signing key. Raises as `private_key`."""
    opened = _opened(ring, signer)
    return opened[KEY_BYTES:] or hmac.digest(opened, b"secretsvc/1/audit-cursor", "sha256")


def seal_signer(ring: KeyRing, secret: bytes) -> dict[str, bytes | str]:
    """The columns that hold a private key, and what is kept with it, under the active master key."""
    envelope = seal_own(ring, PURPOSE, secret)
    return {"envelope": envelope.blob, "kid": envelope.kid}


def _opened(ring: KeyRing, signer: FoundRow) -> bytes:
    found = open_own(ring, PURPOSE, signer.envelope, signer.kid)
    if public_key_of(found[:KEY_BYTES]) != signer.public_key:
        raise DecryptFailed(signer.kid)
    return found


def signer_kid(connection: Connection) -> str | None:
    """The master key that its envelope is under; None where there is none."""
    return connection.execute(select(audit_signer.c.kid)).scalar()


def move_signer(call: UseCaseContext) -> bool:
    """Puts the envelope under the active master key; whether there was something to move.

    One that cannot be opened stays, and with it the answer that the old key is needed. The active key is
    adopted for it where it may be. Raises `ServerMisconfigured` where it may not.
    """
    active = call.ring.active_kid
    signer = call.connection.execute(select(audit_signer).where(audit_signer.c.kid != active)).first()
    if signer is None:
        return False
    try:
        opened = _opened(call.ring, signer)
    except (DecryptFailed, UnknownKid) as error:
        log.error("the signing key of the audit log cannot be moved: %s", error.code)
        return False
    ensure_key_may_seal(call)
    # Not over a key that has replaced this one meanwhile.
    same = audit_signer.c.kid == signer.kid, audit_signer.c.public_key == signer.public_key
    call.connection.execute(update(audit_signer).where(*same).values(**seal_signer(call.ring, opened)))
    return True
