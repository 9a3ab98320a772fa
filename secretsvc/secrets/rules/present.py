"""What an environment holds now: found together with it, by one statement, which is a snapshot by itself.

The environment is a row of its own, without a key: beside each of 500 secrets it took as long as a third of
these. The rows come as the database finds them, so that it has none to sort.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from sqlalchemy import ColumnElement, func, null, select, type_coerce

from secretsvc.authorization.rules.asserting import not_found, recheck_by_id
from secretsvc.authorization.rules.locating import at_environment
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statements import ByDialect
from secretsvc.db.types import CompoundQuery
from secretsvc.kernel.authorization import Address
from secretsvc.kernel.call import Call
from secretsvc.secrets.models import secret
from secretsvc.secrets.rules.found import FoundEnvironment, ListedRow
from secretsvc.secrets.rules.opening import long_envelopes
from secretsvc.secrets.rules.rows import (
    IS_CURRENT,
    as_stored,
    length_of,
    open_admitted,
    uuid_of,
    versions_beside,
)
from secretsvc.secrets.rules.short import SHORT, short_of
from secretsvc.tables.projects import environment, project

Row = Sequence[Any]


@contextmanager
def present_secrets(call: Call, at: Address) -> Iterator[tuple[FoundEnvironment, Iterator[ListedRow]]]:
    """An environment and its undeleted secrets, in any order, each with its current version.

    They are plain tuples for `list_item`, of which a few with long envelopes are in memory at once: nothing
    may be executed before the context ends. Raises `NotFound`.
    """
    found, rows = _read(call, at, _LISTED)
    with _whole(call, at, rows) as each:
        yield found, each


def open_all(call: Call, at: Address, *, lenient: bool = False) -> tuple[FoundEnvironment, dict[str, str]]:
    """An environment and every value of it by key, sorted, admitted until the answer has left.

    What cannot be opened is left out if `lenient`. No other use case may hold so many at once.
    Raises `NotFound`, `ServerMisconfigured`, `Unavailable`, `DecryptFailed`, `UnknownKid`.
    """
    found, rows = _read(call, at, _KEPT)
    admitted = sum(row[_SIZE] for row in rows)
    call.admit(admitted)
    with _whole(call, at, rows) as each:
        values = open_admitted(call, found.id, admitted, each, lenient=lenient)
    return found, dict(sorted(values.items()))


def _read(call: Call, at: Address, statements: Mapping[str, Prepared]) -> tuple[FoundEnvironment, list[Row]]:
    slugs = {"project_slug": at.project, "environment_slug": at.environment}
    rows = [*statements[call.connection.dialect.name].tuples(call.connection, slugs)]
    # It comes first, but no database promises that.
    number = next((number for number, row in enumerate(rows) if row[_KEY] is None), None)
    if number is None:
        raise not_found(call, at)
    project_id, environment_id, rev = rows.pop(number)[_ENVIRONMENT]
    found = FoundEnvironment(uuid_of(project_id), uuid_of(environment_id), rev)
    recheck_by_id(call, found.project_id, found.id)
    return found, rows


@contextmanager
def _whole(call: Call, at: Address, rows: Sequence[Row]) -> Iterator[Iterator[Any]]:
    """The rows without what follows their own columns, those last that have long envelopes.

    A version never changes, so that these are of the same revision, in a transaction or not.
    """
    near = (row[:_SIZE] for row in rows if row[_SIZE] <= SHORT)
    far = {row[_ID]: row for row in rows if row[_SIZE] > SHORT}
    if not far:
        yield near
        return
    size = sum(row[_SIZE] for row in far.values())
    with long_envelopes(call, [(number, row[1]) for number, row in far.items()], size) as found:
        yield chain(near, _with_envelopes(far, found))
    if far:
        # A version goes only with its environment.
        raise not_found(call, at)


def _with_envelopes(far: dict[int, Row], found: Iterator[Row]) -> Iterator[Row]:
    for secret_id, envelope, kid in found:
        key, version, _, _, *rest = far.pop(secret_id)[:_SIZE]
        yield key, version, envelope, kid, *rest


def _each(dialect_name: str, *columns: ColumnElement[Any]) -> CompoundQuery:
    """An environment, and each of its secrets: its key, version, envelope and kid, and those columns.

    The envelope is None where it is not short. Behind them come its size, the secret's id, and what the
    environment alone has: its ids and revision. One join is an outer one: a secret whose current version is
    missing is unreadable, and must not be left out.
    """
    version, is_current = versions_beside(dialect_name, IS_CURRENT)
    of_secret = (
        secret.c.key,
        secret.c.version,
        short_of(version.c.envelope, dialect_name).label("envelope"),
        version.c.kid,
        *columns,
        func.coalesce(length_of(version.c.envelope, dialect_name), 0).label("size"),
        secret.c.id.label("secret_id"),
    )
    of_environment = (
        as_stored(environment.c.project_id, dialect_name).label("project_id"),
        as_stored(environment.c.id, dialect_name).label("id"),
        environment.c.rev,
    )
    found = select(*(type_coerce(null(), one.type).label(one.name) for one in of_secret), *of_environment)
    secrets = (
        select(*of_secret, *(null() for _ in of_environment))
        .join_from(environment, project)
        .join(secret, secret.c.environment_id == environment.c.id)
        .outerjoin(version, is_current)
        .where(at_environment(), ~secret.c.deleted)
    )
    return found.join_from(environment, project).where(at_environment()).union_all(secrets)


#: Where the columns of a row are; `_ENVIRONMENT` are those that the environment alone has.
_KEY, _SIZE, _ID, _ENVIRONMENT = 0, -5, -4, slice(-3, None)
_LISTED_BESIDE = secret.c.description, secret.c.created_at, secret.c.updated_at
_LISTED = ByDialect(lambda name: Prepared(_each(name, *_LISTED_BESIDE)))
_KEPT = ByDialect(lambda name: Prepared(_each(name)))
