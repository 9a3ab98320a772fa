"""Envelopes by hand: what a value is bound to in one piece, where the service has it in two."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from secretsvc.kernel.crypto import STORED_VALUE, Envelope, KeyRing, inner_data, outer_data


@dataclass(frozen=True, slots=True)
class Context:
    """What a ciphertext is bound to; the same bytes open under exactly the same context."""

    environment_id: UUID
    key: str
    version: int
    purpose: str = STORED_VALUE


def sealed(ring: KeyRing, plaintext: bytes, context: Context) -> Envelope:
    inside = ring.within(context.environment_id, context.purpose)
    return inside.seal(plaintext, context.key, context.version)


def opened(ring: KeyRing, envelope: bytes, kid: str, context: Context) -> bytes:
    inside = ring.within(context.environment_id, context.purpose)
    return inside.open(envelope, kid, context.key, context.version)


def associated_data(head: bytes, context: Context) -> bytes:
    outer = outer_data(head, context.purpose, context.environment_id)
    return outer + inner_data(context.key, context.version)
