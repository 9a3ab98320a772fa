"""The key ring and the envelope: how a value is sealed, what it is bound to, and what can open it.

An envelope is one version byte, 8 bytes of key id, a 12 byte nonce, and AES-256-GCM's output with its
16 byte tag. Each master key is only ever fed to HKDF; what encrypts is derived from it for one
environment. The key ids are derived too, under a label of their own, so that they reveal nothing.
"""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import lru_cache
from struct import pack
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
NONCE_END = HEAD_BYTES + NONCE_BYTES
SHORTEST = NONCE_END + TAG_BYTES
VERSION_BYTES = 8
CACHED_CIPHERS = 1024

# A published vector: NIST's GCM test case 14, 16 zero bytes under a zero key and nonce.
KNOWN_ANSWER = bytes.fromhex("cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919")


STORED_VALUE = "secret-value/1"
#: A plaintext, and its key and version.
Value = tuple[bytes, str, int]
#: `EnvironmentCipher.open` of one environment.
Open = Callable[[bytes | None, str | None, str, int], bytes]


class Envelope(NamedTuple):
    """A sealed value, and the id of its master key as the column beside it holds it."""

    blob: bytes
    kid: str


class KeyStatus(StrEnum):
    """What a database knows of a master key, in the words of the log."""

    ADOPTED = "adopted"
    RETIRED = "retired"
    UNKNOWN = "not adopted"


class KeyAdoption(NamedTuple):
    """Whether the active key may seal into the database, and the newest kid that was adopted there."""

    standing: KeyStatus
    newest: str | None

    @property
    def is_good(self) -> bool:
        """Whether it may seal."""
        return self.standing is KeyStatus.ADOPTED


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
        self._cipher = lru_cache(maxsize=CACHED_CIPHERS)(self._make_cipher)
        #: The last known verdict on the active key, None before the first write has asked for it.
        self.verdict: KeyAdoption | None = None
        self._turning = threading.Lock()

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
        cipher = self.within(UUID(int=0), "ring-check/1")
        try:
            works = AESGCM(bytes(KEY_BYTES)).encrypt(bytes(NONCE_BYTES), bytes(16), None) == KNOWN_ANSWER
            for kid in self.kids:
                works &= cipher.open(cipher.seal_under(kid, b"known", "", 0), kid, "", 0) == b"known"
        except DecryptFailed:
            works = False
        if not works:
            raise ServerMisconfigured()

    def keep(self, verdict: KeyAdoption | None) -> bool:
        """Stores it as the last known one; whether it differs from the one before."""
        with self._turning:
            before, self.verdict = self.verdict, verdict
        return before != verdict

    def within(self, environment_id: UUID, purpose: str = STORED_VALUE) -> EnvironmentCipher:
        """The ring's cipher for one environment, with which many of its values are sealed or opened."""
        return self._cipher(environment_id, purpose)

    def subkey(self, label: bytes, length: int = 32, kid: str | None = None) -> bytes:
        """`length` bytes for another use than sealing, from the active key or that of `kid`.

        Each use has a label. They tell nothing of the ring or of each other. Raises UnknownKid for a key
        that the ring lacks.
        """
        kid = kid or self.active_kid
        master = self._masters.get(kid)
        if master is None:
            raise UnknownKid(kid, self.kids)
        return _derive(master, b"subkey/" + label, length)

    def _make_cipher(self, environment_id: UUID, purpose: str) -> EnvironmentCipher:
        keys: dict[str, EnvelopeKey] = {}
        for kid, master in self._masters.items():
            head = FORMAT + bytes.fromhex(kid)
            cipher = AESGCM(_derive(master, b"enc/" + environment_id.bytes, KEY_BYTES))
            keys[kid] = EnvelopeKey(head, cipher, aad_prefix(head, purpose, environment_id))
        return EnvironmentCipher(keys, self.active_kid)


class EnvelopeKey(NamedTuple):
    """A master key in one environment: the head of its envelopes, its cipher, the AAD that they share."""

    head: bytes
    cipher: AESGCM
    aad_prefix: bytes


