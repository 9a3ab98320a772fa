"""The records of values that were read (specification, "Secrets" 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from secretsvc.audit.models import FULL_COPY, FULL_EXPORT, PAST_EXPORT
from secretsvc.audit.rules.records import DisclosedValue, record, record_each, record_keys
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.use_case import UseCaseContext

REVEAL, EXPORT = "secret.reveal", "secret.export"


def record_reveal(
    call: UseCaseContext, project_id: UUID, environment_id: UUID, reason: str, key: str, version: int
) -> None:
    """One value was read."""
    where = {"project_id": project_id, "environment_id": environment_id}
    detail = {"key": key, "version": version}
    record(call, REVEAL, **where, reason=reason, detail=detail, key=key, given=version)


def record_reveals(
    call: UseCaseContext, project_id: UUID, environment_id: UUID, reason: str, versions: Mapping[str, int]
) -> None:
    """Values were read at once, by their keys: a record for each, in one statement."""
    given = [DisclosedValue(key, version) for key, version in versions.items()]
    if given:
        record_each(call, REVEAL, given, project_id, environment_id, reason)


def record_export(
    call: UseCaseContext,
    project_id: UUID,
    environment_id: UUID,
    reason: str,
    rev: int,
    count: int,
    *,
    older: bool = False,
) -> None:
    """All the values of a revision were read at once, so many; `older` where that revision was asked for."""
    where = {"project_id": project_id, "environment_id": environment_id}
    detail = {"rev": rev, "count": count}
    key = PAST_EXPORT if older else FULL_EXPORT
    record(call, EXPORT, **where, reason=reason, detail=detail, key=key, given=rev)


def record_copied(
    call: UseCaseContext,
    project_id: UUID,
    environment_id: UUID,
    rev: int,
    given: Mapping[str, int],
    target: Mapping[str, object],
    *,
    whole: bool,
) -> None:
    """These keys, with their versions of a revision, were read by a copy to the target (contract 5.4).

    With `whole` they are all that there were.
    """
    record_id = new_id()
    detail = {"rev": rev, "count": len(given), "copied_to": target, "keys": [*given]}
    what: dict[str, Any] = {"project_id": project_id, "environment_id": environment_id}
    if whole:
        what |= {"key": FULL_COPY, "given": rev}
    else:
        record_keys(call, environment_id, record_id, given)
    record(call, EXPORT, **what, reason="copy", detail=detail, record_id=record_id)
