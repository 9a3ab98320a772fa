"""Signed notes and checkpoints of a log, in the forms of C2SP (signed-note, tlog-checkpoint); Ed25519."""

from __future__ import annotations

import base64
import binascii
import re
from hashlib import sha256
from typing import NamedTuple, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ED25519 = b"\x01"
KEY_BYTES, ID_BYTES = 32, 4
#: Names of keys and origins of logs: what no reader of notes takes apart. (Notes allow more of Unicode.)
NAME = re.compile(r"[!-*,-~]{1,255}")
_VERIFIER = re.compile(r"([!-*,-~]{1,255})\+([0-9a-f]{8})\+([A-Za-z0-9+/]+=*)")
_BODY = re.compile(r"([^\n]+)\n(0|[1-9][0-9]{0,18})\n([A-Za-z0-9+/]{43}=)\n", re.ASCII)


class Checkpoint(NamedTuple):
    """The head of a log: how many entries it has, and the hash of their tree."""

    origin: str
    size: int
    root: bytes

    @property
    def body(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


class Signatory(Protocol):
    """Whoever signs a log: one key, or several of which each had its time."""

    @property
    def name(self) -> str:
        """The name of each of its keys."""

    def has_signed(self, note: str) -> str | None:
        """The text of a note that is signed, else None."""


class Verifier(NamedTuple):
    """A public key under its name."""

    name: str
    public_key: bytes

    @property
    def key_id(self) -> bytes:
        """The four bytes that stand before a signature."""
        return sha256(self.name.encode() + b"\n" + ED25519 + self.public_key).digest()[:ID_BYTES]

    @property
    def text(self) -> str:
        """The verifier key: name, id and key."""
        key = base64.b64encode(ED25519 + self.public_key).decode()
        return f"{self.name}+{self.key_id.hex()}+{key}"

    def has_signed(self, note: str) -> str | None:
        """The text of a note that the key has signed, else None. Other keys' signatures are left aside."""
        body, found, signatures = note.rpartition("\n\n")
        if not found or not signatures.endswith("\n"):
            return None
        text = body + "\n"
        own = [signature for line in signatures[:-1].split("\n") if (signature := self._signature(line))]
        return text if len(own) == 1 and self._fits(own[0], text) else None

    def _signature(self, line: str) -> bytes | None:
        dash, _, rest = line.partition(" ")
        name, _, encoded = rest.partition(" ")
        try:
            found = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            return None
        is_own = (dash, name, found[:ID_BYTES]) == ("\N{EM DASH}", self.name, self.key_id)
        return found[ID_BYTES:] if is_own else None

    def _fits(self, signature: bytes, text: str) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(signature, text.encode())
        except InvalidSignature:
            return False
        return True


def sign(name: str, private_key: bytes, text: str, *further_keys: bytes) -> str:
    """The text, which ends in a line break, as a note under each of the keys, which have that name."""
    lines = [_line(name, one, text) for one in (private_key, *further_keys)]
    return f"{text}\n{''.join(lines)}"


def _line(name: str, private_key: bytes, text: str) -> str:
    key = Ed25519PrivateKey.from_private_bytes(private_key)
    verifier = Verifier(name, key.public_key().public_bytes_raw())
    signature = base64.b64encode(verifier.key_id + key.sign(text.encode())).decode()
    return f"\N{EM DASH} {name} {signature}\n"


def public_key_of(private_key: bytes) -> bytes:
    """The 32 bytes of the public key that goes with those of the private one."""
    return Ed25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw()


def read_verifier(text: str) -> Verifier:
    """Raises ValueError for what is no verifier key of Ed25519, or names another key than it holds."""
    found = _VERIFIER.fullmatch(text)
    if found is None:
        raise ValueError("not a verifier key")
    held = base64.b64decode(found[3], validate=True)
    verifier = Verifier(found[1], held[1:])
    if held[:1] != ED25519 or len(held) != 1 + KEY_BYTES or verifier.key_id.hex() != found[2]:
        raise ValueError("not a verifier key")
    return verifier


def read_checkpoint(note: str, signatory: Signatory) -> Checkpoint:
    """A checkpoint that is signed as of the signatory's own log. Raises ValueError for everything else."""
    body = signatory.has_signed(note)
    if body is None:
        raise ValueError(f"not signed by this key{other_log(note, signatory.name)}")
    found = checkpoint_of(body)
    if found is None or found.origin != signatory.name:
        raise ValueError("not a checkpoint of this log")
    return found


def other_log(note: str, name: str) -> str:
    """That a note names another log than that one, to go on a sentence with; empty where it does not."""
    other = note.partition("\n")[0].partition(" ")[0]
    if other == name or not NAME.fullmatch(other):
        return ""
    return f": it is of the log {other}, and the key of {name} (AUDIT_ORIGIN is for the life of a log)"


def checkpoint_of(body: str) -> Checkpoint | None:
    """What a text says that is that of a checkpoint and nothing else; None for another."""
    found = _BODY.fullmatch(body)
    return None if found is None else Checkpoint(found[1], int(found[2]), base64.b64decode(found[3]))
