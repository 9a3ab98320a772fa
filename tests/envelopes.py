"""Envelopes by hand: what a value is bound to in one piece, where the service has it in two."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import pytest

from secretsvc.kernel.crypto import (
    STORED_VALUE,
    Envelope,
    EnvironmentCipher,
    KeyRing,
    aad_prefix,
    aad_suffix,
)


@dataclass(frozen=True, slots=True)
class Context:
    """What a ciphertext is bound to; the same bytes open under exactly the same context."""

    environment_id: UUID
    key: str
    version: int
    purpose: str = STORED_VALUE


def sealed(ring: KeyRing, plaintext: bytes, context: Context) -> Envelope:
    cipher = ring.within(context.environment_id, context.purpose)
    return cipher.seal(plaintext, context.key, context.version)


def opened(ring: KeyRing, envelope: bytes, kid: str, context: Context) -> bytes:
    cipher = ring.within(context.environment_id, context.purpose)
    return cipher.open(envelope, kid, context.key, context.version)


def associated_data(head: bytes, context: Context) -> bytes:
    prefix = aad_prefix(head, context.purpose, context.environment_id)
    return prefix + aad_suffix(context.key, context.version)


def noted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The keys and versions of the envelopes that will be opened, as soon as they are."""
    seen: list[tuple[str, int]] = []
    usual = EnvironmentCipher.open

    def noting(
        self: EnvironmentCipher, envelope: bytes | None, kid: str | None, key: str, version: int
    ) -> bytes:
        seen.append((key, version))
        return usual(self, envelope, kid, key, version)

    monkeypatch.setattr(EnvironmentCipher, "open", noting)
    return seen
