"""Versions, and when an identity last saw each of them: by a reveal, an export or a copy, or as its author.

An export gave the version that was in force at its revision: `rev` <= that revision < `next_rev`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Subquery,
    Text,
    and_,
    bindparam,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
)

from secretsvc.audit.models import FULL_COPY, FULL_EXPORT, PAST_EXPORT, audit_key, audit_record
from secretsvc.db.base import Id
from secretsvc.db.row_parameters import rows_parameters, rows_table
from secretsvc.db.statements import PerDialect
from secretsvc.db.types import Columns, CompoundQuery, Expression, FoundRow, Query
from secretsvc.exposure.rules.candidates import NEVER, WINDOW, candidates
from secretsvc.exposure.rules.exposed_environments import is_found
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.secrets.models import departed_version, secret, secret_version
from secretsvc.secrets.queries.origins import ORIGIN, origin_of
from secretsvc.secrets.queries.plan import ValueOrigin
from secretsvc.secrets.queries.rows import lateral_versions

_ROOT = {"secret_id": BigInteger, "version": BigInteger}
_STATES = {"environment_id": Id, "key": Text}
_OF_VERSION = ("secret_id", "version", "rev", "created_at", "created_by", *(one.name for one in ORIGIN))


class VersionRange(NamedTuple):
    """The versions of a secret after one of them."""

    secret_id: int
    after: int


class ExposedVersion(NamedTuple):
    """A version with a value; it was in force from the revision `rev` until before `next_rev`.

    `next_rev` is `NEVER` for a version that is still in force. `origin` is the same for all that are this
    value. `seen_at` does not know of exports of older states.
    `repeated` is whether a later version of the key is the value too, `related` whether any other is.
    """

    environment_id: UUID
    secret_id: int
    key: str
    version: int
    rev: int
    next_rev: int
    is_current: bool
    origin: ValueOrigin
    seen_at: int | None
    repeated: bool = False
    related: bool = False

    @property
    def of_key(self) -> tuple[UUID, int]:
        """The same for all versions of a key: a secret's id is free once its environment is gone."""
        return self.environment_id, self.secret_id


def candidates_in(
    call: UseCaseContext, identity_id: UUID, windows: Sequence[VersionRange], most: int
) -> tuple[list[ExposedVersion], tuple[int, int] | None]:
    """The first candidates of the windows that have values, and the last that was found.

    The last one is a secret and a version, and None where the windows have no more candidates; one statement.
    """
    if not windows:
        return [], None
    dialect_name = call.connection.dialect.name
    parameters = {"identity_id": identity_id, "most": most, **rows_parameters(dialect_name, windows, *WINDOW)}
    rows = sorted(
        call.connection.execute(_INSIDE[dialect_name], parameters).all(), key=lambda row: row.number
    )
    found = [
        _version(row, identity_id)._replace(repeated=row.repeated, related=row.related)
        for row in rows
        if row.has_value
    ]
    # Candidates end early where an environment was deleted after its keys were read.
    if rows and (len(rows) == most or rows[-1].secret_id != windows[-1].secret_id):
        return found, (rows[-1].secret_id, rows[-1].version)
    return found, None


def relatives_of(
    call: UseCaseContext, identity_id: UUID, origins: Iterable[ValueOrigin]
) -> dict[ValueOrigin, list[ExposedVersion]]:
    """All versions that are the values of these origins, wherever they are; one statement."""
    roots = {(one.origin_secret_id, one.origin_version) for one in origins}
    found: dict[ValueOrigin, list[ExposedVersion]] = defaultdict(list)
    if not roots:
        return found
    dialect_name = call.connection.dialect.name
    parameters = {"identity_id": identity_id, **rows_parameters(dialect_name, sorted(roots), *_ROOT)}
    for row in call.connection.execute(_RELATED[dialect_name], parameters):
        if row.has_value:
            one = _version(row, identity_id)
            found[one.origin].append(one)
    return found


def _version(row: FoundRow, identity_id: UUID) -> ExposedVersion:
    wrote = row.created_at if row.created_by == identity_id else None
    return ExposedVersion(
        row.environment_id,
        row.secret_id,
        row.key,
        row.version,
        row.rev,
        row.next_rev,
        row.is_current,
        origin_of(row.environment_id, row.secret_id, row.version, row),
        latest((wrote, row.revealed_at, row.copied_at, row.exported_at)),
    )


def latest(times: Iterable[int | None]) -> int | None:
    """The last of those that are there."""
    return max((one for one in times if one is not None), default=None)


class PastExports:
    """When an identity last read or copied states of environments, by their revisions; one statement."""

    def __init__(self, call: UseCaseContext, identity_id: UUID, environment_ids: Collection[UUID]) -> None:
        self._read: dict[UUID, list[tuple[int, int]]] = defaultdict(list)
        if not environment_ids:
            return
        dialect_name = call.connection.dialect.name
        rows = [(one, key) for one in environment_ids for key in (PAST_EXPORT, FULL_COPY)]
        parameters = {"identity_id": identity_id, **rows_parameters(dialect_name, rows, *_STATES)}
        for environment_id, rev, seen_at in call.connection.execute(_OLDER[dialect_name], parameters):
            self._read[environment_id].append((rev, seen_at))

    def gave_at(self, one: ExposedVersion) -> int | None:
        """When one of them last gave the version."""
        read = self._read.get(one.environment_id, ())
        return latest(seen_at for rev, seen_at in read if one.rev <= rev < one.next_rev)


