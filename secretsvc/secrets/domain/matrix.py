"""A project at a glance: its keys in its environments, and what differs from one of these."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import and_, bindparam, select
from sqlalchemy.sql.selectable import NamedFromClause

from secretsvc.authorization.rules.checks import assert_can, assert_sees, not_found
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statements import PerDialect, in_parameter
from secretsvc.db.types import Expression, Query
from secretsvc.kernel.authorization import Role, ScopePath
from secretsvc.kernel.display_names import full_name
from secretsvc.kernel.errors import DecryptFailed, UnknownKid
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import EnvironmentRow, ProjectRow, environment_in_sight, project_in_sight
from secretsvc.secrets.models import revision, secret
from secretsvc.secrets.queries.comparison import DIFFERS, SAME, UNREADABLE
from secretsvc.secrets.queries.decryption import ValueDigests
from secretsvc.secrets.queries.default_environments import FINAL, REHEARSAL, default_environment, named
from secretsvc.secrets.queries.rows import IS_CURRENT, lateral_versions
from secretsvc.tables.identities import identity
from secretsvc.tables.projects import environment, project

#: What a cell says beside that it is the same, differs or cannot be read; `SET` where nothing compares it.
SET, MISSING = "set", "missing"


class Cell(NamedTuple):
    """A key in an environment; version and time, in epoch milliseconds, are 0 where it is missing."""

    state: str
    version: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A key, and its cell in each of the matrix's environments."""

    key: str
    cells: list[Cell]

    @property
    def states(self) -> set[str]:
        """What its cells say."""
        return {cell.state for cell in self.cells}


@dataclass(frozen=True, slots=True)
class LastChange:
    """Who changed which environment last, and when, in epoch milliseconds."""

    by: str
    environment: EnvironmentRow
    at: int


@dataclass(frozen=True, slots=True)
class VisibleProject:
    """A project, the environments of it that the caller sees, oldest first, and their last change."""

    project: ProjectRow
    environments: list[EnvironmentRow]
    last_change: LastChange | None


@dataclass(frozen=True, slots=True)
class KeyMatrix:
    """A project's keys, sorted, in some of the environments that the caller sees.

    `base` is the environment that the others are compared with, if one is. `keys` are the numbers of keys of
    the environments, in their order, and `total` that of all of them; a text filters neither.
    """

    sight: VisibleProject
    environments: list[EnvironmentRow]
    base: EnvironmentRow | None
    rows: list[MatrixRow]
    keys: list[int]
    total: int


def key_matrix(call: UseCaseContext, at: ScopePath, text: str = "", base: str | None = None) -> KeyMatrix:
    """The keys that hold `text`, in any case; `base` is a slug, "" to compare with nothing.

    Where no such environment is in sight it is the one called production, else the newest. An environment
    that the caller does not see has no column, and its keys no row. Only keys that hold the text are opened,
    one value after the other, of which marks are kept. Raises `NotFound`, and `ServerMisconfigured` without a
    ring, also where there is nothing to open: the answer must not depend on how many secrets there are.
    """
    assert_sees(call, at)
    sight = _sight_of(call, at)
    return _matrix(
        call,
        sight,
        sight.environments,
        None if base == "" else default_environment(sight.environments, base),
        text,
    )


def compared_matrix(call: UseCaseContext, at: ScopePath, *, here: str | None, there: str | None) -> KeyMatrix:
    """Two environments, the second compared with; without a slug they are those that one copies between.

    There is one column where only one is in sight, or one is compared with itself. Raises as `key_matrix`,
    and `NotFound` for a slug that names none of those in sight.
    """
    assert_sees(call, at)
    for slug in filter(None, (here, there)):
        assert_can(call, Role.READER, ScopePath(at.project, slug))
    sight = _sight_of(call, at)
    target = named(sight.environments, there) or default_environment(
        sight.environments, FINAL, other_than=here
    )
    source = named(sight.environments, here) or default_environment(
        sight.environments, REHEARSAL, other_than=target.slug if target else None
    )
    pair = [one for one in (source, target) if one is not None]
    return _matrix(call, sight, pair[:1] if source == target else pair, target)


