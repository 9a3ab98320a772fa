"""The one way in which an environment changes: lock, look, plan, apply, record.

Whatever the operation, its plan is applied whole, in a fixed number of statements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Select, bindparam, or_, select, update
from sqlalchemy.exc import DBAPIError

from secretsvc.audit.rules import record
from secretsvc.db.prepared import Prepared
from secretsvc.db.statements import insert_many, is_among, update_many
from secretsvc.db.violations import violation
from secretsvc.kernel.authorization import Address
from secretsvc.kernel.call import Call
from secretsvc.kernel.crypto import Compartment
from secretsvc.kernel.errors import (
    Issue,
    PayloadTooLarge,
    PreconditionFailed,
    ValidationFailed,
    VersionConflict,
)
from secretsvc.projects.models import environment
from secretsvc.projects.rules import Environment, find_environment, lock_environment
from secretsvc.secrets.models import secret, secret_version

ADDED, CHANGED, REMOVED = "added", "changed", "removed"


class LostRace(Exception):
    """A writer that did not wait for the lock was quicker."""


class Known(NamedTuple):
    """A key that the environment has or once had."""

    id: int
    key: str
    description: str | None
    version: int
    deleted: bool
    created_at: int


@dataclass
class Change:
    """What a write does to one key; `version` is the one that it makes, a tombstone's for `removed`.

    Neither frozen nor slotted, because there are many of them (decision 0021).
    """

    key: str
    kind: str
    version: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Values to write, keys to remove, and descriptions to set (None clears) among the written."""

    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    removals: Collection[str] = ()
    descriptions: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write; `rev` is the environment's own where nothing changed."""

    rev: int
    changes: list[Change]


Planner = Callable[[Environment, Mapping[str, Known]], Plan]


def write(
    call: Call,
    at: Address,
    planner: Planner,
    *,
    action: str,
    keys: Iterable[str],
    expected_rev: int | None = None,
    reason: str | None = None,
    dry_run: bool = False,
) -> Written:
    """Applies a plan to the environment; `keys` names the ones it needs to know of even if deleted.

    The loser of a version race is tried once more against fresh state (specification, "Secrets" 4). A dry
    run takes no lock. Raises `NotFound`, `PreconditionFailed`, `PayloadTooLarge`, `VersionConflict`.
    """
    call.only_reads = call.only_reads or dry_run

    def attempt() -> Written:
        place = find_environment(call, at) if dry_run else lock_environment(call, at)
        if expected_rev is not None and expected_rev != place.rev:
            raise PreconditionFailed()
        known = _known(call, place.id, keys)
        plan = planner(place, known)
        changes = _changes(plan, known)
        _check_count(call, known, changes)
        if dry_run or not changes:
            return Written(place.rev, changes)
        _apply(call, place, plan, changes, known)
        record(
            call,
            action,
            project_id=place.project_id,
            environment_id=place.id,
            reason=reason,
            detail={"rev": place.rev + 1, "changes": changes},
        )
        return Written(place.rev + 1, changes)

    try:
        return attempt()
    except LostRace:
        call.restart()
    try:
        return attempt()
    except LostRace:
        raise VersionConflict() from None


def check_values(call: Call, values: Mapping[str, str]) -> None:
    """Refuses what no environment may hold. Raises `PayloadTooLarge`."""
    limit = call.settings.secret_max_bytes
    for key, value in values.items():
        # A character is one to four bytes: most values need no encoding to be judged.
        if len(value) * 4 > limit and len(value.encode("utf-8")) > limit:
            raise PayloadTooLarge(f"The value of {key} is over {limit} bytes.")
    _check_room(call, len(values))


def check_edits(
    values: Mapping[str, str], descriptions: Mapping[str, str | None], removals: Collection[str]
) -> None:
    """Refuses a key that is both set and deleted, and a description of one that is not set.

    Raises `ValidationFailed` (specification, "Secrets" 4).
    """
    both = sorted(values.keys() & {*removals})
    stray = sorted(descriptions.keys() - values.keys())
    issues = [Issue(f"set.{key}", "Is also in `delete`.") for key in both]
    issues += [Issue(f"descriptions.{key}", "Is not in `set`.") for key in stray]
    if issues:
        raise ValidationFailed(issues=tuple(issues))


def _known(call: Call, environment_id: UUID, keys: Iterable[str]) -> dict[str, Known]:
    statement = _KNOWN[call.connection.dialect.name]
    rows = statement.rows(call.connection, {"environment_id": environment_id, "keys": sorted(set(keys))})
    return {known.key: known for known in map(Known._make, rows)}


