"""The one way to an envelope, and its guard: only a master key that is in use here may seal (decision 0025).

A process with a key that this database does not know would write what nobody else can open. So the database
keeps a table of adopted master keys, and `active_key` says of the ring's active key:

    the table has the key, not retired                    ADOPTED   it seals
    the table has the key, retired                        RETIRED   refused
    the table is empty, no other key has an envelope      UNKNOWN   it is adopted (`FIRST`), and seals
    the table has the ring's other key, not retired       UNKNOWN   it is adopted (`ROTATION`), and seals
    else                                                  UNKNOWN   refused

`ensure_key_may_seal` acts on it before values are sealed, `may_seal` only asks, for readiness. `MAY_SEAL` is
the condition of the statement that writes envelopes, because another process can retire the key at any time.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, bindparam, exists, insert, or_, select

from secretsvc.audit.rules.records import write_record
from secretsvc.db.statements import in_parameter, insert_or_ignore
from secretsvc.db.types import FoundRow
from secretsvc.kernel.actors import SYSTEM
from secretsvc.kernel.crypto import Envelope, KeyAdoption, KeyRing, KeyStatus
from secretsvc.kernel.errors import DecryptFailed, ServerMisconfigured, UnknownKid
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.secrets.models import digest_key, master_key, secret_version

log = logging.getLogger(__name__)

#: How a key came into use, as its record says.
FIRST, ROTATION, COMMAND = "first", "rotation", "command"

#: The label of the keys of digests, and the purpose of the envelopes of those whose master key may go.
DIGESTS, DIGEST_KEY = b"description", "digest-key/1"


class Plain(NamedTuple):
    """A value and what the AAD of its envelope names."""

    environment_id: UUID
    key: str
    version: int
    value: str

    def __repr__(self) -> str:
        return f"Plain({self.key!r}, {self.version})"


class ActiveKey(NamedTuple):
    """What the database knows of a ring's active key, and the newest kid that was adopted there.

    `adopted_by` is how sealing adopts an unknown key, None where it does not; the key would then get
    `next_number`.
    """

    status: KeyStatus
    newest: str | None
    next_number: int
    adopted_by: str | None = None


def seal(call: UseCaseContext, values: Sequence[Plain]) -> list[Envelope]:
    """The values under the active key, each with its AAD.

    A statement that is written with them must have the condition `MAY_SEAL`. Raises `ServerMisconfigured` for
    a key that may not seal.
    """
    ring = call.ring
    if values:
        ensure_key_may_seal(call)
    sealed: list[Envelope] = []
    for environment_id, some in groupby(values, attrgetter("environment_id")):
        inside = [*some]
        plain = ((one.value.encode(), one.key, one.version) for one in inside)
        sealed += ring.within(environment_id).seal_many(plain, len(inside))
    return sealed


def seal_own(ring: KeyRing, purpose: str, secret: bytes) -> Envelope:
    """A secret of the service's own under the active key; each purpose has one.

    The statement that writes it has the condition `MAY_SEAL`, or `ensure_key_may_seal` was called before.
    """
    return ring.within(UUID(int=0), purpose).seal(secret, "", 0)


def open_own(ring: KeyRing, purpose: str, envelope: bytes, kid: str) -> bytes:
    """What `seal_own` sealed. Raises `UnknownKid` and `DecryptFailed`."""
    return ring.within(UUID(int=0), purpose).open(envelope, kid, "", 0)


def invalidate_key_status(call: UseCaseContext) -> None:
    """Forget the status of the active key, so that the next use of it asks the database."""
    call.ring.keep(None)


def _known_keys(connection: Connection) -> dict[str, FoundRow]:
    """The adopted keys by their kid, the newest last: `place`, and `retired_at`, None for one that seals."""
    return {row.kid: row for row in connection.execute(_KNOWN).all()}


def active_key(connection: Connection, ring: KeyRing) -> ActiveKey:
    """What the database knows of the ring's active key, and how sealing adopts it; changes nothing."""
    known = _known_keys(connection)
    newest = next(reversed(known), None)
    next_number = known[newest].place + 1 if newest is not None else 1
    own = known.get(ring.active_kid)
    if own is not None:
        status = KeyStatus.ADOPTED if own.retired_at is None else KeyStatus.RETIRED
        return ActiveKey(status, newest, next_number)
    if not known:
        # Envelopes without an adopted key are those of processes from before there was this guard.
        others = connection.execute(_SEALED_BY_OTHERS, {"active_kid": ring.active_kid}).scalar_one()
        return ActiveKey(KeyStatus.UNKNOWN, newest, next_number, None if others else FIRST)
    is_rotation = any(known[kid].retired_at is None for kid in ring.kids if kid in known)
    return ActiveKey(KeyStatus.UNKNOWN, newest, next_number, ROTATION if is_rotation else None)


