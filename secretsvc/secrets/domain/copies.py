"""Use cases over two states: to compare them, to copy from one, to go back to one (contract 5.3 to 5.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from secretsvc.authorization.rules.checks import assert_can
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.errors import Issue, ValidationFailed, refuse
from secretsvc.kernel.schema_annotations import Count
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import EnvironmentRow, find_environment
from secretsvc.secrets.queries.comparison import Compared, Contents, compare_keys, pairs_to_decrypt
from secretsvc.secrets.queries.contents import read_entries
from secretsvc.secrets.queries.decryption import ValueDigests
from secretsvc.secrets.queries.key_rows import KeyRow, load_keys
from secretsvc.secrets.queries.plan import REMOVED, Plan
from secretsvc.secrets.queries.read_records import record_copied
from secretsvc.secrets.write.copy_plan import OVERWRITE, plan_copy, replacing, same_versions
from secretsvc.secrets.write.write import WriteOptions, WriteOutcome, write

MERGE, REPLACE = "merge", "replace"
REQUIRED = "Required."


@dataclass(frozen=True, slots=True)
class Comparison:
    """The keys of two states, sorted, and the revisions that they are of."""

    rev: Count
    with_rev: Count
    items: list[Compared]


def compare_secrets(
    call: UseCaseContext,
    at: ScopePath,
    *,
    project: str | None = None,
    environment: str | None = None,
    rev: int | None = None,
    with_rev: int | None = None,
) -> Comparison:
    """How another environment, or another revision of this one, differs; without values, and unrecorded.

    Keeps only a digest of each value. Raises `NotFound`, `ValidationFailed`.
    """
    assert_can(call, Role.READER, at)
    other = _other(at, project, environment)
    assert_can(call, Role.READER, other)
    here = read_entries(call, find_environment(call, at), rev)
    there = read_entries(call, find_environment(call, other), with_rev)
    digests, pairs = ValueDigests(), pairs_to_decrypt(here, there)
    here_digests = digests.read(call, here.id, [one for one, _ in pairs])
    there_digests = digests.read(call, there.id, [one for _, one in pairs])
    return Comparison(here.rev, there.rev, compare_keys(here, there, here_digests, there_digests))


def _other(at: ScopePath, project: str | None, environment: str | None) -> ScopePath:
    if project is None and environment is None:
        return at
    if project is None or environment is None:
        raise ValidationFailed.at("project" if project is None else "environment", REQUIRED)
    return ScopePath(project, environment)


def copy_secrets(
    call: UseCaseContext,
    at: ScopePath,
    *,
    source: ScopePath,
    keys: Sequence[str] | None = None,
    mode: str = MERGE,
    existing: str = OVERWRITE,
    from_rev: int | None = None,
    **options: Unpack[WriteOptions],
) -> WriteOutcome:
    """Writes values of another environment, or of an older revision of this one.

    Only the environment itself is locked, the source is not. Raises as `batch_secrets`, and `Conflict`,
    `DecryptFailed`, `UnknownKid`, `Unavailable`.
    """
    assert_can(call, Role.WRITER, at)
    _check_copy(at, source, keys, mode, from_rev)
    assert_can(call, Role.READER, source)
    work = _Copy(call, source, keys, mode, existing, from_rev)
    written = write(
        call,
        at,
        work.plan,
        action="secret.copy",
        keys=work.look,
        **options,
    )
    is_replayed = call.once is not None and call.once.replayed
    if written.changes and not options.get("dry_run") and not is_replayed:
        work.record_given(written)
    return written


def _check_copy(
    at: ScopePath, source: ScopePath, keys: Sequence[str] | None, mode: str, rev: int | None
) -> None:
    issues = []
    if source == at and rev is None:
        issues.append(Issue("from", "Is this environment, which takes `from_rev`."))
    if keys is not None and mode == REPLACE:
        issues.append(Issue("keys", "Does not go together with `replace`."))
    refuse(issues)


class _Copy:
    """What the attempts of a copy share: what the last one took, and the environment it is written to."""

    taken: Contents
    environment: EnvironmentRow

    def __init__(
        self,
        call: UseCaseContext,
        source: ScopePath,
        keys: Sequence[str] | None,
        mode: str,
        existing: str,
        from_rev: int | None,
    ) -> None:
        self.call, self.source, self.keys = call, source, keys
        self.mode, self.existing, self.from_rev = mode, existing, from_rev

    def look(self, environment: EnvironmentRow) -> Mapping[str, KeyRow]:
        """For `write`. Raises `NotFound`, `ValidationFailed` for keys that the source lacks."""
        found = read_entries(self.call, find_environment(self.call, self.source), self.from_rev)
        self.taken = found if self.keys is None else _selected(found, self.keys)
        return load_keys(self.call, environment.id, self.taken.entries, whole=self.mode == REPLACE)

    def plan(self, environment: EnvironmentRow, known: Mapping[str, KeyRow]) -> Plan:
        """For `write`."""
        self.environment, taken = environment, self.taken
        origin = {"project_id": taken.project_id, "environment_id": taken.id, "rev": taken.rev}
        plan = plan_copy(self.call, environment, known, taken, existing=self.existing)
        if self.mode == REPLACE:
            plan = replacing(self.call, plan, known, taken)
        source = taken.id if taken.id != environment.id else None
        return replace(plan, detail={"from": origin}, copied_from=source)

    def record_given(self, written: WriteOutcome) -> None:
        """What the copy is to the source: its values were read, and went there (contract 5.4)."""
        keys = [change.key for change in written.changes if change.kind != REMOVED]
        given = {key: self.taken.entries[key].version for key in keys}
        target = {
            "project_id": self.environment.project_id,
            "environment_id": self.environment.id,
            "rev": written.rev,
        }
        taken = self.taken
        whole = self.keys is None and len(given) == len(taken.entries)
        record_copied(self.call, taken.project_id, taken.id, taken.rev, given, target, whole=whole)


def absent_keys(
    call: UseCaseContext, at: ScopePath, keys: Sequence[str], rev: int | None = None
) -> list[str]:
    """The keys that an environment does not have, now or at a revision. Raises `NotFound`."""
    assert_can(call, Role.READER, at)
    entries = read_entries(call, find_environment(call, at), rev).entries
    return [key for key in keys if key not in entries]


def _selected(found: Contents, keys: Sequence[str]) -> Contents:
    refuse(Issue(f"keys.{at}", "Is not there.") for at, key in enumerate(keys) if key not in found.entries)
    return replace(found, entries={key: found.entries[key] for key in sorted({*keys})})


def restore_secrets(
    call: UseCaseContext,
    at: ScopePath,
    to_rev: int,
    **options: Unpack[WriteOptions],
) -> WriteOutcome:
    """Makes the keys and values those of an older revision, by one new one (contract 5.5).

    What is at the same version stays unopened. Raises as `copy_secrets`.
    """
    assert_can(call, Role.WRITER, at)
    taken: list[Contents] = []

    def look(environment: EnvironmentRow) -> Mapping[str, KeyRow]:
        then = read_entries(call, environment, to_rev)
        taken[:] = [then]
        return load_keys(call, environment.id, then.entries, whole=True)

    def plan(environment: EnvironmentRow, known: Mapping[str, KeyRow]) -> Plan:
        (then,) = taken
        same = same_versions(environment, known, then)
        moved = {key: one for key, one in then.entries.items() if key not in same}
        plan = plan_copy(call, environment, known, replace(then, entries=moved))
        return replace(replacing(call, plan, known, then), detail={"to_rev": to_rev})

    return write(
        call,
        at,
        plan,
        action="secret.restore",
        keys=look,
        **options,
    )
