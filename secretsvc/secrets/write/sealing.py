"""The one way to an envelope, and its guard: only a master key that is in use here may seal (decision 0025).

A process with a key that this database does not know would write what nobody else can open.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, bindparam, exists, insert, or_, select

from secretsvc.audit.rules.records import write as write_record
from secretsvc.db.statements import in_parameter, insert_or_ignore
from secretsvc.db.types import FoundRow
from secretsvc.kernel.actors import SYSTEM
from secretsvc.kernel.crypto import Envelope, KeyAdoption, KeyRing, KeyStatus
from secretsvc.kernel.errors import DecryptFailed, ServerMisconfigured, UnknownKid
from secretsvc.kernel.use_case import Call
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


def seal(call: Call, values: Sequence[Plain]) -> list[Envelope]:
    """The values under the active key, each with its AAD; where it may be, the key is adopted for it.

    What is written with them must hold `MAY_SEAL` in one of its statements, because another process may
    retire the key at any time. Raises `ServerMisconfigured` for a key that may not seal.
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

    Whether the key may is for the statement to hold that writes it, as above, or for `admit`.
    """
    return ring.within(UUID(int=0), purpose).seal(secret, "", 0)


def open_own(ring: KeyRing, purpose: str, envelope: bytes, kid: str) -> bytes:
    """What `seal_own` sealed. Raises `UnknownKid` and `DecryptFailed`."""
    return ring.within(UUID(int=0), purpose).open(envelope, kid, "", 0)


def invalidate_key_status(call: Call) -> None:
    """Has the next who seals ask the database again whether the active key may."""
    call.ring.keep(None)


def known_keys(connection: Connection) -> dict[str, FoundRow]:
    """The adopted keys by their kid, the newest last: `place`, and `retired_at`, None for one that seals."""
    return {row.kid: row for row in connection.execute(_KNOWN).all()}


def may_seal(connection: Connection, ring: KeyRing) -> bool:
    """Whether the ring's active key is in use, or would be by its first envelope; it adopts nothing."""
    known = known_keys(connection)
    own = known.get(ring.active_kid)
    if own is not None:
        return own.retired_at is None
    return _way_in(connection, ring, known) is not None


def adopt_key(call: Call, kid: str, number: int, way: str) -> bool:
    """Adopts a key that was not known; False where another was quicker.

    The record is by the system, whoever's request it was (contract 3.11).
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


def ensure_key_may_seal(call: Call) -> None:
    """Adopts the active key where it may be, and refuses one that may not seal: `ServerMisconfigured`.

    A bad verdict is asked for each time, so that it can be mended.
    """
    ring = call.ring
    if ring.verdict is not None and ring.verdict.is_good:
        return
    verdict = _judge(call, ring)
    if verdict is None or verdict.is_good:
        ring.keep(verdict)
        return
    if ring.keep(verdict):
        log.error(
            "MASTER_KEY has kid %s, which is %s: it seals nothing; the newest adopted master key is %s",
            ring.active_kid,
            verdict.standing,
            verdict.newest or "none",
        )
    raise ServerMisconfigured()


def _judge(call: Call, ring: KeyRing) -> KeyAdoption | None:
    """The database's verdict; None for a key that is adopted here, which may yet be undone."""
    while True:
        known = known_keys(call.connection)
        newest = next(reversed(known), None)
        own = known.get(ring.active_kid)
        if own is not None:
            standing = KeyStatus.ADOPTED if own.retired_at is None else KeyStatus.RETIRED
            return KeyAdoption(standing, newest)
        way = _way_in(call.connection, ring, known)
        if way is None:
            return KeyAdoption(KeyStatus.UNKNOWN, newest)
        number = known[newest].place + 1 if newest is not None else 1
        if adopt_key(call, ring.active_kid, number, way):
            return None
        # Another transaction took the number, and has ended: what it adopted decides.


def _way_in(connection: Connection, ring: KeyRing, known: dict[str, FoundRow]) -> str | None:
    """How an unknown active key comes into use by sealing, None if it does not."""
    if not known:
        # Envelopes without an adopted key are those of processes from before there was this guard.
        others = connection.execute(_SEALED_BY_OTHERS, {"active_kid": ring.active_kid}).scalar_one()
        return None if others else FIRST
    beside = (known[kid] for kid in ring.kids if kid in known)
    return ROTATION if any(one.retired_at is None for one in beside) else None


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
