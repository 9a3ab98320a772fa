"""Service tokens: what they look like, and how one is told from a guess (contract 6.4)."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import zlib
from dataclasses import dataclass

PREFIX = "ssv_"
PREFIX_LENGTH = len(PREFIX) + 4
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BODY, _CHECKSUM, _BYTES = 43, 6, 32
_FORM = re.compile(rf"{PREFIX}([0-9A-Za-z]{{{_BODY}}})([0-9A-Za-z]{{{_CHECKSUM}}})")


@dataclass(frozen=True, slots=True)
class ServiceToken:
    """A token of the right form, by the SHA-256 that is stored of it; whose it is, the database knows."""

    digest: bytes


def is_service_token(token: str) -> bool:
    """Whether it is meant to be one, whatever else is wrong with it."""
    return token.startswith(PREFIX)


def new_token() -> str:
    """A token that nobody has."""
    return _token(secrets.token_bytes(_BYTES))


def token_of_attempt(key: bytes, attempt: bytes) -> str:
    """The token of one attempt to make one: whoever lacks the key cannot tell it from a random one."""
    return _token(hmac.digest(key, attempt, "sha256"))


def prefix_of(token: str) -> str:
    """By what a token is known to those who must not have it."""
    return token[:PREFIX_LENGTH]


def token_digest(token: str) -> bytes:
    """What is stored of a token: its SHA-256. Raises ValueError for a wrong form or checksum."""
    found = _FORM.fullmatch(token)
    if found is None or found[2] != _checksum(found[1]):
        raise ValueError
    return hashlib.sha256(token.encode()).digest()


def recorded_digest(digest: object) -> str:
    """Return a digest of a stored digest, in hexadecimal: it shows an exchange, and authenticates nobody."""
    return hashlib.sha256(digest if isinstance(digest, bytes) else b"").hexdigest()[:32]


def _token(random: bytes) -> str:
    body = _base62(int.from_bytes(random, "big"), _BODY)
    return PREFIX + body + _checksum(body)


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECKSUM)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
