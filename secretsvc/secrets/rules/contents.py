"""What an environment holds at one of its revisions, with values that are short (contract 5.3 to 5.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, LargeBinary, Text, and_, case, func, select, type_coerce

from secretsvc.authorization.rules.asserting import not_found, recheck_by_id
from secretsvc.authorization.rules.locating import at_environment
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statements import DIALECTS
from secretsvc.db.types import Expression, Query
from secretsvc.kernel.authorization import Address
from secretsvc.kernel.call import Call
from secretsvc.kernel.errors import NotFound
from secretsvc.secrets.models import secret
from secretsvc.secrets.rules.lineage import ORIGIN
from secretsvc.secrets.rules.revisions import REVISION_NOT_FOUND
from secretsvc.secrets.rules.rows import IS_CURRENT, length_of, versions_beside
from secretsvc.secrets.rules.short import short_of
from secretsvc.secrets.rules.states import version_at_revision
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
class Contents:
    """The keys of an environment at a revision, sorted."""

    project_id: UUID
    id: UUID
    rev: int
    entries: dict[str, Entry]


def contents_of(call: Call, at: Address, rev: int | None = None) -> Contents:
    """The contents of an environment, the present ones without `rev`: a snapshot, by one statement.

    Descriptions are today's, None for a key that is deleted since. Raises `NotFound`, also for a later
    revision.
    """
    statement = (_PRESENT if rev is None else _OLDER)[call.connection.dialect.name]
    parameters: dict[str, object] = {"project_slug": at.project, "environment_slug": at.environment}
    if rev is not None:
        parameters["rev"] = rev
    rows = [*statement.tuples(call.connection, parameters)]
    if not rows:
        raise not_found(call, at)
    project_id, environment_id = map(_uuid, rows[0][:2])
    present = rows[0][2]
    recheck_by_id(call, project_id, environment_id)
    if rev is not None and rev > present:
        raise NotFound(REVISION_NOT_FOUND)
    # An environment without secrets has one row without a key; a key that was not there has no version.
    entries = {row[4]: Entry._make(row[3:]) for row in rows if row[5] is not None}
    return Contents(project_id, environment_id, present if rev is None else rev, entries)


def _stored(column: ColumnElement[UUID], dialect_name: str) -> Expression:
    """As the database has it: to make a UUID of each of 500 equal ones takes as long as to read the rows."""
    if dialect_name == "sqlite":
        return type_coerce(column, Text)
    return func.uuid_send(column, type_=LargeBinary)


def _uuid(stored: str | bytes) -> UUID:
    return UUID(stored) if isinstance(stored, str) else UUID(bytes=stored)


def _contents(dialect_name: str, *, older: bool) -> Query:
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
        version, is_in_force = versions_beside(dialect_name, IS_CURRENT)
        inside = and_(inside, ~secret.c.deleted)
    size = func.coalesce(length_of(version.c.envelope, dialect_name), 0)
    return (
        select(
            _stored(environment.c.project_id, dialect_name).label("project_id"),
            _stored(environment.c.id, dialect_name).label("id"),
            environment.c.rev,
            secret.c.id.label("secret_id"),
            secret.c.key,
            number.label("version"),
            description.label("description"),
            size.label("size"),
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


_PRESENT = {name: Prepared(_contents(name, older=False)) for name in DIALECTS}
_OLDER = {name: Prepared(_contents(name, older=True)) for name in DIALECTS}
