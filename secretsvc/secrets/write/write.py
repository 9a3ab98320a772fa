"""The one way in which an environment changes: lock, look, plan, apply, record.

Whatever the operation, its plan is applied whole, in a fixed number of statements.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypedDict
from uuid import UUID

from secretsvc.audit.rules.records import keys_statement, record_statement
from secretsvc.db.statement_batch import BoundStatement, execute_batch
from secretsvc.kernel.authorization import ScopePath
from secretsvc.kernel.errors import PreconditionFailed, VersionConflict
from secretsvc.kernel.ids import new_id
from secretsvc.kernel.schema_annotations import Count
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import EnvironmentRow, find_environment, lock_environment
from secretsvc.secrets.queries.key_rows import KeyRow, load_keys
from secretsvc.secrets.queries.origins import recorded_origins
from secretsvc.secrets.queries.plan import (
    Plan,
    PlannedChange,
    described_alone,
    planned_changes,
)
from secretsvc.secrets.queries.revisions import require_reason, revision_statement
from secretsvc.secrets.write.apply_plan import LostRace, apply_plan, lost_races
from secretsvc.secrets.write.description_digests import description_changes
from secretsvc.secrets.write.idempotency import first_success, keep_success
from secretsvc.secrets.write.limits import check_growth, check_volume


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The outcome of a write; `rev` is the environment's own where nothing changed."""

    rev: Count
    changes: list[PlannedChange]

    @property
    def described(self) -> Sequence[str]:
        """The keys whose description alone was changed, sorted; operations of the API have none."""
        return ()

    @property
    def unchanged(self) -> Collection[str]:
        """The keys that were given the value that they had, and are not written; only pages look for them."""
        return ()

    @property
    def line_ends(self) -> Mapping[str, str]:
        """What became of line ends that a page could not show, by key; operations of the API have none."""
        return {}


@dataclass(frozen=True, slots=True)
class EditOutcome(WriteOutcome):
    """The outcome of a write that changed descriptions alone, too, or was given values that were there."""

    described_keys: Sequence[str]
    unchanged_keys: Collection[str] = ()
    line_ends_of_keys: Mapping[str, str] = field(default_factory=dict)

    @property
    def described(self) -> Sequence[str]:
        """See `ExportFormat`."""
        return self.described_keys

    @property
    def unchanged(self) -> Collection[str]:
        """See `ExportFormat`."""
        return self.unchanged_keys

    @property
    def line_ends(self) -> Mapping[str, str]:
        """See `ExportFormat`."""
        return self.line_ends_of_keys


Planner = Callable[[EnvironmentRow, Mapping[str, KeyRow]], Plan]
#: Finds the keys that a planner is shown.
Look = Callable[[EnvironmentRow], Mapping[str, KeyRow]]


class WriteOptions(TypedDict, total=False):
    """What callers choose of any write, as `write` takes it."""

    expected_rev: int | None
    reason: str | None
    dry_run: bool


def write(
    call: UseCaseContext,
    at: ScopePath,
    planner: Planner,
    *,
    action: str,
    keys: Iterable[str] | Look,
    whole: bool = False,
    expected_rev: int | None = None,
    reason: str | None = None,
    dry_run: bool = False,
) -> WriteOutcome:
    """Applies a plan to the environment.

    The planner is shown `keys`, deleted ones too, and with `whole` also every other key that is not deleted,
    without its description; or what a function finds under the lock. The loser of a version race is tried
    once more (specification, "Secrets" 4); what `call.once` says was done is not done again. A dry run takes
    no lock. Raises `NotFound`, `PreconditionFailed`, `PayloadTooLarge`, `RateLimited`, `VersionConflict`,
    `Conflict` for an idempotency key of other input, and `ValidationFailed` where a reason is due.
    """

    def attempt() -> WriteOutcome:
        environment = find_environment(call, at) if dry_run else lock_environment(call, at)
        before = first_success(call, environment.id, action)
        if before is not None:
            return WriteOutcome(*before)
        _judge(environment, expected_rev, reason, dry_run=dry_run)
        known = keys(environment) if callable(keys) else load_keys(call, environment.id, keys, whole=whole)
        plan = planner(environment, known)
        written = _carry_out(call, environment, plan, known, action, reason, dry_run=dry_run)
        keep_success(call, environment.id, action, written.rev, made=written.rev > environment.rev)
        return written

    return _with_second_try(call, attempt)


def _carry_out(
    call: UseCaseContext,
    environment: EnvironmentRow,
    plan: Plan,
    known: Mapping[str, KeyRow],
    action: str,
    reason: str | None,
    *,
    dry_run: bool,
) -> WriteOutcome:
    changes = planned_changes(plan, known)
    described = described_alone(plan, known, changes)
    check_volume(call, environment.id, plan.values, dry_run=dry_run)
    if dry_run or not (changes or described):
        check_growth(call, environment.id, changes)
        return _written(environment.rev, changes, described, plan)
    written = _written(environment.rev + 1, changes, described, plan)

    with lost_races():
        statements = apply_plan(call, environment, plan, changes, described, known)
        # After sealing, which may leave a record of its own.
        record_id = new_id()
        also = {
            **plan.detail,
            **description_changes(call, environment.id, plan, known, changes, described),
            **recorded_origins(plan.origins),
        }
        statements.append(
            revision_statement(
                call, environment, action, reason, record_id=record_id, copied_from=plan.copied_from
            )
        )
        statements += _records(call, environment, action, reason, written, also, record_id)
        execute_batch(call.connection, statements)
    return written


def _judge(
    environment: EnvironmentRow, expected_rev: int | None, reason: str | None, *, dry_run: bool
) -> None:
    if not dry_run:
        require_reason(environment, reason)
    if expected_rev is not None and expected_rev != environment.rev:
        raise PreconditionFailed()


def _with_second_try(call: UseCaseContext, attempt: Callable[[], WriteOutcome]) -> WriteOutcome:
    try:
        return attempt()
    except LostRace:
        call.restart()
    try:
        return attempt()
    except LostRace:
        # What was executed beside the revision that was lost must go, whoever catches this.
        call.restart()
        raise VersionConflict() from None


def _records(
    call: UseCaseContext,
    environment: EnvironmentRow,
    action: str,
    reason: str | None,
    written: WriteOutcome,
    also: Mapping[str, object],
    record_id: UUID,
) -> Iterator[BoundStatement]:
    detail: dict[str, object] = {"rev": written.rev, "changes": written.changes}
    if written.described:
        # Before all else: migration 0004 looks for it there.
        detail["described"] = written.described
        yield keys_statement(call, environment.id, record_id, dict.fromkeys(written.described))
    yield record_statement(
        call,
        action,
        project_id=environment.project_id,
        environment_id=environment.id,
        reason=reason,
        detail={**detail, **also},
        record_id=record_id,
    )


def _written(rev: int, changes: list[PlannedChange], described: Sequence[str], plan: Plan) -> WriteOutcome:
    if described or plan.unchanged or plan.line_ends:
        return EditOutcome(rev, changes, described, plan.unchanged, plan.line_ends)
    return WriteOutcome(rev, changes)
