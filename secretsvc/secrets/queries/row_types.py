"""The rows of secrets as statements find them, column by column; a list may stand for a tuple."""

from __future__ import annotations

from typing import NamedTuple, Protocol
from uuid import UUID

#: A key with its version, envelope, kid and description, and when it was made and last written.
ListedRow = tuple[str, int, bytes | None, str | None, str | None, int, int]
#: A key with its version, envelope and kid.
EnvelopeRow = tuple[str, int, bytes | None, str | None]


class FoundEnvironment(NamedTuple):
    """What reads of all that an environment holds need of it."""

    project_id: UUID
    id: UUID
    rev: int


class FoundSecret(Protocol):
    """A secret with its current version; `project_id`, `id`, `rev` and `protected` are its environment's.

    A damaged row lacks its envelope: the current version is missing, or a tombstone.
    """

    project_id: UUID
    id: UUID
    rev: int
    protected: bool
    secret_id: int
    version: int
    deleted: bool
    description: str | None
    envelope: bytes | None
    kid: str | None
