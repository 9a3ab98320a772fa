"""Use cases that write secrets: each makes a plan, which `write/write.py` applies and records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

from sqlalchemy import bindparam, select

from secretsvc.authorization.rules.checks import assert_can
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.errors import Conflict, Issue, NotFound, ValidationFailed
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import EnvironmentRow, find_environment
from secretsvc.secrets.formats.imports import Reader, expandable
from secretsvc.secrets.models import secret_version
from secretsvc.secrets.queries.key_rows import KeyRow
from secretsvc.secrets.queries.origins import ORIGIN, origin_of
from secretsvc.secrets.queries.plan import Plan, ValueOrigin
from secretsvc.secrets.queries.revisions import REASON_REQUIRED, lacks_reason
from secretsvc.secrets.queries.rows import SECRET_NOT_FOUND, VERSION_NOT_FOUND, SealedValue, open_value
from secretsvc.secrets.write.limits import check_edits, check_values
from secretsvc.secrets.write.write import Planner, WriteOptions, WriteOutcome, write

MERGE, REPLACE = "merge", "replace"


@dataclass(frozen=True, slots=True)
class Imported(WriteOutcome):
    """The outcome of an import; `expandable` are the keys that `importing.expandable` names."""

    expandable: Sequence[str]


def missing_reason(call: UseCaseContext, at: ScopePath, reason: str | None) -> tuple[Issue, ...]:
    """The issue of a write without a reason, for a body that is refused for something else already.

    Contract 5.13. What is accepted so far is judged under the lock, as the first thing there. Of what is not
    there nothing is told.
    """
    assert_can(call, Role.WRITER, at)
    try:
        environment = find_environment(call, at)
    except NotFound:
        return ()
    return (REASON_REQUIRED,) if lacks_reason(environment, reason) else ()


def batch_secrets(
    call: UseCaseContext,
    at: ScopePath,
    *,
    mode: str,
    set: Mapping[str, str] | None = None,
    descriptions: Mapping[str, str | None] | None = None,
    delete: Collection[str] = (),
    **options: Unpack[WriteOptions],
) -> WriteOutcome:
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
        **options,
    )


def import_secrets(
    call: UseCaseContext,
    at: ScopePath,
    *,
    read: Reader,
    content: str,
    mode: str,
    **options: Unpack[WriteOptions],
) -> Imported:
    """Writes what a file holds; a dry run only tells what it would do (specification, "Secrets" 5)."""
    assert_can(call, Role.WRITER, at)
    values = read(content, call.settings.env_max_secrets)
    check_values(call, values)
    written = write(
        call,
        at,
        _planner(mode, values),
        action="secret.import",
        keys=values,
        whole=mode == REPLACE,
        **options,
    )
    return Imported(written.rev, written.changes, expandable(values))


def rename_secret(
    call: UseCaseContext,
    at: ScopePath,
    *,
    source: str,
    target: str,
    **options: Unpack[WriteOptions],
) -> WriteOutcome:
    """Moves a value and its description to another key (specification, "Secrets" 6; contract 3.4).

    Only pages expect a revision. Raises `NotFound` for a missing source, `Conflict` for a target that is
    there.
    """
    assert_can(call, Role.WRITER, at)
    if source == target:
        raise ValidationFailed.at("to", "Must differ from `from`.")

    def plan(environment: EnvironmentRow, known: Mapping[str, KeyRow]) -> Plan:
        before, after = known.get(source), known.get(target)
        if before is None or before.deleted:
            raise NotFound(SECRET_NOT_FOUND)
        if after is not None and not after.deleted:
            raise Conflict("The new key is taken.", about="to")
        value, origin = _open_version(call, environment, before, before.version)
        return Plan({target: value}, (source,), {target: before.description}, origins={target: origin})

    return write(
        call,
        at,
        plan,
        action="secret.rename",
        keys=(source, target),
        **options,
    )


def rollback_secret(
    call: UseCaseContext,
    at: ScopePath,
    key: str,
    to_version: int,
    **options: Unpack[WriteOptions],
) -> WriteOutcome:
    """Writes the content of an older version as a new one (specification, "Secrets" 7; contract 3.3).

    Only pages expect a revision. Raises `NotFound` for a key that never was, a missing version or a
    tombstone.
    """
    assert_can(call, Role.WRITER, at)

    def plan(environment: EnvironmentRow, known: Mapping[str, KeyRow]) -> Plan:
        if key not in known:
            raise NotFound(SECRET_NOT_FOUND)
        # What comes back has the description that it had (contract 5.6).
        described = {key: known[key].description} if known[key].deleted else {}
        value, origin = _open_version(call, environment, known[key], to_version)
        return Plan({key: value}, descriptions=described, origins={key: origin})

    return write(call, at, plan, action="secret.rollback", keys=(key,), **options)


def _planner(
    mode: str,
    values: Mapping[str, str],
    removals: Collection[str] = (),
    descriptions: Mapping[str, str | None] | None = None,
) -> Planner:
    def plan(_environment: EnvironmentRow, known: Mapping[str, KeyRow]) -> Plan:
        gone = {*removals} if mode == MERGE else known.keys() - values.keys()
        return Plan(values, gone, descriptions or {})

    return plan


def _open_version(
    call: UseCaseContext, environment: EnvironmentRow, known: KeyRow, version: int
) -> tuple[str, ValueOrigin]:
    row = call.connection.execute(_VERSION, {"secret_id": known.id, "version": version}).first()
    if row is None or row.envelope is None:
        raise NotFound(VERSION_NOT_FOUND)
    origin = origin_of(environment.id, known.id, version, row)
    return open_value(call, SealedValue(environment.id, known.key, version, row.envelope, row.kid)), origin


_VERSION = select(secret_version.c.envelope, secret_version.c.kid, *ORIGIN).where(
    secret_version.c.secret_id == bindparam("secret_id"),
    secret_version.c.version == bindparam("version"),
)
