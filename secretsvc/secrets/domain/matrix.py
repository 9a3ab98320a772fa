"""A project at a glance: which key is set in which environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select

from secretsvc.authorization.rules.asserting import assert_sees
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.statements import DIALECTS, is_among
from secretsvc.kernel.authorization import Address
from secretsvc.kernel.call import Call
from secretsvc.projects import domain as projects
from secretsvc.projects.rules import Environment, Project
from secretsvc.secrets.models import secret
from secretsvc.secrets.rules.rows import IS_CURRENT, Sealed, problem_with, versions_beside

PRESENT, MISSING, UNREADABLE = "present", "missing", "unreadable"


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A key, and its state in each of the matrix's environments."""

    key: str
    states: list[str]


@dataclass(frozen=True, slots=True)
class KeyMatrix:
    """A project's keys, sorted, against the environments that the caller sees; `total` is before filters."""

    project: Project
    environments: list[Environment]
    rows: list[MatrixRow]
    total: int


def key_matrix(call: Call, at: Address, text: str = "", *, missing_only: bool = False) -> KeyMatrix:
    """The keys that hold `text`, in any case; with `missing_only` those that some environment lacks.

    An environment that the caller does not see has no column, and its keys no row. Only what is shown is
    opened, one value after the other. Raises `NotFound`, and `ServerMisconfigured` without a ring, also
    where there is nothing to open yet: the answer must not depend on how many secrets there are.
    """
    assert_sees(call, at)
    found = projects.get_project(call, at)
    environments = projects.environments_of(call, [found])[found.id]
    _ = call.ring
    ids = [one.id for one in environments]
    there = _keys_of(call, ids)
    keys = sorted(there)
    shown = [key for key in keys if text.lower() in key.lower()]
    if missing_only:
        shown = [key for key in shown if there[key] < len(ids)]
    states = _states(call, ids, shown)
    rows = [MatrixRow(key, [states.get((key, one), MISSING) for one in ids]) for key in shown]
    return KeyMatrix(found, environments, rows, len(keys))


def _keys_of(call: Call, environments: Sequence[UUID]) -> dict[str, int]:
    """How many of the environments have each key."""
    statement = _KEYS[call.connection.dialect.name]
    rows = statement.rows(call.connection, {"environments": environments})
    return {row.key: row.environments for row in rows}


def _states(call: Call, environments: Sequence[UUID], keys: Sequence[str]) -> dict[tuple[str, UUID], str]:
    statement = _STATES[call.connection.dialect.name]
    found = {}
    with statement.streamed(call.connection, {"environments": environments, "keys": keys}) as rows:
        for row in rows:
            sealed = Sealed(*row)
            problem = problem_with(call, sealed)
            found[sealed.key, sealed.environment_id] = UNREADABLE if problem else PRESENT
    return found


def _undeleted(dialect_name: str, *columns: Any) -> Select[Any]:
    is_inside = is_among(secret.c.environment_id, "environments", dialect_name)
    return select(*columns).where(is_inside, ~secret.c.deleted)


def _keys(dialect_name: str) -> Select[Any]:
    return _undeleted(dialect_name, secret.c.key, func.count().label("environments")).group_by(secret.c.key)


def _sealed(dialect_name: str) -> Select[Any]:
    version, is_current = versions_beside(dialect_name, IS_CURRENT)
    columns = secret.c.environment_id, secret.c.key, secret.c.version, version.c.envelope, version.c.kid
    return (
        _undeleted(dialect_name, *columns)
        .outerjoin_from(secret, version, is_current)
        .where(is_among(secret.c.key, "keys", dialect_name))
    )


_KEYS = {name: Prepared(_keys(name)) for name in DIALECTS}
_STATES = {name: Prepared(_sealed(name)) for name in DIALECTS}
