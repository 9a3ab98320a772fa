"""The key ring and the envelope: how a value is sealed, what it is bound to, and what can open it.

An envelope is one version byte, 8 bytes of key id, a 12 byte nonce, and AES-256-GCM's output with its
16 byte tag. Each master key is only ever fed to HKDF; what encrypts is derived from it for one
environment. The key ids are derived too, under a label of their own, so that they reveal nothing.
"""

from __future__ import annotations

import base64
import os
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from secretsvc.kernel.errors import DecryptFailed, ServerMisconfigured, UnknownKid

FORMAT = b"\x01"
KEY_BYTES, KID_BYTES, NONCE_BYTES, TAG_BYTES = 32, 8, 12, 16
HEAD_BYTES = len(FORMAT) + KID_BYTES
SHORTEST = HEAD_BYTES + NONCE_BYTES + TAG_BYTES
CACHED_CIPHERS = 1024

# A published vector: NIST's GCM test case 14, 16 zero bytes under a zero key and nonce.
KNOWN_ANSWER = bytes.fromhex("cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919")


@dataclass(frozen=True, slots=True)
class Context:
    """What a ciphertext is bound to; the same bytes open under exactly the same context.

    `version` is from 0 to 2^64-1. `purpose` carries a version of its own: a change of what a context
    means takes a new one.
    """

    environment_id: UUID
    key: str
    version: int
    purpose: str = "secret-value/1"


class Envelope(NamedTuple):
    """A sealed value, and the id of its master key as the column beside it holds it."""

    blob: bytes
    kid: str


class KeyRing:
    """The active master key, which seals and opens, and perhaps a retired one, which only opens.

    Raises ServerMisconfigured for a key that is not 32 bytes. Safe to share between threads.
    """

    def __init__(self, active: bytes, retired: bytes | None) -> None:
        masters = (active,) if retired is None else (active, retired)
        # AES-GCM itself would take 16 and 24 bytes too.
        if any(len(master) != KEY_BYTES for master in masters):
            raise ServerMisconfigured()
        self._masters = {_kid(master): master for master in masters}
        self.active_kid = _kid(active)
        self._cipher = lru_cache(maxsize=CACHED_CIPHERS)(self._derived_cipher)

    def __repr__(self) -> str:
        return f"<KeyRing {' '.join(self.kids)}>"

    @property
    def kids(self) -> tuple[str, ...]:
        """The ids of the keys held, the active one first: 16 lower-case hexadecimal digits each."""
        return tuple(self._masters)

    def check(self) -> None:
        """Tries the cipher against a published vector and each key with a value of its own.

        Raises ServerMisconfigured. It looks at no stored row: one bad row is not a bad service.
        """
        context = Context(UUID(int=0), "", 0, "ring-check/1")
        try:
            works = AESGCM(bytes(KEY_BYTES)).encrypt(bytes(NONCE_BYTES), bytes(16), None) == KNOWN_ANSWER
            for kid in self.kids:
                works &= self.open(self._sealed(kid, b"known", context).blob, kid, context) == b"known"
        except DecryptFailed:
            works = False
        if not works:
            raise ServerMisconfigured()

    def seal(self, plaintext: bytes, context: Context) -> Envelope:
        """An envelope under the active key, with a fresh random nonce, so that no two are alike."""
        return self._sealed(self.active_kid, plaintext, context)

    def open(self, envelope: bytes, kid: str, context: Context) -> bytes:
        """The plaintext of an envelope whose row names `kid`.

        Raises UnknownKid when the ring lacks that key, and DecryptFailed for everything else: an
        envelope that names another key than its row, another context, any change of any byte.
        """
        head, sealed = envelope[:HEAD_BYTES], envelope[HEAD_BYTES:]
        if len(envelope) < SHORTEST or head[:1] != FORMAT or head[1:].hex() != kid:
            raise DecryptFailed()
        # By its id and never in turn: GCM lets one ciphertext open under two chosen keys.
        if kid not in self._masters:
            raise UnknownKid(kid, self.kids)
        cipher = self._cipher(kid, context.environment_id)
        try:
            return cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated_data(head, context))
        except InvalidTag:
            raise DecryptFailed() from None

    def subkey(self, label: bytes, length: int = 32) -> bytes:
        """`length` bytes for another use than sealing, from the active key: one label for each use.

        They change when the active key does, and they tell nothing of the ring or of each other.
        """
        return _derive(self._masters[self.active_kid], b"subkey/" + label, length)

    def _sealed(self, kid: str, plaintext: bytes, context: Context) -> Envelope:
        head, nonce = FORMAT + bytes.fromhex(kid), os.urandom(NONCE_BYTES)
        cipher = self._cipher(kid, context.environment_id)
        return Envelope(head + nonce + cipher.encrypt(nonce, plaintext, associated_data(head, context)), kid)

    def _derived_cipher(self, kid: str, environment_id: UUID) -> AESGCM:
        return AESGCM(_derive(self._masters[kid], b"enc/" + environment_id.bytes, KEY_BYTES))


def associated_data(head: bytes, context: Context) -> bytes:
    """What GCM authenticates beside the ciphertext: the head, then purpose, environment, key, version.

    Each has its length before it, so that two contexts never share one encoding, whatever they hold.
    """
    parts = (
        context.purpose.encode(),
        context.environment_id.bytes,
        context.key.encode(),
        struct.pack(">Q", context.version),
    )
    return head + b"".join(struct.pack(">I", len(part)) + part for part in parts)


def generate_master_key() -> str:
    """A fresh master key as `MASTER_KEY` takes it: base64 of 32 random bytes (contract 1)."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode("ascii")


def _derive(master: bytes, label: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, None, b"secretsvc/1/" + label).derive(master)


def _kid(master: bytes) -> str:
    return _derive(master, b"kid", KID_BYTES).hex()
