"""The one way in which an environment changes: lock, look, plan, apply, record.

Whatever the operation, its plan is applied whole, in a fixed number of statements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, update
from sqlalchemy.exc import DBAPIError

from secretsvc.audit.rules import record
from secretsvc.db.statements import insert_many, update_many
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
from secretsvc.secrets.known import LIVE_COUNT, Known, count_live, known_secrets, secret_ids
from secretsvc.secrets.models import secret, secret_version
from secretsvc.secrets.planning import (
    ADDED,
    CHANGED,
    REMOVED,
    Change,
    Plan,
    changes_of,
    described_alone,
    growth_of,
)


class LostRace(Exception):
    """A writer that did not wait for the lock was quicker."""


@dataclass(frozen=True, slots=True)
class Written:
    """The outcome of a write; `rev` is the environment's own where nothing changed."""

    rev: int
    changes: list[Change]

    @property
    def described(self) -> Sequence[str]:
        """The keys whose description alone was changed, sorted; operations of the API have none."""
        return ()


@dataclass(frozen=True, slots=True)
class WrittenByHand(Written):
    """The outcome of a write that changed descriptions alone, too."""

    described_keys: Sequence[str]

    @property
    def described(self) -> Sequence[str]:
        """See `Written`."""
        return self.described_keys


Planner = Callable[[Environment, Mapping[str, Known]], Plan]


def write(
    call: Call,
    at: Address,
    planner: Planner,
    *,
    action: str,
    keys: Iterable[str],
    whole: bool = False,
    expected_rev: int | None = None,
    reason: str | None = None,
    dry_run: bool = False,
) -> Written:
    """Applies a plan to the environment.

    The planner is shown `keys`, deleted ones too; with `whole` also every other key that lives, without its
    description. The loser of a version race is tried once more against fresh state (specification,
    "Secrets" 4). A dry run takes no lock. Raises `NotFound`, `PreconditionFailed`, `PayloadTooLarge`,
    `VersionConflict`.
    """
    call.only_reads = call.only_reads or dry_run

    def attempt() -> Written:
        place = find_environment(call, at) if dry_run else lock_environment(call, at)
        if expected_rev is not None and expected_rev != place.rev:
            raise PreconditionFailed()
        known = known_secrets(call, place.id, keys, whole=whole)
        plan = planner(place, known)
        changes = changes_of(plan, known)
        described = described_alone(plan, known, changes)
        if dry_run or not (changes or described):
            _check_growth(call, place, changes)
            return _written(place.rev, changes, described)
        _apply(call, place, plan, changes, described, known)
        written = _written(place.rev + 1, changes, described)
        _record(call, place, action, reason, written)
        return written

    try:
        return attempt()
    except LostRace:
        call.restart()
    try:
        return attempt()
    except LostRace:
        raise VersionConflict() from None


def _record(call: Call, place: Environment, action: str, reason: str | None, written: Written) -> None:
    detail: dict[str, Any] = {"rev": written.rev, "changes": written.changes}
    if written.described:
        detail["described"] = written.described
    where = {"project_id": place.project_id, "environment_id": place.id}
    record(call, action, **where, reason=reason, detail=detail)


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


def _written(rev: int, changes: list[Change], described: Sequence[str]) -> Written:
    return WrittenByHand(rev, changes, described) if described else Written(rev, changes)


def _check_growth(call: Call, place: Environment, changes: Iterable[Change]) -> None:
    """What `_advance` sees to where there is something to write."""
    growth = growth_of(changes)
    if growth > 0:
        _check_room(call, count_live(call, place.id) + growth)


def _check_room(call: Call, count: int) -> None:
    limit = call.settings.env_max_secrets
    if count > limit:
        raise PayloadTooLarge(f"An environment holds at most {limit} secrets.")


def _apply(
    call: Call,
    place: Environment,
    plan: Plan,
    changes: list[Change],
    described: Iterable[str],
    known: Mapping[str, Known],
) -> None:
    try:
        _advance(call, place, growth_of(changes))
        ids = {key: one.id for key, one in known.items()}
        new = [change for change in changes if change.key not in ids]
        if new:
            ids |= _insert_secrets(call, place, plan, new)
        if changes:
            inside = call.ring.within(place.id)
            versions = [_version_row(call, inside, place, plan, change, ids) for change in changes]
            insert_many(call.connection, secret_version, versions)
        updates = [_update_row(call, plan, change, known) for change in changes if change.key in known]
        updates += [_described_row(plan, known[key]) for key in described]
        if updates:
            update_many(call.connection, secret, updates)
    except DBAPIError as error:
        if violation(error) is None:
            raise
        raise LostRace from None


def _advance(call: Call, place: Environment, growth: int) -> None:
    """Takes the next revision, and where the environment grows counts its secrets by the same statement."""
    moved = call.connection.execute(
        _ADVANCE_AND_COUNT if growth > 0 else _ADVANCE,
        {"environment_id": place.id, "present": place.rev, "now": call.now},
    ).first()
    if moved is None:
        raise LostRace
    if growth > 0:
        _check_room(call, moved.live + growth)


def _insert_secrets(call: Call, place: Environment, plan: Plan, new: Collection[Change]) -> dict[str, int]:
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
    return secret_ids(call, place.id, [change.key for change in new])


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


def _described_row(plan: Plan, before: Known) -> dict[str, Any]:
    """All as it was but for the description: the time of the last change is that of the version."""
    return {
        "id": before.id,
        "version": before.version,
        "deleted": before.deleted,
        "description": plan.descriptions[before.key],
        "created_at": before.created_at,
        "updated_at": before.updated_at,
    }


_NEXT = (
    update(environment)
    .where(environment.c.id == bindparam("environment_id"), environment.c.rev == bindparam("present"))
    .values(rev=environment.c.rev + 1, updated_at=bindparam("now"))
)
_ADVANCE = _NEXT.returning(environment.c.rev)
_ADVANCE_AND_COUNT = _NEXT.returning(LIVE_COUNT.scalar_subquery().label("live"))