def may_seal(connection: Connection, ring: KeyRing) -> bool:
    """Whether the ring's active key is adopted, or would be by its first envelope."""
    key = active_key(connection, ring)
    return key.status is KeyStatus.ADOPTED or key.adopted_by is not None


def ensure_key_may_seal(call: UseCaseContext) -> None:
    """Adopts the active key where that is due. Raises `ServerMisconfigured` for a key that may not seal.

    A good status is remembered, a bad one is asked for each time, so that it can be mended.
    """
    ring = call.ring
    if ring.verdict is not None and ring.verdict.is_good:
        return
    key = active_key(call.connection, ring)
    while key.adopted_by is not None:
        if adopt_key(call, ring.active_kid, key.next_number, key.adopted_by):
            # Not remembered: this transaction may yet be undone.
            ring.keep(None)
            return
        # Another transaction took the number, and has ended: what it adopted decides.
        key = active_key(call.connection, ring)
    is_new = ring.keep(KeyAdoption(key.status, key.newest))
    if key.status is KeyStatus.ADOPTED:
        return
    if is_new:
        log.error(
            "MASTER_KEY has kid %s, which is %s: it seals nothing; the newest adopted master key is %s",
            ring.active_kid,
            key.status,
            key.newest or "none",
        )
    raise ServerMisconfigured()


def adopt_key(call: UseCaseContext, kid: str, number: int, way: str) -> bool:
    """Adopts an unknown key; False where another transaction took its number. `way` is for the record.

    The record is by the system, whatever the request (contract 3.11).
    """
    row = {"kid": kid, "place": number, "adopted_at": call.now, "retired_at": None}
    if not insert_or_ignore(call.connection, master_key, row):
        return False
    _keep_digest_keys(call.connection, call.ring)
    detail = {"kid": kid, "by": way}
    write_record(
        call.connection,
        SYSTEM,
        call.now,
        call.request_id,
        "keyring.adopt",
        detail=detail,
        client_address=call.client_address,
    )
    return True


def digest_key_of(connection: Connection, ring: KeyRing, kid: str) -> bytes:
    """The key of digests that name a master key, which may be gone.

    Raises `UnknownKid` where no key of the ring leads to it, and `DecryptFailed` for a row that was changed.
    """
    if kid in ring.kids:
        return ring.subkey(DIGESTS, kid=kid)
    held_by = in_parameter(digest_key.c.held_by, "kids", connection.dialect.name)
    found = select(digest_key).where(digest_key.c.kid == kid, held_by).limit(1)
    row = connection.execute(found, {"kids": [*ring.kids]}).first()
    if row is None:
        raise UnknownKid(kid, ring.kids)
    return open_own(ring, f"{DIGEST_KEY}/{kid}", row.envelope, row.held_by)


def _keep_digest_keys(connection: Connection, ring: KeyRing) -> None:
    """Has the active key hold those that the ring's other keys lead to: records name them for ever."""
    held = connection.execute(select(digest_key.c.kid, digest_key.c.held_by)).all()
    kids = {*ring.kids, *(row.kid for row in held)} - {ring.active_kid}
    for kid in sorted(kids - {row.kid for row in held if row.held_by == ring.active_kid}):
        try:
            found = digest_key_of(connection, ring, kid)
        except (DecryptFailed, UnknownKid) as error:
            log.error("digests under the master key %s can no longer be compared: %s", kid, error.code)
            continue
        envelope = seal_own(ring, f"{DIGEST_KEY}/{kid}", found).blob
        row = {"kid": kid, "held_by": ring.active_kid, "envelope": envelope}
        connection.execute(insert(digest_key), row)


_KNOWN = select(master_key.c.kid, master_key.c.place, master_key.c.retired_at).order_by(master_key.c.place)
#: The condition that the key of the parameter `active_kid` may seal, for a statement of whatever is written.
MAY_SEAL = exists(
    select(master_key.c.kid).where(
        master_key.c.kid == bindparam("active_kid"), master_key.c.retired_at.is_(None)
    )
)
# Two ranges are read off the index; "not equal" would read the whole table.
_SEALED_BY_OTHERS = select(
    or_(
        exists(select(secret_version.c.kid).where(secret_version.c.kid < bindparam("active_kid"))),
        exists(select(secret_version.c.kid).where(secret_version.c.kid > bindparam("active_kid"))),
    )
)