def _sight_of(call: UseCaseContext, at: ScopePath) -> VisibleProject:
    """One statement. Raises `NotFound`."""
    inside = and_(environment.c.project_id == project.c.id, environment_in_sight(call))
    newest = and_(revision.c.environment_id == environment.c.id, revision.c.rev == environment.c.rev)
    joined = (
        project.outerjoin(environment, inside)
        .outerjoin(revision, newest)
        .outerjoin(identity, identity.c.id == revision.c.created_by)
    )
    statement = (
        select(*_PROJECT, *_ENVIRONMENT, revision.c.created_at, identity.c.display_name, identity.c.subject)
        .select_from(joined)
        .where(project.c.slug == bindparam("project_slug"), project_in_sight(call))
        .order_by(environment.c.id)
    )
    rows = call.connection.execute(statement, {"project_slug": at.project}).all()
    if not rows:
        raise not_found(call, at)
    last, end = len(_PROJECT), len(_PROJECT) + len(_ENVIRONMENT)
    there = [(EnvironmentRow(*row[last:end]), *row[end:]) for row in rows if row[last] is not None]
    changes = [
        LastChange(full_name(name, subject), one, when)
        for one, when, name, subject in there
        if subject is not None
    ]
    newest_change = max(changes, key=lambda change: change.at, default=None)
    return VisibleProject(ProjectRow(*rows[0][:last]), [one for one, *_ in there], newest_change)


def _matrix(
    call: UseCaseContext,
    sight: VisibleProject,
    environments: list[EnvironmentRow],
    base: EnvironmentRow | None,
    text: str = "",
) -> KeyMatrix:
    found = _found(call, environments, text.lower())
    keys = sorted({key for inside in found for key in inside})
    shown = [key for key in keys if text.lower() in key.lower()]
    against = found[environments.index(base)] if base is not None else {}
    rows = [MatrixRow(key, [_cell(inside, key, against) for inside in found]) for key in shown]
    return KeyMatrix(sight, environments, base, rows, [*map(len, found)], len(keys))


class _Found(NamedTuple):
    """A key that is there; the mark is None for one that cannot be opened, or was not."""

    version: int
    updated_at: int
    mark: bytes | None


def _cell(inside: dict[str, _Found], key: str, against: dict[str, _Found]) -> Cell:
    one = inside.get(key)
    if one is None:
        return Cell(MISSING, 0, 0)
    other = against.get(key)
    if one.mark is None:
        state = UNREADABLE
    elif inside is against or other is None or other.mark is None:
        state = SET
    else:
        state = SAME if one.mark == other.mark else DIFFERS
    return Cell(state, one.version, one.updated_at)


def _found(
    call: UseCaseContext, environments: Sequence[EnvironmentRow], text: str
) -> list[dict[str, _Found]]:
    """The keys of each of the environments; only those that hold the text are opened."""
    marks, ring = ValueDigests(), call.ring
    by_slug = {one.slug: (ring.within(one.id).open, dict[str, _Found]()) for one in environments}
    statement = _SEALED[call.connection.dialect.name]
    parameters = {"environments": [one.id for one in environments]}
    with statement.streamed(call.connection, parameters) as rows:
        for slug, key, version, updated_at, envelope, kid in rows:
            open_one, inside = by_slug[slug]
            mark = None
            if not text or text in key.lower():
                with suppress(DecryptFailed, UnknownKid):
                    mark = marks.of(open_one(envelope, kid, key, version))
            inside[key] = _Found(version, updated_at, mark)
    return [inside for _, inside in by_slug.values()]


def _sealed(dialect_name: str) -> Query:
    """Not an inner join with the version: a secret without one is unreadable, and must not be left out."""
    version, is_current = lateral_versions(dialect_name, IS_CURRENT)
    return (
        select(
            # Not the id, of which a UUID would be made for each row.
            environment.c.slug,
            secret.c.key,
            secret.c.version,
            secret.c.updated_at,
            version.c.envelope,
            version.c.kid,
        )
        .join_from(environment, secret, secret.c.environment_id == environment.c.id)
        .outerjoin(version, is_current)
        .where(in_parameter(environment.c.id, "environments", dialect_name), ~secret.c.deleted)
    )


def _columns(table: NamedFromClause, names: Collection[str]) -> list[Expression]:
    return [table.c[name].label(f"{table.name}_{name}") for name in names]


_PROJECT = _columns(project, ProjectRow.__dataclass_fields__)
_ENVIRONMENT = _columns(environment, EnvironmentRow.__dataclass_fields__)
_SEALED = PerDialect(lambda name: Prepared(_sealed(name)))
