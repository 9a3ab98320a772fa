"""What an environment holds at one of its revisions, with values that are short (contract 5.3 to 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, and_, bindparam, case, func, select

from secretsvc.authorization.rules.checks import assert_covers_ids, not_found
from secretsvc.authorization.rules.denial_lookup import at_environment
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statements import PerDialect
from secretsvc.db.types import Query
from secretsvc.kernel.authorization import ScopePath
from secretsvc.kernel.errors import NotFound
from secretsvc.kernel.use_case import Call
from secretsvc.secrets.models import secret, secret_version
from secretsvc.secrets.queries.at_revision import version_at_revision
from secretsvc.secrets.queries.inline_envelopes import short_of
from secretsvc.secrets.queries.key_rows import KeyRow
from secretsvc.secrets.queries.origins import ORIGIN
from secretsvc.secrets.queries.revisions import REVISION_NOT_FOUND
from secretsvc.secrets.queries.rows import IS_CURRENT, as_stored, lateral_versions, length_of, uuid_of
from secretsvc.tables.projects import environment, project


class Entry(NamedTuple):
    """A key with the version in force; `id` is the secret's, `size` its envelope's, in bytes.

    The envelope itself is None where it is not short, or missing. The last three are the origin's as stored.
    """

    id: int
    key: str
    version: int
    description: str | None
    size: int
    envelope: bytes | None
    kid: str | None
    origin_environment_id: UUID | None
    origin_secret_id: int | None
    origin_version: int | None


@dataclass(frozen=True, slots=True)
class EnvironmentContents:
    """The keys of an environment at a revision, sorted."""

    project_id: UUID
    id: UUID
    rev: int
    entries: dict[str, Entry]


def contents_of(call: Call, at: ScopePath, rev: int | None = None) -> EnvironmentContents:
    """The contents of an environment, the present ones without `rev`: a snapshot, by one statement.

    Descriptions are today's, None for a key that is deleted since. Raises `NotFound`, also for a later
    revision.
    """
    return _read(call, at, rev, _CONTENTS if rev is None else _OLDER, {})[0]


def contents_with_target(
    call: Call, at: ScopePath, rev: int | None, environment_id: UUID
) -> tuple[EnvironmentContents, dict[str, KeyRow]]:
    """As `contents_of`; and what an environment has of these keys, deleted ones too, in the same statement.

    Of it come the envelopes that are short and as long as those beside them: other values differ. Where a
    revision is given it is also what the environment has of keys that came later.
    """
    statements = _BESIDE if rev is None else _OLDER_BESIDE
    contents, rows = _read(call, at, rev, statements, {"own_environment_id": environment_id})
    own = (KeyRow._make(row[_OWN:]) for row in rows if row[_OWN] is not None)
    return contents, {one.key: one for one in own if not one.deleted or one.key in contents.entries}


def _read(
    call: Call,
    at: ScopePath,
    rev: int | None,
    statements: PerDialect[Prepared],
    parameters: dict[str, object],
) -> tuple[EnvironmentContents, list[Sequence[Any]]]:
    parameters |= {"project_slug": at.project, "environment_slug": at.environment}
    if rev is not None:
        parameters["rev"] = rev
    statement = statements[call.connection.dialect.name]
    rows = [*statement.tuples(call.connection, parameters)]
    if not rows:
        raise not_found(call, at)
    project_id, environment_id = map(uuid_of, rows[0][:2])
    present = rows[0][2]
    assert_covers_ids(call, at, project_id, environment_id)
    if rev is not None and rev > present:
        raise NotFound(REVISION_NOT_FOUND)
    # An environment without secrets has one row without a key; a key that was not there has no version.
    entries = {row[4]: Entry._make(row[3:_OWN]) for row in rows if row[5] is not None}
    return EnvironmentContents(project_id, environment_id, present if rev is None else rev, entries), rows


def _contents(dialect_name: str, *, older: bool = False, beside: bool = False) -> Query:
    """An environment beside each of its keys; outer joins, so that an empty one has a row too.

    A secret whose current version is missing is unreadable, and must not be left out.
    """
    inside = secret.c.environment_id == environment.c.id
    number: ColumnElement[int] = secret.c.version
    description: ColumnElement[str | None] = secret.c.description
    if older:
        version, is_in_force = version_at_revision(dialect_name)
        number = case((version.c.kid.is_not(None), version.c.version))
        description = case((~secret.c.deleted, description))
    else:
        version, is_in_force = lateral_versions(dialect_name, IS_CURRENT)
        inside = and_(inside, ~secret.c.deleted)
    length = length_of(version.c.envelope, dialect_name)
    found = (
        select(
            as_stored(environment.c.project_id, dialect_name).label("project_id"),
            as_stored(environment.c.id, dialect_name).label("id"),
            environment.c.rev,
            secret.c.id.label("secret_id"),
            secret.c.key,
            number.label("version"),
            description.label("description"),
            func.coalesce(length, 0).label("size"),
            short_of(version.c.envelope, dialect_name).label("envelope"),
            version.c.kid,
            *(version.c[one.name] for one in ORIGIN),
        )
        .join_from(environment, project)
        .outerjoin(secret, inside)
        .outerjoin(version, is_in_force)
        .where(at_environment())
        .order_by(secret.c.key)
    )
    return _with_own(found, dialect_name, length) if beside else found


def _with_own(found: Query, dialect_name: str, length: ColumnElement[int]) -> Query:
    """With the columns of `KeyRow` of the keys in the bound `own_environment_id`."""
    own = secret.alias("own")
    of_key = and_(own.c.environment_id == bindparam("own_environment_id"), own.c.key == secret.c.key)
    current = secret_version.alias("current")
    is_current = and_(~own.c.deleted, current.c.secret_id == own.c.id, current.c.version == own.c.version)
    version, on = lateral_versions(dialect_name, is_current, own, version=current)
    may_equal = length_of(version.c.envelope, dialect_name) == length
    envelope = case((may_equal, short_of(version.c.envelope, dialect_name)))
    return (
        found.add_columns(
            *(own.c[name].label(f"own_{name}") for name in KeyRow._fields if name in own.c),
            envelope.label("own_envelope"),
            version.c.kid.label("own_kid"),
        )
        .outerjoin(own, of_key)
        .outerjoin(version, on)
    )


#: Where the columns of `KeyRow` begin.
_OWN = 3 + len(Entry._fields)
#: By the dialect, and whether they are of an older revision.
_CONTENTS = PerDialect(lambda name: Prepared(_contents(name)))
_OLDER = PerDialect(lambda name: Prepared(_contents(name, older=True)))
_BESIDE = PerDialect(lambda name: Prepared(_contents(name, beside=True)))
_OLDER_BESIDE = PerDialect(lambda name: Prepared(_contents(name, older=True, beside=True)))
