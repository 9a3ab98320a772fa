"""One secret at rest: to find it and open its value; and the join of secrets with their versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Protocol
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    FromClause,
    and_,
    bindparam,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.sql.selectable import NamedFromClause

from secretsvc.authorization.rules.denial_lookup import at_environment
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.types import Expression
from secretsvc.kernel.authorization import ScopePath
from secretsvc.kernel.errors import DecryptFailed, NotFound, UnknownKid
from secretsvc.kernel.schema_annotations import Description, Kid, Ordinal, SecretKey, Time, one_of
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.projects.rules import environment_row
from secretsvc.secrets.models import secret, secret_version
from secretsvc.tables.projects import environment, project

SECRET_NOT_FOUND = "Secret not found."  # noqa: S105 - a message, not a password
VERSION_NOT_FOUND = "Version not found."


class FoundSecret(Protocol):
    """A secret with its current version; `project_id`, `id`, `rev` and `protected` are its environment's.

    A damaged row lacks its envelope: the current version is missing, or a tombstone.
    """

    project_id: UUID
    id: UUID
    rev: int
    protected: bool
    secret_id: int
    version: int
    deleted: bool
    description: str | None
    envelope: bytes | None
    kid: str | None


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


def open_value(call: UseCaseContext, sealed: SealedValue) -> str:
    """The plaintext. Raises `DecryptFailed`, `UnknownKid` or `ServerMisconfigured`."""
    cipher = call.ring.within(sealed.environment_id)
    return cipher.open(sealed.envelope, sealed.kid, sealed.key, sealed.version).decode("utf-8")


def problem_with(call: UseCaseContext, sealed: SealedValue) -> str | None:
    """The code of the error that opening it is, None for one that is in order; the plaintext is discarded."""
    cipher = call.ring.within(sealed.environment_id)
    try:
        cipher.open(sealed.envelope, sealed.kid, sealed.key, sealed.version)
    except (DecryptFailed, UnknownKid) as error:
        return error.code
    return None


def find_secret(call: UseCaseContext, at: ScopePath, key: str) -> FoundSecret:
    """A secret with its current version, and its environment, in one statement. Raises `NotFound`."""
    row: FoundSecret = environment_row(call, at, _SECRET, secret_key=key)
    if row.secret_id is None:
        raise NotFound(SECRET_NOT_FOUND)
    return row


def find_version(call: UseCaseContext, at: ScopePath, key: str, version: int) -> tuple[UUID, SealedValue]:
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


def length_of(envelope: Expression, dialect_name: str) -> ColumnElement[int]:
    """How many bytes an envelope is, without reading it."""
    bytes_of = func.length if dialect_name == "sqlite" else func.octet_length
    return bytes_of(envelope, type_=BigInteger)


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
