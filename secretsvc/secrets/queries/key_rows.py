"""What the database knows of an environment's keys: as much of it as a write looks at."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import starmap
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import bindparam, case, func, or_, select

from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statements import Array, PerDialect, in_parameter
from secretsvc.db.types import Query
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.secrets.models import secret


class KeyRow(NamedTuple):
    """A key that the environment has or once had; times in epoch milliseconds."""

    id: int
    key: str
    description: str | None
    version: int
    deleted: bool
    created_at: int
    updated_at: int


def load_keys(
    call: UseCaseContext, environment_id: UUID, keys: Iterable[str], *, whole: bool = False
) -> dict[str, KeyRow]:
    """The named keys, deleted ones too; with `whole` all that are not deleted, without description."""
    named = sorted(set(keys))
    if len(named) == 1 and not whole:
        rows = _ONE.tuples(call.connection, {"environment_id": environment_id, "key": named[0]})
    else:
        statement = (_WHOLE if whole else _NAMED)[call.connection.dialect.name]
        rows = statement.tuples(call.connection, {"environment_id": environment_id, "keys": named})
    return {known.key: known for known in starmap(KeyRow, rows)}


def secret_ids(call: UseCaseContext, environment_id: UUID, keys: list[str]) -> dict[str, int]:
    """The ids of keys that are there."""
    statement = _IDS[call.connection.dialect.name]
    return {
        row.key: row.id
        for row in statement.rows(call.connection, {"environment_id": environment_id, "keys": keys})
    }


def count_undeleted(call: UseCaseContext, environment_id: UUID) -> int:
    """How many secrets the environment holds."""
    (row,) = _COUNT.rows(call.connection, {"environment_id": environment_id})
    found: int = row.undeleted
    return found


def _named(dialect_name: str) -> Query:
    return select(*_COLUMNS).where(_IS_INSIDE, in_parameter(secret.c.key, "keys", dialect_name))


def _whole(dialect_name: str) -> Query:
    is_named = in_parameter(secret.c.key, "keys", dialect_name)
    if dialect_name != "sqlite":
        # A condition that no index serves: PostgreSQL would weigh it key by key to plan it, each time.
        keys = bindparam("keys", type_=Array(secret.c.key.type))
        is_named = secret.c.key.in_(select(func.unnest(keys)))
    description = case((is_named, secret.c.description)).label("description")
    columns = [description if one.name == "description" else one for one in _COLUMNS]
    return select(*columns).where(_IS_INSIDE, or_(~secret.c.deleted, is_named))


_IS_INSIDE = secret.c.environment_id == bindparam("environment_id")
_COLUMNS = [secret.c[name] for name in KeyRow._fields]
_WHOLE = PerDialect(lambda name: Prepared(_whole(name)))
#: PostgreSQL plans what takes an array anew each time.
_ONE = Prepared(select(*_COLUMNS).where(_IS_INSIDE, secret.c.key == bindparam("key")))
_NAMED = PerDialect(lambda name: Prepared(_named(name)))
_INSIDE = select(secret.c.id, secret.c.key).where(_IS_INSIDE)
_IDS = PerDialect(lambda name: Prepared(_INSIDE.where(in_parameter(secret.c.key, "keys", name))))
#: Takes `environment_id`.
UNDELETED_COUNT = (
    select(func.count().label("undeleted")).select_from(secret).where(_IS_INSIDE, ~secret.c.deleted)
)
_COUNT = Prepared(UNDELETED_COUNT)
