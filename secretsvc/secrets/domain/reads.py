"""Use cases that read secrets. Each read of a value leaves its audit row in the same transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from sqlalchemy import bindparam, select

from secretsvc.authorization.rules.checks import assert_can
from secretsvc.kernel.actors import Maker, author
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.errors import NotFound
from secretsvc.kernel.schema_annotations import Count, Kid, Ordinal, SecretKey, Time, schema_name
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import find_environment
from secretsvc.secrets.models import secret_version
from secretsvc.secrets.queries.contents import read_listed, read_values
from secretsvc.secrets.queries.decryption import decrypt_all, list_items
from secretsvc.secrets.queries.read_records import record_reveal, record_reveals
from secretsvc.secrets.queries.revisions import require_revision
from secretsvc.secrets.queries.rows import (
    SECRET_NOT_FOUND,
    SealedValue,
    SecretListItem,
    find_secret,
    open_value,
)


@schema_name("SecretList")
@dataclass(frozen=True, slots=True)
class Listing:
    """The secrets of an environment, sorted by key; `rev` was read before them."""

    items: list[SecretListItem]
    rev: Count


@schema_name("SecretValue")
@dataclass(frozen=True, slots=True)
class Value:
    """A secret with its value, which no representation shows."""

    key: SecretKey
    value: str

    def __repr__(self) -> str:
        return f"Value({self.key!r})"


@schema_name("SecretVersion")
@dataclass(frozen=True, slots=True)
class VersionRow:
    """One version; a tombstone is `deleted` and has no kid. `created_by` is an identity id or "system"."""

    version: Ordinal
    kid: Kid | None
    deleted: bool
    created_at: Time
    created_by: Maker


@schema_name("SecretVersions")
@dataclass(frozen=True, slots=True)
class VersionHistory:
    """The versions of a key, newest first, also of a deleted one."""

    key: SecretKey
    items: list[VersionRow]


def revision_if_known(
    call: UseCaseContext, at: ScopePath, is_known: Callable[[int], bool], rev: int | None = None
) -> int | None:
    """The revision that a read would show, None where that is not known and the read has yet to be done.

    That is `rev`, or else the present one. One statement, which is a transaction by itself; nothing is
    opened, written or recorded. To be called before anything else uses the connection. Raises `NotFound`,
    also for a later revision.
    """
    assert_can(call, Role.READER, at)
    if call.mode is not Mode.AUTOCOMMIT:
        call.restart(Mode.AUTOCOMMIT)
    environment = find_environment(call, at)
    if rev is not None:
        require_revision(environment, rev)
    shown = environment.rev if rev is None else rev
    if is_known(shown):
        return shown
    if call.mode is not Mode.AUTOCOMMIT:
        call.restart()
    return None


def list_secrets(call: UseCaseContext, at: ScopePath, rev: int | None = None) -> Listing:
    """The secrets without their values, now or at a revision; each row is opened to know that it could be.

    Specification, "Secrets" 1; contract 5.1. Raises `NotFound`, also for a later revision.
    """
    assert_can(call, Role.READER, at)
    found = read_listed(call, find_environment(call, at), rev)
    return Listing(list_items(call, found), found.rev)


def reveal_secret(call: UseCaseContext, at: ScopePath, key: str, *, reason: str) -> Value:
    """One value, recorded with the reason (specification, "Secrets" 2).

    Raises `NotFound`, `DecryptFailed`, `UnknownKid`.
    """
    assert_can(call, Role.READER, at)
    row = find_secret(call, at, key)
    if row.deleted:
        raise NotFound(SECRET_NOT_FOUND)
    value = open_value(call, SealedValue(row.id, key, row.version, row.envelope, row.kid))
    record_reveal(call, row.project_id, row.id, reason, key, row.version)
    return Value(key, value)


def reveal_secrets(
    call: UseCaseContext, at: ScopePath, reason: str, keys: Collection[str] | None = None
) -> dict[str, str]:
    """Those keys' values that are there and can be opened, or all; one statement writes a record for each.

    Raises `NotFound`, and `Unavailable` where too many values are under way (contract 8.1).
    """
    assert_can(call, Role.READER, at)
    found = read_values(call, find_environment(call, at))
    values = decrypt_all(call, found, lenient=True)
    if keys is not None:
        values = {key: values[key] for key in sorted({*keys} & values.keys())}
    versions = {key: found.entries[key].version for key in values}
    record_reveals(call, found.project_id, found.id, reason, versions)
    return values


def secret_versions(call: UseCaseContext, at: ScopePath, key: str) -> VersionHistory:
    """The history of a key, which may be deleted. Raises `NotFound`."""
    assert_can(call, Role.READER, at)
    row = find_secret(call, at, key)
    versions = [
        VersionRow(one.version, one.kid, one.kid is None, one.created_at, author(one.created_by))
        for one in call.connection.execute(_HISTORY, {"secret_id": row.secret_id})
    ]
    return VersionHistory(key, versions)


_HISTORY = (
    select(
        secret_version.c.version,
        secret_version.c.kid,
        secret_version.c.created_at,
        secret_version.c.created_by,
    )
    .where(secret_version.c.secret_id == bindparam("secret_id"))
    .order_by(secret_version.c.version.desc())
)
