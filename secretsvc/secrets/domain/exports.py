"""Use cases that give a whole environment away: its values by key, or a file of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from secretsvc.authorization.rules.checks import assert_can
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.schema_annotations import Count, SecretKey, schema_name
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import find_environment
from secretsvc.secrets.formats.exports import Writer
from secretsvc.secrets.queries.contents import read_values
from secretsvc.secrets.queries.decryption import decrypt_all
from secretsvc.secrets.queries.read_records import record_export

T = TypeVar("T")


@schema_name("Export")
@dataclass(frozen=True, slots=True)
class Exported:
    """Every value of an environment by key, sorted; no representation shows them."""

    rev: Count
    secrets: dict[SecretKey, str]

    def __repr__(self) -> str:
        return f"Exported(rev={self.rev}, count={len(self.secrets)})"


@dataclass(frozen=True, slots=True)
class File:
    """Every value of a revision in some format; no representation shows them."""

    rev: int
    content: bytes

    def __repr__(self) -> str:
        return f"File(rev={self.rev}, size={len(self.content)})"


def export_secrets(call: UseCaseContext, at: ScopePath, reason: str, rev: int | None = None) -> Exported:
    """Every value, now or at a revision; one that cannot be opened fails them all.

    Specification, "Secrets" 3; contract 5.1. Raises `DecryptFailed`, `UnknownKid`, `NotFound` for a later
    revision, and `Unavailable` where too many are under way (contract 8.1).
    """
    assert_can(call, Role.READER, at)
    return Exported(*_given(call, at, reason, rev, lambda values: values))


def export_file(
    call: UseCaseContext, at: ScopePath, write: Writer, reason: str, rev: int | None = None
) -> File:
    """As `export_secrets`, in a format (contract 5.8).

    Raises the same, and what `write` does for what it cannot carry: then nothing is recorded.
    """
    assert_can(call, Role.READER, at)
    return File(*_given(call, at, reason, rev, write))


def _given(
    call: UseCaseContext, at: ScopePath, reason: str, rev: int | None, make: Callable[[dict[str, str]], T]
) -> tuple[int, T]:
    """The revision and what is made of its values, recorded."""
    found = read_values(call, find_environment(call, at), rev)
    values = decrypt_all(call, found)
    made = make(values)
    older = rev is not None
    record_export(call, found.project_id, found.id, reason, found.rev, len(values), older=older)
    return found.rev, made
