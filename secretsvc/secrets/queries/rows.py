"""Secrets at rest: to load them, and to open their values in their environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from sys import getsizeof
from typing import Annotated, Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    LargeBinary,
    Text,
    and_,
    bindparam,
    func,
    literal_column,
    select,
    true,
    type_coerce,
)
from sqlalchemy.sql.selectable import NamedFromClause

from secretsvc.authorization.rules.denial_lookup import at_environment
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statements import PerDialect
from secretsvc.db.types import Expression, Query
from secretsvc.kernel.authorization import ScopePath
from secretsvc.kernel.crypto import Open
from secretsvc.kernel.errors import DecryptFailed, NotFound, UnknownKid
from secretsvc.kernel.schema_annotations import Description, Kid, Ordinal, SecretKey, Time, one_of
from secretsvc.kernel.use_case import Call
from secretsvc.projects.rules import environment_row
from secretsvc.secrets.models import secret, secret_version
from secretsvc.secrets.queries.row_types import EnvelopeRow, FoundSecret, ListedRow
from secretsvc.tables.projects import environment, project

SECRET_NOT_FOUND = "Secret not found."  # noqa: S105 - a message, not a password
VERSION_NOT_FOUND = "Version not found."
#: Up to so many bytes are read without a stream, which PostgreSQL plans anew each time.
AT_ONCE = 2**20
_EMPTY = getsizeof("")


@dataclass(frozen=True, slots=True)
class SealedValue:
    """A version with its envelope and what the envelope's AAD names.

    A damaged row may have none: its current version is missing, or a tombstone.
    """

    environment_id: UUID
    key: str
    version: int
    envelope: bytes | None
    kid: str | None


@dataclass(frozen=True, slots=True)
class SecretListItem:
    """A secret without its value; `error` says why a row that is not `readable` is not."""

    key: SecretKey
    version: Ordinal
    description: Description | None
    kid: Kid | None
    created_at: Time
    updated_at: Time
    readable: bool
    error: Annotated[str, one_of(DecryptFailed.code, UnknownKid.code)] | None


def list_item(open_one: Open, row: ListedRow) -> SecretListItem:
    """A row of `current_secrets` as clients see it; it is opened to know that it could be."""
    key, version, envelope, kid, description, created_at, updated_at = row
    error = None
    try:
        open_one(envelope, kid, key, version)
    except (DecryptFailed, UnknownKid) as problem:
        error = problem.code
    return SecretListItem(key, version, description, kid, created_at, updated_at, error is None, error)


def open_value(call: Call, sealed: SealedValue) -> str:
    """The plaintext. Raises `DecryptFailed`, `UnknownKid` or `ServerMisconfigured`."""
    cipher = call.ring.within(sealed.environment_id)
    return cipher.open(sealed.envelope, sealed.kid, sealed.key, sealed.version).decode("utf-8")


def problem_with(call: Call, sealed: SealedValue) -> str | None:
    """The code of the error that opening it is, None for one that is in order; the plaintext is discarded."""
    cipher = call.ring.within(sealed.environment_id)
    try:
        cipher.open(sealed.envelope, sealed.kid, sealed.key, sealed.version)
    except (DecryptFailed, UnknownKid) as error:
        return error.code
    return None


def find_secret(call: Call, at: ScopePath, key: str) -> FoundSecret:
    """A secret with its current version, and its environment, in one statement. Raises `NotFound`.

    Columns: `project_id`, `id`, `rev` and `protected` (of the environment), `secret_id`, `version`,
    `deleted`, `description`, `envelope`, `kid`.
    """
    row: FoundSecret = environment_row(call, at, _SECRET, secret_key=key)
    if row.secret_id is None:
        raise NotFound(SECRET_NOT_FOUND)
    return row


def envelopes_inside(call: Call, environment_id: UUID) -> AbstractContextManager[Iterator[EnvelopeRow]]:
    """The undeleted secrets of an environment, sorted by key: of each its version, envelope and kid.

    They are plain tuples, of which a few are in memory at once: nothing may be executed before the context
    ends. Who keeps values takes `decrypt_current`, or `open_state`.
    """
    statement = _ENVELOPES[call.connection.dialect.name]
    return statement.streamed(call.connection, {"environment_id": environment_id})


def open_admitted(
    call: Call, environment_id: UUID, admitted: int, rows: Iterable[EnvelopeRow], *, lenient: bool = False
) -> dict[str, str]:
    """The values of rows by key; their size was `admitted`, and what Python needs beyond it is, too.

    What cannot be opened is left out if `lenient`. Raises `DecryptFailed`, `UnknownKid`,
    `ServerMisconfigured`, `Unavailable`.
    """
    open_one = call.ring.within(environment_id).open
    values: dict[str, str] = {}
    size = 0
    for key, version, envelope, kid in rows:
        try:
            value = open_one(envelope, kid, key, version).decode()
        except (DecryptFailed, UnknownKid):
            if lenient:
                continue
            raise
        # One character beyond Latin-1 makes Python keep two or four bytes for each.
        size += len(value) if value.isascii() else getsizeof(value) - _EMPTY
        if size > admitted:
            call.admit(size - admitted)
            admitted = size
        values[key] = value
    return values


def read_all(
    call: Call, statements: Mapping[str, Prepared], parameters: Mapping[str, object], size: int
) -> AbstractContextManager[Iterator[Any]]:
    """A stream of the rows; where all of them, `size` bytes, take little memory, it takes less time."""
    statement = statements[call.connection.dialect.name]
    if size > AT_ONCE:
        return statement.streamed(call.connection, parameters)
    return nullcontext(statement.tuples(call.connection, parameters))


def lateral_versions(
    dialect_name: str,
    condition: ColumnElement[bool],
    *rows: FromClause,
    version: NamedFromClause = secret_version,
) -> tuple[FromClause, ColumnElement[bool]]:
    """What to join to `rows`, or else `secret`, for the versions that a condition picks, and on what.

    PostgreSQL would read the history of all environments to join that of one, wherever it takes an index for
    slower; what has an offset it must look up for each row (decision 0006). SQLite looks up by itself.
    """
    if dialect_name == "sqlite":
        return version, condition
    found = select(version).where(condition).correlate(*rows or (secret,)).offset(literal_column("0"))
    return found.lateral(f"found_{version.name}"), true()


#: Joins a secret to its environment, by the bound `secret_key`.
OF_KEY = and_(secret.c.environment_id == environment.c.id, secret.c.key == bindparam("secret_key"))
IS_CURRENT = and_(secret_version.c.secret_id == secret.c.id, secret_version.c.version == secret.c.version)
_SECRET = Prepared(
    select(
        environment.c.project_id,
        environment.c.id,
        environment.c.rev,
        environment.c.protected,
        secret.c.id.label("secret_id"),
        secret.c.version,
        secret.c.deleted,
        secret.c.description,
        secret_version.c.envelope,
        secret_version.c.kid,
    )
    .join_from(environment, project)
    .outerjoin(secret, OF_KEY)
    .outerjoin(secret_version, IS_CURRENT)
    .where(at_environment())
)


def _envelopes(dialect_name: str) -> Query:
    version, is_current = lateral_versions(dialect_name, IS_CURRENT)
    return (
        select(secret.c.key, secret.c.version, version.c.envelope, version.c.kid)
        # Not an inner join: a secret whose version is missing is unreadable, and must not be left out.
        .outerjoin_from(secret, version, is_current)
        .where(~secret.c.deleted, secret.c.environment_id == bindparam("environment_id"))
        .order_by(secret.c.key)
    )


_ENVELOPES = PerDialect(lambda name: Prepared(_envelopes(name)))


def length_of(envelope: Expression, dialect_name: str) -> ColumnElement[int]:
    """How many bytes an envelope is, without reading it."""
    bytes_of = func.length if dialect_name == "sqlite" else func.octet_length
    return bytes_of(envelope, type_=BigInteger)


def as_stored(column: ColumnElement[UUID], dialect_name: str) -> Expression:
    """As the database has it: to make a UUID of each of 500 equal ones takes as long as to read the rows."""
    if dialect_name == "sqlite":
        return type_coerce(column, Text)
    return func.uuid_send(column, type_=LargeBinary)


def uuid_of(stored: str | bytes) -> UUID:
    """The id that `as_stored` has read."""
    return UUID(stored) if isinstance(stored, str) else UUID(bytes=stored)