def _changes(plan: Plan, known: Mapping[str, Known]) -> list[Change]:
    changes = []
    for key in plan.values:
        before = known.get(key)
        kind = CHANGED if before is not None and not before.deleted else ADDED
        changes.append(Change(key, kind, before.version + 1 if before is not None else 1))
    for key in plan.removals:
        before = known.get(key)
        if before is not None and not before.deleted:
            changes.append(Change(key, REMOVED, before.version + 1))
    return sorted(changes, key=lambda change: change.key)


def _check_count(call: Call, known: Mapping[str, Known], changes: Iterable[Change]) -> None:
    kinds = [change.kind for change in changes]
    added, removed = kinds.count(ADDED), kinds.count(REMOVED)
    if added > removed:
        live = sum(not one.deleted for one in known.values())
        _check_room(call, live + added - removed)


def _check_room(call: Call, count: int) -> None:
    limit = call.settings.env_max_secrets
    if count > limit:
        raise PayloadTooLarge(f"An environment holds at most {limit} secrets.")


def _apply(
    call: Call, place: Environment, plan: Plan, changes: list[Change], known: Mapping[str, Known]
) -> None:
    try:
        _advance(call, place)
        ids = {key: one.id for key, one in known.items()}
        new = [change for change in changes if change.key not in ids]
        if new:
            ids |= _insert_secrets(call, place, plan, new)
        inside = call.ring.within(place.id)
        versions = [_version_row(call, inside, place, plan, change, ids) for change in changes]
        insert_many(call.connection, secret_version, versions)
        updates = [_update_row(call, plan, change, known) for change in changes if change.key in known]
        if updates:
            update_many(call.connection, secret, updates)
    except DBAPIError as error:
        if violation(error) is None:
            raise
        raise LostRace from None


def _advance(call: Call, place: Environment) -> None:
    moved = call.connection.execute(
        _ADVANCE, {"environment_id": place.id, "present": place.rev, "now": call.now}
    )
    if moved.rowcount != 1:
        raise LostRace


def _insert_secrets(call: Call, place: Environment, plan: Plan, new: Iterable[Change]) -> dict[str, int]:
    rows = [
        {
            "environment_id": place.id,
            "key": change.key,
            "description": plan.descriptions.get(change.key),
            "version": change.version,
            "deleted": False,
            "created_at": call.now,
            "updated_at": call.now,
        }
        for change in new
    ]
    insert_many(call.connection, secret, rows)
    statement = _IDS[call.connection.dialect.name]
    keys = [row["key"] for row in rows]
    found = statement.rows(call.connection, {"environment_id": place.id, "keys": keys})
    return {row.key: row.id for row in found}


def _version_row(
    call: Call, inside: Compartment, place: Environment, plan: Plan, change: Change, ids: Mapping[str, int]
) -> dict[str, Any]:
    envelope, kid = None, None
    if change.kind != REMOVED:
        envelope, kid = inside.seal(plan.values[change.key].encode("utf-8"), change.key, change.version)
    return {
        "secret_id": ids[change.key],
        "version": change.version,
        "rev": place.rev + 1,
        "envelope": envelope,
        "kid": kid,
        "created_at": call.now,
        "created_by": call.actor.identity_id,
    }


def _update_row(call: Call, plan: Plan, change: Change, known: Mapping[str, Known]) -> dict[str, Any]:
    before = known[change.key]
    kept = before.description if change.kind == CHANGED else None
    return {
        "id": before.id,
        "version": change.version,
        "deleted": change.kind == REMOVED,
        "description": plan.descriptions.get(change.key, kept),
        # Whoever comes back was not there before.
        "created_at": call.now if change.kind == ADDED else before.created_at,
        "updated_at": call.now,
    }


def _known_statement(dialect_name: str) -> Select[Any]:
    columns = [secret.c[name] for name in Known._fields]
    is_named = is_among(secret.c.key, "keys", dialect_name)
    return select(*columns).where(_IS_INSIDE, or_(~secret.c.deleted, is_named))


def _ids_statement(dialect_name: str) -> Select[Any]:
    return select(secret.c.id, secret.c.key).where(_IS_INSIDE, is_among(secret.c.key, "keys", dialect_name))


_IS_INSIDE = secret.c.environment_id == bindparam("environment_id")
_KNOWN = {name: Prepared(_known_statement(name)) for name in ("sqlite", "postgresql")}
_IDS = {name: Prepared(_ids_statement(name)) for name in ("sqlite", "postgresql")}
_ADVANCE = (
    update(environment)
    .where(environment.c.id == bindparam("environment_id"), environment.c.rev == bindparam("present"))
    .values(rev=environment.c.rev + 1, updated_at=bindparam("now"))
)