class EnvironmentCipher:
    """A key ring's keys for one environment, derived once for all of its values."""

    def __init__(self, keys: dict[str, EnvelopeKey], active_kid: str) -> None:
        self._keys, self._active_kid = keys, active_kid

    def seal(self, plaintext: bytes, key: str, version: int) -> Envelope:
        """An envelope under the active key, with a fresh random nonce, so that no two are alike."""
        return Envelope(self.seal_under(self._active_kid, plaintext, key, version), self._active_kid)

    def seal_under(self, kid: str, plaintext: bytes, key: str, version: int) -> bytes:
        """As `seal`, under any key of the ring."""
        return self._sealed(kid, [(plaintext, key, version)], 1)[0]

    def seal_many(self, values: Iterable[Value], count: int) -> list[Envelope]:
        """As `seal` of each of so many; no two of their plaintexts need to be there at the same time."""
        return [Envelope(blob, self._active_kid) for blob in self._sealed(self._active_kid, values, count)]

    def _sealed(self, kid: str, values: Iterable[Value], count: int) -> list[bytes]:
        head, cipher, prefix = self._keys[kid]
        encrypt = cipher.encrypt
        # At once: to ask the system for each nonce takes as long as to encrypt.
        drawn = os.urandom(NONCE_BYTES * count)
        nonces = (drawn[at : at + NONCE_BYTES] for at in range(0, len(drawn), NONCE_BYTES))
        return [
            head + nonce + encrypt(nonce, plaintext, prefix + aad_suffix(key, version))
            for nonce, (plaintext, key, version) in zip(nonces, values, strict=True)
        ]

    def open(self, envelope: bytes | None, kid: str | None, key: str, version: int) -> bytes:
        """The plaintext of an envelope whose row names `kid`.

        Raises UnknownKid when the ring lacks that key, and DecryptFailed for everything else: an
        envelope that is missing or names another key than its row, another context, any change of any byte.
        """
        # By its id, never by trial: GCM lets one ciphertext open under two chosen keys.
        found, blob = self._keys.get(kid or ""), envelope or b""
        if found is None or len(blob) < SHORTEST or not blob.startswith(found.head):
            raise self._refusal(envelope, kid)
        nonce, sealed = blob[HEAD_BYTES:NONCE_END], blob[NONCE_END:]
        try:
            return found.cipher.decrypt(nonce, sealed, found.aad_prefix + aad_suffix(key, version))
        except InvalidTag:
            raise DecryptFailed(kid) from None

    def _refusal(self, envelope: bytes | None, kid: str | None) -> DecryptFailed | UnknownKid:
        """UnknownKid only for what is an envelope, and names the same key as its row."""
        if envelope is None or len(envelope) < SHORTEST or not envelope.startswith(FORMAT):
            return DecryptFailed(kid)
        if kid is None or kid in self._keys or envelope[1:HEAD_BYTES].hex() != kid:
            return DecryptFailed(kid)
        return UnknownKid(kid, tuple(self._keys))


def aad_prefix(head: bytes, purpose: str, environment_id: UUID) -> bytes:
    """The part of the AAD that all values of an environment have in common: head, purpose, environment.

    `aad_suffix` follows it, and both are all that GCM authenticates beside the ciphertext. Each part has its
    length before it, so that two contexts never share one encoding, whatever they hold.
    """
    parts = purpose.encode(), environment_id.bytes
    return head + b"".join(pack(">I", len(part)) + part for part in parts)


def aad_suffix(key: str, version: int) -> bytes:
    """The rest of the AAD of one value: its key and its version, which is from 0 to 2^64-1."""
    name = key.encode()
    return pack(f">I{len(name)}sIQ", len(name), name, VERSION_BYTES, version)


def generate_master_key() -> str:
    """A fresh master key as `MASTER_KEY` takes it: base64 of 32 random bytes (contract 1)."""
    return base64.b64encode(os.urandom(KEY_BYTES)).decode("ascii")


def _derive(master: bytes, label: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, None, b"secretsvc/1/" + label).derive(master)


def _kid(master: bytes) -> str:
    return _derive(master, b"kid", KID_BYTES).hex()
