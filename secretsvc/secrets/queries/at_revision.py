"""An environment as it was at one of its revisions, and a key at one of its versions (contract 5.1).

Each key's version is looked up by itself, so that the length of the history does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import fields
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    FromClause,
    ScalarSelect,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    null,
    select,
)

from secretsvc.authorization.rules.denial_lookup import at_environment
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statements import PerDialect
from secretsvc.db.types import Query
from secretsvc.kernel.authorization import ScopePath
from secretsvc.kernel.errors import NotFound
from secretsvc.kernel.use_case import Call
from secretsvc.projects.rules import EnvironmentRow, environment_row
from secretsvc.secrets.models import secret, secret_version
from secretsvc.secrets.queries.revisions import require_revision
from secretsvc.secrets.queries.row_types import ListedRow
from secretsvc.secrets.queries.rows import (
    OF_KEY,
    SECRET_NOT_FOUND,
    VERSION_NOT_FOUND,
    SealedValue,
    length_of,
    open_admitted,
    read_all,
)
from secretsvc.tables.projects import environment, project


def state_at(
    call: Call, environment: EnvironmentRow, rev: int
) -> AbstractContextManager[Iterator[ListedRow]]:
    """The secrets that there were at a revision, sorted by key, as rows of `current_secrets`.

    The same holds: plain tuples for `list_item`, a few in memory at once, and nothing may be executed before
    the context ends. Version and `updated_at` are of then, `created_at` is the key's
    first; the description is today's, None for a key that is deleted since. Raises `NotFound` for a later
    revision.
    """
    require_revision(environment, rev)
    statement = _STATE[call.connection.dialect.name]
    return statement.streamed(call.connection, {"environment_id": environment.id, "rev": rev})


def decrypt_at_revision(call: Call, at: ScopePath, rev: int) -> tuple[EnvironmentRow, dict[str, str]]:
    """As `decrypt_current`, at a revision. Raises the same, and `NotFound` for a later revision."""
    row = environment_row(call, at, _SIZED_STATE[call.connection.dialect.name], rev=rev)
    environment = EnvironmentRow(*row[:-1])
    require_revision(environment, rev)
    parameters = {"environment_id": environment.id, "rev": rev}
    call.admit(row.size)
    with read_all(call, _ENVELOPES, parameters, row.size) as rows:
        return environment, open_admitted(call, environment.id, row.size, rows)


def find_version(call: Call, at: ScopePath, key: str, version: int) -> tuple[UUID, SealedValue]:
    """The project's id and a version with its envelope, also of a deleted key, in one statement.

    Raises `NotFound`, also for a missing version and a tombstone.
    """
    row = environment_row(call, at, _VERSION, secret_key=key, version=version)
    if row.secret_id is None:
        raise NotFound(SECRET_NOT_FOUND)
    if row.kid is None:
        raise NotFound(VERSION_NOT_FOUND)
    project_id: UUID = row.project_id
    return project_id, SealedValue(row.id, key, version, row.envelope, row.kid)


def version_at_revision(dialect_name: str) -> tuple[FromClause, ColumnElement[bool]]:
    """What to join to `secret` for the version in force at the bound `rev`, and on what; no tombstones.

    SQLite has no LATERAL: there the index tells the number, by which the version is looked up.
    """
    of_then = secret_version.alias("of_then")
    newest = (of_then.c.secret_id == secret.c.id, of_then.c.rev <= bindparam("rev"))
    order = (of_then.c.rev.desc(), of_then.c.version.desc())
    if dialect_name == "sqlite":
        number = select(of_then.c.version).where(*newest).order_by(*order).limit(1)
        condition = and_(
            secret_version.c.secret_id == secret.c.id,
            secret_version.c.version == number.correlate(secret).scalar_subquery(),
            secret_version.c.kid.is_not(None),
        )
        return secret_version, condition
    # As a parameter it would be unknown to the plan that is kept, which then reads for longer.
    one: ColumnElement[int] = literal_column("1")
    found = select(of_then).where(*newest).order_by(*order).limit(one).correlate(secret).lateral("found")
    return found, found.c.kid.is_not(None)


def _first_created() -> ColumnElement[int]:
    first = secret_version.alias("first")
    found: ScalarSelect[int] = (
        select(first.c.created_at)
        .where(first.c.secret_id == secret.c.id, first.c.version == 1)
        .correlate(secret)
        .scalar_subquery()
    )
    return func.coalesce(found, secret.c.created_at)


def _each(dialect_name: str) -> Query:
    version, is_in_force = version_at_revision(dialect_name)
    return (
        select(
            secret.c.key,
            version.c.version,
            version.c.envelope,
            version.c.kid,
            case((secret.c.deleted, null()), else_=secret.c.description).label("description"),
            _first_created().label("created_at"),
            version.c.created_at.label("updated_at"),
        )
        .join_from(secret, version, is_in_force)
        .where(secret.c.environment_id == bindparam("environment_id"))
        .order_by(secret.c.key)
    )


def _only_envelopes(statement: Query) -> Query:
    """Of a statement of `state_at` only what opens its values: to read the rest takes time."""
    columns = statement.selected_columns
    needed = (columns[name] for name in ("key", "version", "envelope", "kid"))
    return statement.with_only_columns(*needed, maintain_column_froms=True)


def _sized(dialect_name: str) -> Query:
    """An environment, and how many bytes the envelopes are that `state_at` reads.

    Neither database reads a long value to tell its length.
    """
    version, is_in_force = version_at_revision(dialect_name)
    size = (
        select(func.coalesce(func.sum(length_of(version.c.envelope, dialect_name)), 0))
        .select_from(secret.join(version, is_in_force))
        .where(secret.c.environment_id == environment.c.id)
        .correlate(environment)
        .scalar_subquery()
    )
    return (
        select(*(environment.c[one.name] for one in fields(EnvironmentRow)), size.label("size"))
        .join_from(environment, project)
        .where(at_environment())
    )


_STATE = PerDialect(lambda name: Prepared(_each(name)))
_ENVELOPES = PerDialect(lambda name: Prepared(_only_envelopes(_each(name))))
_SIZED_STATE = PerDialect(lambda name: Prepared(_sized(name)))
_VERSION = Prepared(
    select(
        environment.c.project_id,
        environment.c.id,
        secret.c.id.label("secret_id"),
        secret_version.c.envelope,
        secret_version.c.kid,
    )
    .join_from(environment, project)
    .outerjoin(secret, OF_KEY)
    .outerjoin(
        secret_version,
        and_(
            secret_version.c.secret_id == secret.c.id,
            secret_version.c.version == bindparam("version"),
        ),
    )
    .where(at_environment())
)
