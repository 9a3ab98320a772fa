"""One key in all environments of a project: where it is, to rename or to delete it there, all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields

from sqlalchemy import bindparam, select

from secretsvc.authorization.rules.checks import assert_can, assert_sees
from secretsvc.kernel.authorization import Role, ScopePath, holds
from secretsvc.kernel.errors import Conflict, NotFound, PreconditionFailed, VersionConflict
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import EnvironmentRow, environment_in_sight
from secretsvc.secrets.domain.writes import batch_secrets, rename_secret
from secretsvc.secrets.models import secret
from secretsvc.tables.projects import environment, project

MERGE = "merge"
NOTHING = "nothing was written. Look again."


@dataclass(frozen=True, slots=True)
class KeyLocation:
    """An environment that has the key, and whether the caller may write there."""

    environment: EnvironmentRow
    writes: bool


def environments_with_key(call: UseCaseContext, at: ScopePath, key: str) -> list[KeyLocation]:
    """The environments in sight that have a key, oldest first; one statement. Raises `NotFound` for none."""
    assert_sees(call, at)
    columns = (environment.c[one.name] for one in fields(EnvironmentRow))
    statement = (
        select(*columns)
        .join_from(environment, project)
        .join(secret, secret.c.environment_id == environment.c.id)
        .where(project.c.slug == bindparam("project_slug"), environment_in_sight(call))
        .where(secret.c.key == bindparam("key"), ~secret.c.deleted)
        .order_by(environment.c.id)
    )
    rows = call.connection.execute(statement, {"project_slug": at.project, "key": key})
    found = [EnvironmentRow(*row) for row in rows]
    if not found:
        raise NotFound("No environment that you see has this key.")
    return [
        KeyLocation(one, holds(call.snapshot, Role.WRITER, ScopePath(at.project, one.slug))) for one in found
    ]


def rename_everywhere(
    call: UseCaseContext,
    at: ScopePath,
    revs: Mapping[str, int],
    *,
    source: str,
    target: str,
    reason: str | None,
) -> int:
    """Renames a key wherever the caller may write, and tells in how many environments; each is asserted.

    `revs` are the revisions that were seen, by slug. Raises as `rename_secret` does, `PreconditionFailed`
    where other environments have the key by now, or none of them has, and `VersionConflict` for a race lost
    once.
    """
    assert_sees(call, at)

    def rename(here: ScopePath, name: str, rev: int) -> None:
        try:
            rename_secret(call, here, source=source, target=target, expected_rev=rev, reason=reason)
        except Conflict:
            raise Conflict(f"{name} has {target} already.") from None

    return _each(call, at, source, revs, rename)


def delete_everywhere(
    call: UseCaseContext, at: ScopePath, key: str, revs: Mapping[str, int], reason: str | None
) -> int:
    """Deletes a key wherever the caller may write, as `rename_everywhere` renames one."""
    assert_sees(call, at)

    def delete(here: ScopePath, _name: str, rev: int) -> None:
        batch_secrets(call, here, mode=MERGE, delete=[key], expected_rev=rev, reason=reason)

    return _each(call, at, key, revs, delete)


def _each(
    call: UseCaseContext,
    at: ScopePath,
    key: str,
    revs: Mapping[str, int],
    act: Callable[[ScopePath, str, int], None],
) -> int:
    writable = _writable(call, at, key, revs)
    if not writable or writable.keys() != revs.keys():
        raise PreconditionFailed(f"Other environments have the key by now: {NOTHING}")
    connection = call.connection
    # In one order, so that two who lock several environments wait for each other and not in a circle.
    for slug in sorted(writable):
        try:
            act(ScopePath(at.project, slug), writable[slug].name, revs[slug])
        except PreconditionFailed:
            raise PreconditionFailed(f"{writable[slug].name} was changed meanwhile: {NOTHING}") from None
        if call.connection is not connection:
            # A second try began another transaction: what was written before is undone.
            raise VersionConflict(f"A write got in between: {NOTHING}")
    return len(writable)


def _writable(
    call: UseCaseContext, at: ScopePath, key: str, asked: Collection[str]
) -> dict[str, EnvironmentRow]:
    """The environments that have the key where the caller may write, by slug; each asked for is asserted."""
    for slug in sorted(asked):
        assert_can(call, Role.WRITER, ScopePath(at.project, slug))
    try:
        held = environments_with_key(call, at, key)
    except NotFound:
        if not asked:
            raise
        raise PreconditionFailed(f"No environment has the key any more: {NOTHING}") from None
    if not asked and not any(one.writes for one in held):
        assert_can(call, Role.WRITER, ScopePath(at.project, held[0].environment.slug))
    return {one.environment.slug: one.environment for one in held if one.writes}
