"""What became of an environment, as people look at it: its revisions by name, what differs between two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

from sqlalchemy import and_, bindparam, case, select

from secretsvc.authorization.rules.checks import assert_can, assert_covers_ids, not_found
from secretsvc.authorization.rules.denial_lookup import at_environment
from secretsvc.db.statements import PerDialect
from secretsvc.db.types import Query
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.display_names import full_name
from secretsvc.kernel.errors import NotFound
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import EnvironmentRow, find_environment
from secretsvc.secrets.models import revision, secret
from secretsvc.secrets.queries.plan import ADDED, CHANGED, REMOVED, PlannedChange
from secretsvc.secrets.queries.revision_changes import changes_of_revisions
from secretsvc.secrets.queries.revisions import REVISION_NOT_FOUND
from secretsvc.secrets.queries.tombstones import select_deleted
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

#: So many stand on one page.
REVISIONS, DELETED = 20, 50


@dataclass(frozen=True, slots=True)
class RevisionEntry:
    """A revision with the name of who made it, in epoch milliseconds; `changes` are sorted by key."""

    rev: int
    action: str | None
    reason: str | None
    created_at: int
    name: str
    changes: Sequence[PlannedChange]


@dataclass(frozen=True, slots=True)
class Difference:
    """What a key is at a later revision, against an earlier one: the versions, None where it is absent.

    `revs` are the revisions in between that wrote it, ascending.
    """

    key: str
    kind: str
    before: int | None
    after: int | None
    revs: Sequence[int]


@dataclass(frozen=True, slots=True)
class RevisionPage:
    """Revisions, newest first, and what differs between two of them.

    `older` is where the list goes on. `differences` are None where too much was written between the two.
    """

    environment: EnvironmentRow
    items: list[RevisionEntry]
    older: int | None
    since: int
    until: int
    differences: list[Difference] | None


@dataclass(frozen=True, slots=True)
class DeletedKeyEntry:
    """A deleted key, `version` the last one with a value; when, in epoch milliseconds, by whom, and why."""

    key: str
    version: int
    deleted_at: int
    name: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class DeletedKeyPage:
    """A page of deleted keys, sorted; `next_key` is where they go on from."""

    environment: EnvironmentRow
    items: list[DeletedKeyEntry]
    next_key: str | None


class _Row(NamedTuple):
    rev: int
    action: str | None
    reason: str | None
    created_at: int
    subject: str | None
    display_name: str | None


def revision_page(
    call: UseCaseContext,
    at: ScopePath,
    *,
    before: int | None = None,
    since: int | None = None,
    until: int | None = None,
) -> RevisionPage:
    """The revisions older than `before`, and what differs from `since` to `until`.

    Two statements, three where the two lie apart.

    Without `since` it is one step, without `until` all that came after; of the newest one its own step. Two
    in the other order are taken in theirs. Raises `NotFound`, also for a revision that is not there.
    """
    assert_can(call, Role.READER, at)
    found, rows = _listed(call, at, before)
    since, until = _ends(found, since, until)
    shown = rows[:REVISIONS]
    revs = [row.rev for row in shown]
    step = range(until, since, -1)
    changes, oldest, whole = _changes(call, found, revs, step)
    items = [
        RevisionEntry(
            row.rev,
            row.action,
            row.reason,
            row.created_at,
            full_name(row.display_name, row.subject),
            changes.get(row.rev, []),
        )
        for row in shown
        if row.rev >= oldest
    ]
    older = items[-1].rev if items and (len(rows) > len(items)) else None
    between = ((rev, changes[rev]) for rev in reversed(step) if rev in changes)
    return RevisionPage(found, items, older, since, until, _differences(between) if whole else None)


def _changes(
    call: UseCaseContext, found: EnvironmentRow, revs: Sequence[int], step: Sequence[int]
) -> tuple[Mapping[int, list[PlannedChange]], int, bool]:
    """The changes of both, each newest first; the oldest of `revs` that was read; whether `step` was."""
    if not revs or not step:
        changes, oldest = changes_of_revisions(call, found.id, revs or step)
        return changes, oldest, not step or step[-1] >= oldest
    if step[-1] > revs[0] or step[0] < revs[-1]:
        listed, oldest = changes_of_revisions(call, found.id, revs)
        stepped, reached = changes_of_revisions(call, found.id, step)
        return {**listed, **stepped}, oldest, step[-1] >= reached
    changes, oldest = changes_of_revisions(call, found.id, [max(revs[0], step[0]), min(revs[-1], step[-1])])
    return changes, oldest, step[-1] >= oldest


def _ends(found: EnvironmentRow, since: int | None, until: int | None) -> tuple[int, int]:
    if until is None:
        until = found.rev
        since = None if since == until else since
    if since is None:
        since = max(until - 1, 0)
    if max(since, until) > found.rev:
        raise NotFound(REVISION_NOT_FOUND)
    return min(since, until), max(since, until)


def _differences(steps: Iterable[tuple[int, Sequence[PlannedChange]]]) -> list[Difference]:
    """What steps, each a revision with its changes, come to, the oldest first: what is added, changed, gone.

    What was added and removed again in between is no difference.
    """
    first: dict[str, PlannedChange] = {}
    last: dict[str, PlannedChange] = {}
    revs: dict[str, list[int]] = {}
    for rev, changes in steps:
        for change in changes:
            first.setdefault(change.key, change)
            last[change.key] = change
            revs.setdefault(change.key, []).append(rev)
    found = []
    for key in last:
        before = None if first[key].kind == ADDED else first[key].version - 1
        after = None if last[key].kind == REMOVED else last[key].version
        if before is None and after is None:
            continue
        kind = ADDED if before is None else REMOVED if after is None else CHANGED
        found.append(Difference(key, kind, before, after, revs[key]))
    order = (ADDED, CHANGED, REMOVED)
    return sorted(found, key=lambda one: (order.index(one.kind), one.key))


def _listed(call: UseCaseContext, at: ScopePath, before: int | None) -> tuple[EnvironmentRow, list[_Row]]:
    """The environment, and some of its revisions, one more than a page has; one statement."""
    parameters = {
        "project_slug": at.project,
        "environment_slug": at.environment,
        "before": 2**53 if before is None else before,
        "limit": REVISIONS + 1,
    }
    rows = call.connection.execute(_REVISIONS, parameters).all()
    if not rows:
        raise not_found(call, at)
    found = EnvironmentRow(*rows[0][: len(_COLUMNS)])
    assert_covers_ids(call, at, found.project_id, found.id)
    # An environment that was never written to has one row without a revision.
    return found, [_Row(*row[len(_COLUMNS) :]) for row in rows if row[len(_COLUMNS)] is not None]


def deleted_key_page(call: UseCaseContext, at: ScopePath, after: str = "") -> DeletedKeyPage:
    """The keys that were deleted and are not there again, sorted, from after a key; two statements."""
    assert_can(call, Role.READER, at)
    found = find_environment(call, at)
    statement = _GONE[call.connection.dialect.name]
    parameters = {"environment_id": found.id, "after": after, "limit": DELETED + 1}
    rows = call.connection.execute(statement, parameters).all()
    # A tombstone follows on a value.
    items = [
        DeletedKeyEntry(
            row.key,
            row.version - 1,
            row.deleted_at,
            full_name(row.display_name, row.subject),
            row.reason,
        )
        for row in rows[:DELETED]
    ]
    return DeletedKeyPage(found, items, items[-1].key if len(rows) > DELETED else None)


def _revisions() -> Query:
    # Revisions are numbered without gaps: of a long history only those of the page are read.
    end = case((environment.c.rev < bindparam("before"), environment.c.rev + 1), else_=bindparam("before"))
    is_shown = and_(
        revision.c.environment_id == environment.c.id,
        revision.c.rev < bindparam("before"),
        revision.c.rev >= end - bindparam("limit"),
    )
    of_revision = [revision.c[name] for name in _Row._fields[:4]]
    return (
        select(*_COLUMNS, *of_revision, identity.c.subject, identity.c.display_name)
        .join_from(environment, project)
        .outerjoin(revision, is_shown)
        .outerjoin(identity, identity.c.id == revision.c.created_by)
        .where(at_environment())
        .order_by(revision.c.rev.desc())
    )


def _gone(dialect_name: str) -> Query:
    found, version = select_deleted(dialect_name)
    of_version = and_(revision.c.environment_id == secret.c.environment_id, revision.c.rev == version.c.rev)
    return (
        found.add_columns(identity.c.subject, identity.c.display_name, revision.c.reason)
        .outerjoin(revision, of_version)
        .outerjoin(identity, identity.c.id == version.c.created_by)
    )


_COLUMNS = [environment.c[one.name] for one in fields(EnvironmentRow)]
_REVISIONS = _revisions()
_GONE = PerDialect(_gone)
