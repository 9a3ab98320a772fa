"""The head that a step of sealing begins with: it is the one that the log's key has signed last.

A process holds the head that it has verified, or signed itself, and the key that it has opened. What the
database has must be these very bytes; else the signature is looked at again, and the envelope opened.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, func, select, true

from secretsvc.db.types import FoundRow
from secretsvc.kernel.crypto import KeyRing
from secretsvc.sealedlog.models import audit_head, audit_seal, audit_signer
from secretsvc.sealedlog.rules.signer import private_key
from secretsvc.secrets.write.sealing import MAY_SEAL
from secretsvc.transparency.merkle import Frontier
from secretsvc.transparency.signed_note import Verifier, read_checkpoint

OTHER_TREE = "the tree that is stored is not the one that was signed last"
BEYOND = (
    "audit_seal holds positions that no head speaks of (below 0, or from {} on), which somebody wrote there: "
    "verify the log, then remove them"
)


class NotSignedLast(ValueError):
    """The log that the database holds is not what its key has signed last; why, in one line.

    Nothing is sealed on top of it: the key would sign whatever somebody has put there.
    """


class HeadRow(NamedTuple):
    """What is stored of a head."""

    size: int
    frontier: bytes
    checkpoint: str


def standing_of(connection: Connection, ring: KeyRing) -> FoundRow | None:
    """The signing key's row, with the head and the outermost positions; None where there is no key yet.

    `is_adopted` is whether the active master key is in use here. One statement.
    """
    return connection.execute(_STANDING, {"active_kid": ring.active_kid}).first()


def frontier_of(connection: Connection, verifier: Verifier) -> Frontier:
    """That of the head, which must be what the newest checkpoint says. Raises `NotSignedLast`."""
    row = connection.execute(select(*(audit_head.c[name] for name in HeadRow._fields))).first()
    return Frontier() if row is None else _verified(HeadRow(*row), verifier)


class Sealing:
    """With what is sealed: the ring that opens the signing key, and the log's name.

    To be used for all steps of a process, by one thread.
    """

    def __init__(self, ring: KeyRing, origin: str) -> None:
        self.ring, self.origin = ring, origin
        self._opened: tuple[tuple[bytes, bytes, str], bytes] | None = None
        self._held: tuple[bytes, HeadRow] | None = None

    def key(self, standing: FoundRow) -> bytes:
        """The private half of the signing key. Raises as `private_key`."""
        row = standing.public_key, standing.envelope, standing.kid
        if self._opened is None or self._opened[0] != row:
            self._opened = row, private_key(self.ring, standing)
        return self._opened[1]

    def frontier(self, standing: FoundRow) -> Frontier:
        """That of the head, which is the one that was signed last. Raises `NotSignedLast`."""
        size = standing.size or 0
        if standing.last is not None and not 0 <= standing.first <= standing.last < size:
            raise NotSignedLast(BEYOND.format(size))
        if standing.size is None:
            return Frontier()
        head = HeadRow(size, standing.frontier, standing.checkpoint)
        if self._held == (standing.public_key, head):
            return Frontier(size, head.frontier)
        frontier = _verified(head, Verifier(self.origin, standing.public_key))
        self.hold(standing.public_key, head)
        return frontier

    def hold(self, public_key: bytes, head: HeadRow) -> None:
        """Keeps a head that this key has signed; whether the database has it is for the next step to see."""
        self._held = public_key, head


def _verified(head: HeadRow, verifier: Verifier) -> Frontier:
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


_STANDING = select(
    *(audit_signer.c[name] for name in ("public_key", "envelope", "kid")),
    MAY_SEAL.label("is_adopted"),
    *(audit_head.c[name] for name in HeadRow._fields),
    # Of the positions, too: in one statement each is the end of an index.
    select(func.min(audit_seal.c.position)).scalar_subquery().label("first"),
    select(func.max(audit_seal.c.position)).scalar_subquery().label("last"),
).select_from(audit_signer.outerjoin(audit_head, true()))
