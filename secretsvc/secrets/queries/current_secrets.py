"""What an environment holds now: found together with it, by one statement, which is a snapshot by itself.

Each column of 500 rows takes its time, so that none is there for a few of them: the environment is a row of
its own in the columns of secrets, and what tells of a long envelope stands instead of its kid. The rows come
as the database finds them, so that it has none to sort.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Text, case, cast, literal_column, null, select, type_coerce

from secretsvc.authorization.rules.checks import assert_covers_ids, not_found
from secretsvc.authorization.rules.denial_lookup import at_environment
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statements import PerDialect
from secretsvc.db.types import CompoundQuery
from secretsvc.kernel.authorization import ScopePath
from secretsvc.kernel.use_case import Call
from secretsvc.secrets.models import secret
from secretsvc.secrets.queries.decryption import load_large_envelopes
from secretsvc.secrets.queries.inline_envelopes import is_short, short_of
from secretsvc.secrets.queries.row_types import FoundEnvironment, ListedRow
from secretsvc.secrets.queries.rows import (
    IS_CURRENT,
    as_stored,
    lateral_versions,
    length_of,
    open_admitted,
    uuid_of,
)
from secretsvc.tables.projects import environment, project

Row = Sequence[Any]


class _LargeEnvelopeRow(NamedTuple):
    """A row that comes without its envelope, which is long, and how many bytes that is."""

    row: Row
    size: int


@contextmanager
def current_secrets(call: Call, at: ScopePath) -> Iterator[tuple[FoundEnvironment, Iterator[ListedRow]]]:
    """An environment and its undeleted secrets, in any order, each with its current version.

    They are plain tuples for `list_item`, of which a few with long envelopes are in memory at once: nothing
    may be executed before the context ends. Raises `NotFound`.
    """
    found, near, far = _read(call, at, _LISTED)
    with _whole(call, at, near, far) as each:
        yield found, each


def decrypt_current(
    call: Call, at: ScopePath, *, lenient: bool = False
) -> tuple[FoundEnvironment, dict[str, str]]:
    """An environment and every value of it by key, sorted, admitted until the answer has left.

    What cannot be opened is left out if `lenient`. No other use case may hold so many at once.
    Raises `NotFound`, `ServerMisconfigured`, `Unavailable`, `DecryptFailed`, `UnknownKid`.
    """
    found, near, far = _read(call, at, _KEPT)
    admitted = sum([len(envelope) for _, _, envelope, _ in near if envelope]) + _size(far)
    call.admit(admitted)
    with _whole(call, at, near, far) as each:
        values = open_admitted(call, found.id, admitted, each, lenient=lenient)
    return found, {key: values[key] for key in sorted(values)}


def _read(
    call: Call, at: ScopePath, statements: Mapping[str, Prepared]
) -> tuple[FoundEnvironment, list[Row], dict[int, _LargeEnvelopeRow]]:
    """The environment, the rows that are to be opened as they are, and the others by their secrets' ids."""
    slugs = {"project_slug": at.project, "environment_slug": at.environment}
    rows = [*statements[call.connection.dialect.name].tuples(call.connection, slugs)]
    # It comes first, but no database promises that.
    number = next((number for number, row in enumerate(rows) if row[_KEY] is None), None)
    if number is None:
        raise not_found(call, at)
    _, rev, ids, *_ = rows.pop(number)
    middle = len(ids) // 2
    found = FoundEnvironment(uuid_of(ids[:middle]), uuid_of(ids[middle:]), rev)
    assert_covers_ids(call, at, found.project_id, found.id)
    # A version that is missing has neither an envelope nor a kid.
    far = dict(_pointed(row) for row in rows if row[_ENVELOPE] is None and row[_KID] is not None)
    if far:
        rows = [row for row in rows if row[_ENVELOPE] is not None or row[_KID] is None]
    return found, rows, far


def _pointed(row: Row) -> tuple[int, _LargeEnvelopeRow]:
    secret_id, size = map(int, row[_KID].split(_BETWEEN))
    return secret_id, _LargeEnvelopeRow(row, size)


def _size(far: Mapping[int, _LargeEnvelopeRow]) -> int:
    return sum(one.size for one in far.values())


@contextmanager
def _whole(
    call: Call, at: ScopePath, near: Sequence[Row], far: dict[int, _LargeEnvelopeRow]
) -> Iterator[Iterator[Any]]:
    """All rows with their envelopes, those last that have long ones.

    A version never changes, so that these are of the same revision, in a transaction or not.
    """
    if not far:
        yield iter(near)
        return
    numbers = [(secret_id, one.row[_VERSION]) for secret_id, one in far.items()]
    with load_large_envelopes(call, numbers, _size(far)) as found:
        yield chain(near, _with_envelopes(far, found))
    if far:
        # A version goes only with its environment.
        raise not_found(call, at)


def _with_envelopes(far: dict[int, _LargeEnvelopeRow], found: Iterator[Row]) -> Iterator[Row]:
    for secret_id, envelope, kid in found:
        key, version, _, _, *rest = far.pop(secret_id).row
        yield key, version, envelope, kid, *rest


def _each(dialect_name: str, *columns: ColumnElement[Any]) -> CompoundQuery:
    """An environment, and each of its secrets: its key, version, envelope and kid, and those columns.

    Instead of a long envelope there is None, and instead of its kid a pointer: the secret's id and how many
    bytes it is. The environment has its revision for a version, and its ids for an envelope. One join is an
    outer one: a secret whose current version is missing is unreadable, and must not be left out.
    """
    version, is_current = lateral_versions(dialect_name, IS_CURRENT)
    size = length_of(version.c.envelope, dialect_name)
    pointer = cast(secret.c.id, Text).concat(literal_column(f"'{_BETWEEN}'")).concat(cast(size, Text))
    of_secret = (
        secret.c.key,
        secret.c.version,
        short_of(version.c.envelope, dialect_name).label("envelope"),
        case((is_short(version.c.envelope, dialect_name), version.c.kid), else_=pointer).label("kid"),
        *columns,
    )
    ids = as_stored(environment.c.project_id, dialect_name).concat(as_stored(environment.c.id, dialect_name))
    empty = [type_coerce(null(), one.type).label(one.name) for one in of_secret]
    of_environment = (empty[_KEY], environment.c.rev.label("version"), ids.label("envelope"), *empty[_KID:])
    secrets = (
        select(*of_secret)
        .join_from(environment, project)
        .join(secret, secret.c.environment_id == environment.c.id)
        .outerjoin(version, is_current)
        .where(at_environment(), ~secret.c.deleted)
    )
    found = select(*of_environment).join_from(environment, project).where(at_environment())
    return found.union_all(secrets)


#: Where the columns of a row are.
_KEY, _VERSION, _ENVELOPE, _KID = range(4)
#: What stands between the two parts of a pointer.
_BETWEEN = " "
_LISTED_BESIDE = secret.c.description, secret.c.created_at, secret.c.updated_at
_LISTED = PerDialect(lambda name: Prepared(_each(name, *_LISTED_BESIDE)))
_KEPT = PerDialect(lambda name: Prepared(_each(name)))
