"""Versions, and when an identity last met each of them: by a reveal, an export or a copy, or as its author.

An export gave the version that was in force at its revision: one that is not newer, and older than the next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    Select,
    Subquery,
    Text,
    and_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    union_all,
)
from sqlalchemy.types import TypeEngine

from secretsvc.audit.models import COPIED, OLDER, WHOLE, audit_key, audit_record
from secretsvc.db.base import Id
from secretsvc.db.listed import as_listed, listed
from secretsvc.db.statements import DIALECTS
from secretsvc.exposure.rules.places import there
from secretsvc.kernel.call import Call
from secretsvc.secrets.models import secret, secret_version
from secretsvc.secrets.rules.lineage import ORIGIN, origin_of
from secretsvc.secrets.rules.planning import Origin
from secretsvc.secrets.rules.rows import versions_beside

_WINDOW = {"secret_id": BigInteger, "after": BigInteger, "until": BigInteger}
_ROOT = {"secret_id": BigInteger, "version": BigInteger}
_STATES = {"environment_id": Id, "key": Text}
_NEVER = 2**62


class Window(NamedTuple):
    """Versions of a secret, from after one up to another."""

    secret_id: int
    after: int
    until: int


class Version(NamedTuple):
    """A version with a value; it was in force from the revision `rev` until before `next_rev`.

    `origin` is the same for all that are this value. `seen_at` does not know of exports of older states.
    `repeated` is whether a later version of the key is the value too, `related` whether any other is.
    """

    environment_id: UUID
    secret_id: int
    key: str
    version: int
    rev: int
    next_rev: int
    is_current: bool
    origin: Origin
    seen_at: int | None
    repeated: bool = False
    related: bool = False


def versions_in(call: Call, identity_id: UUID, windows: Collection[Window]) -> list[Version]:
    """The versions that have values; one statement."""
    return _versions(call, _INSIDE, identity_id, windows, _WINDOW)


def relatives_of(call: Call, identity_id: UUID, origins: Iterable[Origin]) -> dict[Origin, list[Version]]:
    """All versions that are the values of these origins, wherever they are; one statement."""
    roots = {(one.origin_secret_id, one.origin_version) for one in origins}
    found: dict[Origin, list[Version]] = defaultdict(list)
    for one in _versions(call, _RELATED, identity_id, sorted(roots), _ROOT):
        found[one.origin].append(one)
    return found


def _versions(
    call: Call,
    statements: Mapping[str, Select[Any]],
    identity_id: UUID,
    rows: Collection[tuple[int, ...]],
    names: Iterable[str],
) -> list[Version]:
    if not rows:
        return []
    dialect_name = call.connection.dialect.name
    parameters = {"identity_id": identity_id, **as_listed(dialect_name, rows, *names)}
    return [
        _version(row, identity_id) for row in call.connection.execute(statements[dialect_name], parameters)
    ]


def _version(row: Any, identity_id: UUID) -> Version:
    wrote = row.created_at if row.created_by == identity_id else None
    stored = [getattr(row, name) for name in Origin._fields]
    return Version(
        row.environment_id,
        row.secret_id,
        row.key,
        row.version,
        row.rev,
        row.next_rev,
        row.version == row.newest and not row.deleted,
        origin_of(row.environment_id, row.secret_id, row.version, stored),
        latest((wrote, row.revealed_at, row.copied_at, row.exported_at)),
        *(bool(getattr(row, name, False)) for name in ("repeated", "related")),
    )


def latest(times: Iterable[int | None]) -> int | None:
    """The last of those that are there."""
    return max((one for one in times if one is not None), default=None)


class OlderStates:
    """When an identity last read or copied states of environments, by their revisions; one statement."""

    def __init__(self, call: Call, identity_id: UUID, environment_ids: Collection[UUID]) -> None:
        self._read: dict[UUID, list[tuple[int, int]]] = defaultdict(list)
        if not environment_ids:
            return
        dialect_name = call.connection.dialect.name
        rows = [(one, key) for one in environment_ids for key in (OLDER, COPIED)]
        parameters = {"identity_id": identity_id, **as_listed(dialect_name, rows, *_STATES)}
        for environment_id, rev, seen_at in call.connection.execute(_OLDER[dialect_name], parameters):
            self._read[environment_id].append((rev, seen_at))

    def gave_at(self, one: Version) -> int | None:
        """When one of them last gave the version."""
        read = self._read.get(one.environment_id, ())
        return latest(seen_at for rev, seen_at in read if one.rev <= rev < one.next_rev)


def _found(dialect_name: str, types: Mapping[str, type[TypeEngine[Any]]], *conditions: Any) -> Subquery:
    """The versions that meet one of the conditions on listed rows, each with what is there after it."""
    parts = []
    for condition in conditions:
        rows, columns = listed(dialect_name, **types)
        version, on = versions_beside(dialect_name, condition(columns), rows)
        parts.append(
            select(*_columns(version))
            .select_from(rows)
            .join(version, on)
            .join(secret, secret.c.id == version.c.secret_id)
            .where(version.c.kid.is_not(None))
        )
    found = union_all(*parts) if len(parts) > 1 else parts[0]
    # Fenced, so that what is looked up for a row is not looked up for each of its uses.
    return found.offset(literal_column("0")).subquery("version")


def _columns(version: FromClause) -> list[ColumnElement[Any]]:
    names = ("secret_id", "version", "rev", "created_at", "created_by", *(one.name for one in ORIGIN))
    later = secret_version.alias("later")
    next_rev = select(func.min(later.c.rev)).where(
        later.c.secret_id == version.c.secret_id, later.c.rev > version.c.rev
    )
    return [
        *(version.c[name] for name in names),
        secret.c.environment_id,
        secret.c.key,
        secret.c.version.label("newest"),
        secret.c.deleted,
        func.coalesce(next_rev.scalar_subquery(), _NEVER, type_=BigInteger).label("next_rev"),
    ]


def _met(found: Subquery) -> list[ColumnElement[Any]]:
    """When the identity last met a version, by each way."""
    one = found.c
    return [
        _last(audit_record.c, one, one.key, one.version).label("revealed_at"),
        _last(audit_key.c, one, one.key, one.version).label("copied_at"),
        _exported(one).label("exported_at"),
    ]


def _last(row: Any, one: Any, key: Any, given: Any) -> Any:
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


def _exported(one: Any) -> Any:
    row = audit_record.c
    return (
        select(row.created_at)
        .where(
            row.identity_id == bindparam("identity_id", type_=Id),
            row.environment_id == one.environment_id,
            row.key == WHOLE,
            row.given >= one.rev,
            row.given < one.next_rev,
        )
        .order_by(row.given.desc(), row.created_at.desc())
        .limit(1)
        .scalar_subquery()
    )


def _inside(dialect_name: str) -> Select[Any]:
    found = _found(
        dialect_name,
        _WINDOW,
        lambda window: and_(
            secret_version.c.secret_id == window[0],
            secret_version.c.version > window[1],
            secret_version.c.version <= window[2],
        ),
    )
    one, other = found.c, secret_version.alias("other").c
    made = select(other.version).where(
        other.origin_secret_id == func.coalesce(one.origin_secret_id, one.secret_id),
        other.origin_version == func.coalesce(one.origin_version, one.version),
    )
    repeated = made.where(
        other.origin_environment_id == func.coalesce(one.origin_environment_id, one.environment_id),
        other.secret_id == one.secret_id,
        other.version > one.version,
    )
    related = or_(one.origin_secret_id.is_not(None), there(made))
    return select(*one, *_met(found), there(repeated).label("repeated"), related.label("related"))


def _related(dialect_name: str) -> Select[Any]:
    found = _found(
        dialect_name,
        _ROOT,
        lambda root: and_(secret_version.c.secret_id == root[0], secret_version.c.version == root[1]),
        lambda root: and_(
            secret_version.c.origin_secret_id == root[0], secret_version.c.origin_version == root[1]
        ),
    )
    return select(*found.c, *_met(found))


def _older(dialect_name: str) -> Select[Any]:
    """Hops from revision to revision: the same one may have been read very often."""
    row = audit_record.c
    rows, (environment_id, key) = listed(dialect_name, **_STATES)

    def newest(environment_id: Any, key: Any, *before: ColumnElement[bool]) -> Any:
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


_INSIDE = {name: _inside(name) for name in DIALECTS}
_RELATED = {name: _related(name) for name in DIALECTS}
_OLDER = {name: _older(name) for name in DIALECTS}
