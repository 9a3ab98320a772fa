"""Use cases of secrets. Reads of values and every write leave their audit row in the same transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, select

from secretsvc.audit.rules.recording import record
from secretsvc.authorization.rules.snapshot import assert_can
from secretsvc.kernel.authorization import Address, Role
from secretsvc.kernel.call import Call
from secretsvc.kernel.errors import (
    Conflict,
    NotFound,
    ValidationFailed,
)
from secretsvc.projects.rules import Environment, find_environment
from secretsvc.secrets.models import secret_version
from secretsvc.secrets.rules.formats import READERS
from secretsvc.secrets.rules.known import Known
from secretsvc.secrets.rules.planning import Plan
from secretsvc.secrets.rules.rows import (
    SECRET_NOT_FOUND,
    VERSION_NOT_FOUND,
    Listed,
    Sealed,
    find_secret,
    listed,
    open_all,
    open_value,
    secrets_inside,
)
from secretsvc.secrets.rules.writing import Planner, Written, check_edits, check_values, write

MERGE, REPLACE = "merge", "replace"


@dataclass(frozen=True, slots=True)
class Listing:
    """The secrets of an environment, sorted by key; `rev` was read before them."""

    items: list[Listed]
    rev: int


@dataclass(frozen=True, slots=True)
class Value:
    """A secret with its value, which no representation shows."""

    key: str
    value: str

    def __repr__(self) -> str:
        return f"Value({self.key!r})"


@dataclass(frozen=True, slots=True)
class Exported:
    """Every value of an environment by key, sorted; no representation shows them."""

    rev: int
    secrets: dict[str, str]

    def __repr__(self) -> str:
        return f"Exported(rev={self.rev}, count={len(self.secrets)})"


@dataclass(frozen=True, slots=True)
class Version:
    """One version; a tombstone is `deleted` and has no kid. `created_by` is an identity id or "system"."""

    version: int
    kid: str | None
    deleted: bool
    created_at: int
    created_by: UUID | str


@dataclass(frozen=True, slots=True)
class History:
    """The versions of a key, newest first, also of a deleted one."""

    key: str
    items: list[Version]


def list_secrets(call: Call, at: Address) -> Listing:
    """The secrets without their values; each row is opened to know that it could be (specification, 1)."""
    assert_can(call, Role.READER, at)
    place = find_environment(call, at)
    inside = call.ring.within(place.id)
    with secrets_inside(call, place.id) as rows:
        return Listing([listed(inside, row) for row in rows], place.rev)


def reveal_secret(call: Call, at: Address, key: str, reason: str) -> Value:
    """One value, recorded with the reason (specification, "Secrets" 2).

    Raises `NotFound`, `DecryptFailed`, `UnknownKid`.
    """
    assert_can(call, Role.READER, at)
    row = find_secret(call, at, key)
    if row.deleted:
        raise NotFound(SECRET_NOT_FOUND)
    value = open_value(call, Sealed(row.id, key, row.version, row.envelope, row.kid))
    record(
        call,
        "secret.reveal",
        project_id=row.project_id,
        environment_id=row.id,
        reason=reason,
        detail={"key": key, "version": row.version},
    )
    return Value(key, value)


def export_secrets(call: Call, at: Address, reason: str) -> Exported:
    """Every value; one that cannot be opened fails them all (specification, "Secrets" 3).

    Raises `DecryptFailed`, `UnknownKid`, and `Unavailable` where too many are under way (contract 8.1).
    """
    assert_can(call, Role.READER, at)
    place, values = open_all(call, at)
    record(
        call,
        "secret.export",
        project_id=place.project_id,
        environment_id=place.id,
        reason=reason,
        detail={"rev": place.rev, "count": len(values)},
    )
    return Exported(place.rev, values)


def secret_versions(call: Call, at: Address, key: str) -> History:
    """The history of a key that lives or lived. Raises `NotFound`."""
    assert_can(call, Role.READER, at)
    row = find_secret(call, at, key)
    versions = call.connection.execute(_HISTORY, {"secret_id": row.secret_id})
    return History(key, [_version(version) for version in versions])


def batch_secrets(
    call: Call,
    at: Address,
    *,
    mode: str,
    set: Mapping[str, str] | None = None,
    descriptions: Mapping[str, str | None] | None = None,
    delete: Collection[str] = (),
    expected_rev: int | None = None,
    reason: str | None = None,
) -> Written:
    """Sets and removes many secrets at once, or none (specification, "Secrets" 4)."""
    assert_can(call, Role.WRITER, at)
    values, descriptions = set or {}, descriptions or {}
    check_edits(values, descriptions, delete)
    check_values(call, values)
    return write(
        call,
        at,
        _planner(mode, values, delete, descriptions),
        action="secret.batch",
        keys={*values, *delete},
        whole=mode == REPLACE,
        expected_rev=expected_rev,
        reason=reason,
    )


def import_secrets(
    call: Call,
    at: Address,
    *,
    format: str,
    content: str,
    mode: str,
    dry_run: bool = False,
    expected_rev: int | None = None,
    reason: str | None = None,
) -> Written:
    """Writes what a file holds; a dry run only tells what it would do (specification, "Secrets" 5)."""
    assert_can(call, Role.WRITER, at)
    values = READERS[format](content, call.settings.env_max_secrets)
    check_values(call, values)
    return write(
        call,
        at,
        _planner(mode, values),
        action="secret.import",
        keys=values,
        whole=mode == REPLACE,
        expected_rev=expected_rev,
        reason=reason,
        dry_run=dry_run,
    )


def rename_secret(
    call: Call, at: Address, source: str, target: str, *, expected_rev: int | None = None
) -> Written:
    """Moves a value and its description to another key (specification, "Secrets" 6; contract 3.4).

    Only pages expect a revision. Raises `NotFound` for a missing source, `Conflict` for a target that is
    there.
    """
    assert_can(call, Role.WRITER, at)
    if source == target:
        raise ValidationFailed.at("to", "Must differ from `from`.")

    def plan(place: Environment, known: Mapping[str, Known]) -> Plan:
        before, after = known.get(source), known.get(target)
        if before is None or before.deleted:
            raise NotFound(SECRET_NOT_FOUND)
        if after is not None and not after.deleted:
            raise Conflict("The new key is taken.")
        value = _open_version(call, place, before, before.version)
        return Plan({target: value}, (source,), {target: before.description})

    return write(call, at, plan, action="secret.rename", keys=(source, target), expected_rev=expected_rev)


def rollback_secret(
    call: Call,
    at: Address,
    key: str,
    to_version: int,
    reason: str | None = None,
    *,
    expected_rev: int | None = None,
) -> Written:
    """Writes the content of an older version as a new one (specification, "Secrets" 7; contract 3.3).

    Only pages expect a revision. Raises `NotFound` for a key that never was, a missing version or a
    tombstone.
    """
    assert_can(call, Role.WRITER, at)

    def plan(place: Environment, known: Mapping[str, Known]) -> Plan:
        if key not in known:
            raise NotFound(SECRET_NOT_FOUND)
        return Plan({key: _open_version(call, place, known[key], to_version)})

    return write(
        call, at, plan, action="secret.rollback", keys=(key,), expected_rev=expected_rev, reason=reason
    )


def _version(row: Any) -> Version:
    created_by = row.created_by if row.created_by is not None else "system"
    return Version(row.version, row.kid, row.kid is None, row.created_at, created_by)


def _planner(
    mode: str,
    values: Mapping[str, str],
    removals: Collection[str] = (),
    descriptions: Mapping[str, str | None] | None = None,
) -> Planner:
    def plan(_place: Environment, known: Mapping[str, Known]) -> Plan:
        gone = {*removals} if mode == MERGE else known.keys() - values.keys()
        return Plan(values, gone, descriptions or {})

    return plan


def _open_version(call: Call, place: Environment, known: Known, version: int) -> str:
    row = call.connection.execute(_VERSION, {"secret_id": known.id, "version": version}).first()
    if row is None or row.envelope is None:
        raise NotFound(VERSION_NOT_FOUND)
    return open_value(call, Sealed(place.id, known.key, version, row.envelope, row.kid))


_VERSION = select(secret_version.c.envelope, secret_version.c.kid).where(
    secret_version.c.secret_id == bindparam("secret_id"),
    secret_version.c.version == bindparam("version"),
)
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
