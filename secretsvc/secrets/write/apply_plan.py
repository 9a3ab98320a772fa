"""The rows of a write: the next revision of the environment, new versions, what secrets become by them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from sqlalchemy import bindparam, insert, update
from sqlalchemy.exc import DBAPIError

from secretsvc.db.constraint_errors import is_race
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statement_batch import BoundStatement
from secretsvc.db.statements import insert_many, update_many, update_of
from secretsvc.kernel.crypto import Envelope
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import EnvironmentRow
from secretsvc.secrets.models import secret, secret_version
from secretsvc.secrets.queries.key_rows import UNDELETED_COUNT, KeyRow, secret_ids
from secretsvc.secrets.queries.plan import (
    ADDED,
    NO_ORIGIN,
    REMOVED,
    Plan,
    PlannedChange,
    description_after,
    growth_of,
)
from secretsvc.secrets.write.limits import check_capacity
from secretsvc.secrets.write.sealing import MAY_SEAL, Plain, invalidate_key_status, seal
from secretsvc.tables.projects import environment

# Of a key that is removed the description was not always read.
_KEPT = "description", "deleted"


class LostRace(Exception):
    """A writer that did not wait for the lock was quicker."""


def apply_plan(
    call: UseCaseContext,
    environment: EnvironmentRow,
    plan: Plan,
    changes: list[PlannedChange],
    described: Collection[str],
    known: Mapping[str, KeyRow],
) -> list[BoundStatement]:
    """Takes the next revision and writes what the plan holds, in a fixed number of statements.

    Of `described` only the description changes. Returns the statements of single rows, which are left to be
    executed with the records of the write. Raises `LostRace` and `PayloadTooLarge`.
    """
    envelopes = _sealed(call, environment, plan, changes) if changes else {}
    _advance(call, environment, growth_of(changes), seals=bool(envelopes))
    ids = {key: one.id for key, one in known.items()}
    new = [change for change in changes if change.key not in known]
    if new:
        ids |= _insert_secrets(call, environment, plan, new)
    versions = [_version_row(call, environment, plan, change, ids, envelopes) for change in changes]
    updates = [_update_row(call, plan, change, known) for change in changes if change.key in known]
    updates += [_described_row(plan, known[key]) for key in described]
    left: list[BoundStatement] = []
    if len(versions) == 1:
        left.append((_INSERT_VERSION, versions[0]))
    elif versions:
        insert_many(call.connection, secret_version, versions)
    if len(updates) == 1:
        left.append(update_of(secret, updates[0], kept=_KEPT))
    elif updates:
        update_many(call.connection, secret, updates, kept=_KEPT)
    return left


@contextmanager
def lost_races() -> Iterator[None]:
    """Raises `LostRace` where the database refuses a statement because of another writer."""
    try:
        yield
    except DBAPIError as error:
        if not is_race(error):
            raise
        raise LostRace from None


def _sealed(
    call: UseCaseContext, environment: EnvironmentRow, plan: Plan, changes: list[PlannedChange]
) -> dict[str, Envelope]:
    """The envelopes of a write by their key; nothing is removed by one."""
    kept = [change for change in changes if change.kind != REMOVED]
    plain = [Plain(environment.id, one.key, one.version, plan.values[one.key]) for one in kept]
    return {one.key: envelope for one, envelope in zip(kept, seal(call, plain), strict=True)}


def _advance(call: UseCaseContext, environment: EnvironmentRow, growth: int, *, seals: bool) -> None:
    """Takes the next revision; the same statement asks whether the key may seal, and counts what grows."""
    parameters = {"environment_id": environment.id, "present": environment.rev, "now": call.now}
    if seals:
        parameters["active_kid"] = call.ring.active_kid
    moved = _ADVANCE[seals, growth > 0].rows(call.connection, parameters)
    if not moved:
        if seals:
            # Another revision, or a key that was retired meanwhile: the next attempt asks for both.
            invalidate_key_status(call)
        raise LostRace
    if growth > 0:
        check_capacity(call, moved[0].undeleted + growth)


def _insert_secrets(
    call: UseCaseContext, environment: EnvironmentRow, plan: Plan, new: Collection[PlannedChange]
) -> dict[str, int]:
    rows = [
        {
            "environment_id": environment.id,
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
    return secret_ids(call, environment.id, [change.key for change in new])


def _version_row(
    call: UseCaseContext,
    environment: EnvironmentRow,
    plan: Plan,
    change: PlannedChange,
    ids: Mapping[str, int],
    envelopes: Mapping[str, Envelope],
) -> dict[str, object]:
    envelope, kid = envelopes.get(change.key, (None, None))
    row: dict[str, object] = {
        "secret_id": ids[change.key],
        "version": change.version,
        "rev": environment.rev + 1,
        "envelope": envelope,
        "kid": kid,
        "created_at": call.now,
        "created_by": call.actor.identity_id,
    }
    if plan.origins:
        origin = plan.origins.get(change.key, NO_ORIGIN)
        row["origin_environment_id"], row["origin_secret_id"], row["origin_version"] = origin
    return row


def _update_row(
    call: UseCaseContext, plan: Plan, change: PlannedChange, known: Mapping[str, KeyRow]
) -> dict[str, object]:
    before = known[change.key]
    return {
        "id": before.id,
        "version": change.version,
        "deleted": change.kind == REMOVED,
        "description": description_after(plan, change, before),
        "created_at": call.now if change.kind == ADDED else before.created_at,
        "updated_at": call.now,
    }


def _described_row(plan: Plan, before: KeyRow) -> dict[str, object]:
    """All as it was but for the description: the time of the last change is that of the version."""
    return {
        "id": before.id,
        "version": before.version,
        "deleted": before.deleted,
        "description": plan.descriptions[before.key],
        "created_at": before.created_at,
        "updated_at": before.updated_at,
    }


_INSERT_VERSION = insert(secret_version)
_NEXT = (
    update(environment)
    .where(environment.c.id == bindparam("environment_id"), environment.c.rev == bindparam("present"))
    .values(rev=environment.c.rev + 1, updated_at=bindparam("now"))
)
_NEXT_SEALING = _NEXT.where(MAY_SEAL)
_UNDELETED = UNDELETED_COUNT.scalar_subquery().label("undeleted")
#: By whether values are sealed, and whether there will be more of them.
_ADVANCE = {
    (False, False): Prepared(_NEXT.returning(environment.c.rev)),
    (True, False): Prepared(_NEXT_SEALING.returning(environment.c.rev)),
    (True, True): Prepared(_NEXT_SEALING.returning(_UNDELETED)),
}
