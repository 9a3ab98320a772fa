"""The secrets of an environment, now or at one of its revisions (contract 5.1 and 5.3 to 5.5).

Every read of a whole environment takes the same steps:

    1  find_environment    projects/rules.py   Is it there, and can the caller read it?
    2  read_...            contents.py         ONE SELECT, and so one snapshot: a row for each secret.
    3  call.admit          decryption.py       Only where values are kept: reserve memory for their sizes.
    4  with_envelopes      decryption.py       Large envelopes, streamed; without any, no statement.
    5  open                kernel/crypto.py    One value at a time.

An envelope of up to `INLINE_BYTES` is in its row; of a larger one the row has the size. The plaintext
of a version never changes (a rekey replaces its envelope), so step 4 reads values of the same revision as
step 2, in a transaction or not. A tombstone is a version without `kid`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, FromClause, and_, bindparam, case, func, literal_column, select

from secretsvc.authorization.rules.checks import ENVIRONMENT_NOT_FOUND
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.types import Expression, Query
from secretsvc.kernel.errors import NotFound
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import EnvironmentRow
from secretsvc.secrets.models import secret, secret_version
from secretsvc.secrets.queries.origins import ORIGIN
from secretsvc.secrets.queries.revisions import require_revision
from secretsvc.secrets.queries.rows import IS_CURRENT, lateral_versions, length_of
from secretsvc.tables.projects import environment

#: The size of the largest envelope, in bytes, that is selected with its row.
INLINE_BYTES = 2**10


class ValueRow(Protocol):
    """A secret with its version in force; `size` is its envelope's, in bytes, 0 of one that is missing.

    `envelope` is None if it is missing or larger than `INLINE_BYTES`.
    """

    secret_id: int
    key: str
    version: int
    size: int
    envelope: bytes | None
    kid: str | None


class ListedRow(ValueRow, Protocol):
    """A secret as a list shows it; times in epoch milliseconds."""

    description: str | None
    created_at: int
    updated_at: int


class Entry(ValueRow, Protocol):
    """A secret as a copy or a comparison needs it, with its version's origin as stored."""

    description: str | None
    origin_environment_id: UUID | None
    origin_secret_id: int | None
    origin_version: int | None


Row = TypeVar("Row", bound=ValueRow)


@dataclass(frozen=True, slots=True)
class EnvironmentContents(Generic[Row]):
    """The secrets of an environment at a revision by key, sorted."""

    project_id: UUID
    id: UUID
    rev: int
    entries: dict[str, Row]


def read_values(
    call: UseCaseContext, environment: EnvironmentRow, rev: int | None = None
) -> EnvironmentContents[ValueRow]:
    """The secrets with what it takes to open them, the present ones without `rev`.

    Raises `NotFound` for a later revision, and where the environment was deleted after it was found.
    """
    return _read(call, environment, rev, _VALUE)


def read_listed(
    call: UseCaseContext, environment: EnvironmentRow, rev: int | None = None
) -> EnvironmentContents[ListedRow]:
    """The secrets as a list shows them. Raises as `read_values`.

    At a revision, version and `updated_at` are of then and `created_at` is the key's first; the description
    is today's, None for a key that is deleted since.
    """
    return _read(call, environment, rev, _LISTED)


def read_entries(
    call: UseCaseContext, environment: EnvironmentRow, rev: int | None = None
) -> EnvironmentContents[Entry]:
    """The secrets as a copy or a comparison needs them; descriptions are today's. Raises as `read_values`."""
    return _read(call, environment, rev, _ENTRY)


def _read(
    call: UseCaseContext, environment: EnvironmentRow, rev: int | None, columns: tuple[str, ...]
) -> EnvironmentContents[Any]:
    parameters: dict[str, object] = {"environment_id": environment.id}
    if rev is not None:
        require_revision(environment, rev)
        parameters["rev"] = rev
    statement = _statement(call.connection.dialect.name, columns, at_revision=rev is not None)
    rows = statement.rows(call.connection, parameters)
    if not rows:
        raise NotFound(ENVIRONMENT_NOT_FOUND)
    # Without transaction a write may have come after `environment` was found: the rows' revision is theirs.
    shown = rows[0].rev if rev is None else rev
    # Outer joins: an environment without secrets has one row, a key that was not there has no version.
    entries = {row.key: row for row in rows if row.version is not None}
    return EnvironmentContents(environment.project_id, environment.id, shown, entries)


@cache
def _statement(dialect_name: str, columns: tuple[str, ...], *, at_revision: bool) -> Prepared:
    select_secrets = _at_revision if at_revision else _current
    return Prepared(select_secrets(dialect_name, columns))


def _current(dialect_name: str, columns: tuple[str, ...]) -> Query:
    """Outer join of versions: a secret whose version is missing is unreadable, and must not be left out."""
    version, is_current = lateral_versions(dialect_name, IS_CURRENT)
    special = {
        "version": secret.c.version,
        "description": secret.c.description,
        "created_at": secret.c.created_at,
        "updated_at": secret.c.updated_at,
    }
    inside = and_(_IS_INSIDE, ~secret.c.deleted)
    return _select(dialect_name, columns, special, inside, version, is_current)


def _at_revision(dialect_name: str, columns: tuple[str, ...]) -> Query:
    """Takes `rev` as well; a key whose version at that revision is missing or a tombstone has no version."""
    version, is_in_force = _version_at_revision(dialect_name)
    special = {
        "version": version.c.version,
        "description": case((~secret.c.deleted, secret.c.description)),
        "created_at": _first_created(),
        "updated_at": version.c.created_at,
    }
    return _select(dialect_name, columns, special, _IS_INSIDE, version, is_in_force)


def _select(
    dialect_name: str,
    names: tuple[str, ...],
    special: Mapping[str, Expression],
    inside: ColumnElement[bool],
    version: FromClause,
    is_in_force: ColumnElement[bool],
) -> Query:
    """Neither database reads a long envelope to know its length."""
    size = length_of(version.c.envelope, dialect_name)
    columns = {
        "secret_id": secret.c.id,
        "key": secret.c.key,
        "size": func.coalesce(size, 0),
        "envelope": case((size <= literal_column(str(INLINE_BYTES)), version.c.envelope)),
        "kid": version.c.kid,
        **{one.name: version.c[one.name] for one in ORIGIN},
        **special,
    }
    return (
        select(environment.c.rev, *(columns[name].label(name) for name in names))
        .select_from(environment)
        .outerjoin(secret, inside)
        .outerjoin(version, is_in_force)
        .where(environment.c.id == bindparam("environment_id"))
        .order_by(secret.c.key)
    )


def _version_at_revision(dialect_name: str) -> tuple[FromClause, ColumnElement[bool]]:
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
    """`secret.created_at` is the time at which a key last came back."""
    first = secret_version.alias("first")
    found = select(first.c.created_at).where(first.c.secret_id == secret.c.id, first.c.version == 1)
    return func.coalesce(found.correlate(secret).scalar_subquery(), secret.c.created_at)


_IS_INSIDE = secret.c.environment_id == bindparam("environment_id")
_VALUE = ("secret_id", "key", "version", "size", "envelope", "kid")
_LISTED = (*_VALUE, "description", "created_at", "updated_at")
_ENTRY = (*_VALUE, "description", *(one.name for one in ORIGIN))
