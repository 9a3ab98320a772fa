"""Where values come from: the version that first had what a rollback, restore, rename or copy writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, FromClause, Select, and_, literal_column, select, true

from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.listed import as_listed, listed
from secretsvc.db.statements import DIALECTS
from secretsvc.kernel.call import Call
from secretsvc.secrets.models import secret_version
from secretsvc.secrets.rules.contents import Entry
from secretsvc.secrets.rules.planning import Origin

#: The columns of a version's origin, as they are stored.
ORIGIN = [secret_version.c[name] for name in Origin._fields]
_PAIR = {"secret_id": BigInteger, "version": BigInteger}


def origin_of(environment_id: UUID, secret_id: int, version: int, stored: Any) -> Origin:
    """The origin of a version, which is the version itself where none is stored."""
    origin = Origin(*stored)
    return Origin(environment_id, secret_id, version) if origin.origin_secret_id is None else origin


def origins_of(call: Call, environment_id: UUID, entries: Mapping[str, Entry]) -> dict[str, Origin]:
    """The origins of values of an environment, by key; one statement."""
    if not entries:
        return {}
    dialect_name = call.connection.dialect.name
    pairs = [(one.id, one.version) for one in entries.values()]
    rows = _ORIGINS[dialect_name].tuples(call.connection, as_listed(dialect_name, pairs, *_PAIR))
    older = {secret_id: Origin(*origin) for secret_id, *origin in rows}
    return {
        key: older.get(one.id) or Origin(environment_id, one.id, one.version) for key, one in entries.items()
    }


def versions_of(
    dialect_name: str, rows: FromClause, condition: ColumnElement[bool]
) -> tuple[FromClause, ColumnElement[bool]]:
    """What to join to listed rows for the versions that a condition on these picks, and on what.

    As `versions_beside` has it: PostgreSQL might read all histories instead of looking these up.
    """
    if dialect_name == "sqlite":
        return secret_version, condition
    found = select(secret_version).where(condition).correlate(rows).offset(literal_column("0"))
    return found.lateral("found"), true()


def _origins(dialect_name: str) -> Select[Any]:
    rows, (secret_id, number) = listed(dialect_name, **_PAIR)
    is_asked_for = and_(secret_version.c.secret_id == secret_id, secret_version.c.version == number)
    version, on = versions_of(dialect_name, rows, is_asked_for)
    columns = [version.c[one.name] for one in ORIGIN]
    found = select(version.c.secret_id, *columns).select_from(rows).join(version, on)
    # Most are the origin themselves.
    return found.where(version.c.origin_secret_id.is_not(None))


_ORIGINS = {name: Prepared(_origins(name)) for name in DIALECTS}