def _existing(
    dialect_name: str, rows: FromClause, condition: ColumnElement[bool], *more: Expression
) -> Query:
    """The versions that a condition on rows picks, each with what is there after it."""
    version, on = lateral_versions(dialect_name, condition, rows)
    return (
        select(*_columns(version), *more)
        .select_from(rows)
        .join(version, on)
        .join(secret, secret.c.id == version.c.secret_id)
    )


def _departed(rows: FromClause, condition: ColumnElement[bool]) -> Query:
    """As `_existing`, of those whose environment is gone: none of them is current."""
    gone = departed_version.c
    columns = [gone[name] for name in (*_OF_VERSION, "environment_id", "key", "next_rev")]
    flags = true().label("has_value"), false().label("is_current")
    return select(*columns, *flags).select_from(rows).join(departed_version, condition)


def _evaluated_once(found: Query | CompoundQuery) -> Subquery:
    """A subquery with OFFSET 0, which the database does not merge: a column is not computed for each use."""
    return found.offset(literal_column("0")).subquery("version")


def _columns(version: FromClause) -> list[Expression]:
    later = secret_version.alias("later")
    next_rev = select(func.min(later.c.rev)).where(
        later.c.secret_id == version.c.secret_id, later.c.rev > version.c.rev
    )
    return [
        *(version.c[name] for name in _OF_VERSION),
        secret.c.environment_id,
        secret.c.key,
        func.coalesce(next_rev.scalar_subquery(), NEVER, type_=BigInteger).label("next_rev"),
        version.c.kid.is_not(None).label("has_value"),
        and_(version.c.version == secret.c.version, ~secret.c.deleted).label("is_current"),
    ]


def _seen_at(found: Subquery) -> list[Expression]:
    """When the identity was last given a version, by each way."""
    one = found.c
    return [
        _last(audit_record.c, one, one.key, one.version).label("revealed_at"),
        _last(audit_key.c, one, one.key, one.version).label("copied_at"),
        _exported(one).label("exported_at"),
    ]


def _last(row: Columns, one: Columns, key: Expression, given: Expression) -> Expression:
    return (
        select(func.max(row.created_at))
        .where(
            row.identity_id == bindparam("identity_id", type_=Id),
            row.environment_id == one.environment_id,
            row.key == key,
            row.given == given,
        )
        .scalar_subquery()
    )


def _exported(one: Columns) -> Expression:
    row = audit_record.c
    return (
        select(row.created_at)
        .where(
            row.identity_id == bindparam("identity_id", type_=Id),
            row.environment_id == one.environment_id,
            row.key == FULL_EXPORT,
            row.given >= one.rev,
            row.given < one.next_rev,
        )
        .order_by(row.given.desc(), row.created_at.desc())
        .limit(1)
        .scalar_subquery()
    )


def _inside(dialect_name: str) -> Query:
    rows = candidates(dialect_name)
    is_it = and_(secret_version.c.secret_id == rows.c.secret_id, secret_version.c.version == rows.c.version)
    found = _evaluated_once(_existing(dialect_name, rows, is_it, rows.c.number))
    one, other = found.c, secret_version.alias("other").c
    root = func.coalesce(one.origin_secret_id, one.secret_id), func.coalesce(one.origin_version, one.version)
    made = select(other.version).where(_is_made_of(other, root))
    departed = select(departed_version.c.version).where(_is_made_of(departed_version.c, root))
    repeated = made.where(
        other.origin_environment_id == func.coalesce(one.origin_environment_id, one.environment_id),
        other.secret_id == one.secret_id,
        other.version > one.version,
    )
    related = or_(one.origin_secret_id.is_not(None), is_found(made), is_found(departed))
    return select(*one, *_seen_at(found), is_found(repeated).label("repeated"), related.label("related"))


def _related(dialect_name: str) -> Query:
    rows, root = rows_table(dialect_name, **_ROOT)
    is_root = and_(secret_version.c.secret_id == root[0], secret_version.c.version == root[1])
    conditions = is_root, _is_made_of(secret_version.c, root)
    parts = [_existing(dialect_name, rows, condition) for condition in conditions]
    parts.append(_departed(rows, _is_made_of(departed_version.c, root)))
    found = _evaluated_once(union_all(*parts))
    return select(*found.c, *_seen_at(found))


def _is_made_of(version: Columns, root: Sequence[ColumnElement[int]]) -> ColumnElement[bool]:
    return and_(version.origin_secret_id == root[0], version.origin_version == root[1])


def _older(dialect_name: str) -> Query:
    """The revisions that were read, each found by index from the next newer one, and when each was last read.

    One revision may have been read very often, so its records are not read but jumped over: a row of the
    recursion has the newest revision below that of the row before, and NULL, which ends it, after the oldest.
    """
    row = audit_record.c
    rows, (environment_id, key) = rows_table(dialect_name, **_STATES)

    def newest(environment_id: Expression, key: Expression, *before: ColumnElement[bool]) -> Expression:
        is_its = (row.identity_id == bindparam("identity_id", type_=Id), row.environment_id == environment_id)
        read = select(func.max(row.given)).where(*is_its, row.key == key, row.given.is_not(None), *before)
        return read.scalar_subquery().label("rev")

    one = [environment_id.label("environment_id"), key.label("key")]
    first = select(*one, newest(environment_id, key)).select_from(rows).cte("older", recursive=True)
    last = first.c
    before = newest(last.environment_id, last.key, row.given < last.rev)
    older = first.union_all(select(last.environment_id, last.key, before).where(last.rev.is_not(None)))
    found = older.c
    seen_at = _last(row, found, found.key, found.rev)
    return select(found.environment_id, found.rev, seen_at).where(found.rev.is_not(None))


_INSIDE = PerDialect(_inside)
_RELATED = PerDialect(_related)
_OLDER = PerDialect(_older)
