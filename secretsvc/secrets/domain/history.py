"""What an environment was: its states, its revisions, its deleted keys, and values of older versions."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import bindparam, select

from secretsvc.authorization.rules.checks import assert_can
from secretsvc.db.statements import PerDialect
from secretsvc.kernel.actors import Maker, author
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.schema_annotations import (
    Count,
    Cursor,
    Ordinal,
    Reason,
    SecretKey,
    Time,
    Word,
    schema_name,
)
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import find_environment
from secretsvc.secrets.domain.reads import Value
from secretsvc.secrets.models import revision
from secretsvc.secrets.queries.plan import PlannedChange
from secretsvc.secrets.queries.read_records import record_reveal
from secretsvc.secrets.queries.revision_changes import changes_of_revisions
from secretsvc.secrets.queries.rows import find_version, open_value
from secretsvc.secrets.queries.tombstones import select_deleted


@schema_name("Revision")
@dataclass(frozen=True, slots=True)
class RevisionRow:
    """What one write made of an environment, in epoch milliseconds; `changes` are sorted by key.

    `action` and `reason` are None for one that is older than these rows; `created_by` is an identity id or
    "system".
    """

    rev: Ordinal
    action: Word | None
    reason: Reason | None
    created_at: Time
    created_by: Maker
    changes: list[PlannedChange]


@schema_name("Revisions")
@dataclass(frozen=True, slots=True)
class RevisionList:
    """A page of revisions, newest first; `rev` is the environment's, read before them."""

    rev: Count
    items: list[RevisionRow]
    next_cursor: Cursor | None


@schema_name("DeletedKey")
@dataclass(frozen=True, slots=True)
class Deleted:
    """A deleted key; `version` is the last one with a value, `deleted_by` an identity id or "system"."""

    key: SecretKey
    version: Ordinal
    deleted_at: Time
    deleted_by: Maker


@dataclass(frozen=True, slots=True)
class DeletedKeys:
    """A page of deleted keys, sorted; `rev` is the environment's, read before them."""

    rev: Count
    items: list[Deleted]
    next_cursor: SecretKey | None


def reveal_version(call: UseCaseContext, at: ScopePath, key: str, version: int, *, reason: str) -> Value:
    """One value of any version, also of a deleted key, recorded as `reveal_secret` does (contract 5.1).

    Raises `NotFound`, also for a missing version and a tombstone, `DecryptFailed`, `UnknownKid`.
    """
    assert_can(call, Role.READER, at)
    project_id, sealed = find_version(call, at, key, version)
    value = open_value(call, sealed)
    record_reveal(call, project_id, sealed.environment_id, reason, key, version)
    return Value(key, value)


def list_revisions(
    call: UseCaseContext, at: ScopePath, limit: int, cursor: int | None = None
) -> RevisionList:
    """What became of an environment, newest first, from before the revision `cursor` (contract 5.2).

    A page ends before `limit` where it would have more than `MAX_CHANGES` changes.
    """
    assert_can(call, Role.READER, at)
    environment = find_environment(call, at)
    before = environment.rev + 1 if cursor is None else cursor
    parameters = {"environment_id": environment.id, "before": before, "limit": limit + 1}
    rows = call.connection.execute(_REVISIONS, parameters).all()
    changes, oldest = changes_of_revisions(call, environment.id, [row.rev for row in rows[:limit]])
    items = [
        RevisionRow(row.rev, row.action, row.reason, row.created_at, author(row.created_by), changes[row.rev])
        for row in rows[:limit]
        if row.rev >= oldest
    ]
    return RevisionList(environment.rev, items, str(items[-1].rev) if len(rows) > len(items) else None)


def deleted_keys(call: UseCaseContext, at: ScopePath, limit: int, cursor: str = "") -> DeletedKeys:
    """The keys that were deleted and are not there again, sorted, from after `cursor` (contract 5.6)."""
    assert_can(call, Role.READER, at)
    environment = find_environment(call, at)
    parameters = {"environment_id": environment.id, "after": cursor, "limit": limit + 1}
    rows = call.connection.execute(DELETED[call.connection.dialect.name], parameters).all()
    # A tombstone follows on a value.
    items = [
        Deleted(row.key, row.version - 1, row.deleted_at, author(row.created_by)) for row in rows[:limit]
    ]
    return DeletedKeys(environment.rev, items, items[-1].key if len(rows) > limit else None)


_REVISIONS = (
    select(revision)
    .where(
        revision.c.environment_id == bindparam("environment_id"),
        revision.c.rev < bindparam("before"),
    )
    .order_by(revision.c.rev.desc())
    .limit(bindparam("limit"))
)
DELETED = PerDialect(lambda name: select_deleted(name)[0])
