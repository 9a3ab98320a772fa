"""What is amiss with keys that the caller may write: values nobody can read, gaps where it is protected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from sqlalchemy import (
    ColumnElement,
    FromClause,
    String,
    and_,
    exists,
    func,
    literal,
    select,
    union_all,
)

from secretsvc.authorization.rules.snapshot import covered_by
from secretsvc.db.types import Expression, Query
from secretsvc.kernel.authorization import Role
from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.secrets.models import secret, secret_version
from secretsvc.tables.projects import environment, project

#: How many keys are named where there are more.
NAMED = 3


@dataclass(frozen=True, slots=True)
class KeyProblem:
    """Keys of an environment with which something is amiss: how many, and the names of the first.

    `beside` is the slug and the name of the environment that has what this one lacks.
    """

    project: str
    project_name: str
    environment: str
    environment_name: str
    count: int
    keys: Sequence[str]
    beside: tuple[str, str] | None = None


def unreadable(call: UseCaseContext, kids: Sequence[str], limit: int) -> list[KeyProblem]:
    """Environments with values that none of these keys has sealed; at most `limit` of them, by one statement.

    Damaged envelopes are not among them: they are told where their environment is opened. Open to any
    identity, narrowed in the query to where the caller writes.
    """
    strange = union_all(
        *(
            select(secret_version.c.secret_id, secret_version.c.version).where(*between)
            for between in _between(sorted(kids))
        )
    ).subquery("strange")
    rows = (
        _named(environment, secret.c.key)
        .join_from(
            strange, secret, (secret.c.id == strange.c.secret_id) & (secret.c.version == strange.c.version)
        )
        .join(environment, environment.c.id == secret.c.environment_id)
        .join(project, project.c.id == environment.c.project_id)
        .where(~secret.c.deleted, _writes(call, environment))
    )
    return _amiss(call, rows, limit)


def missing(call: UseCaseContext, limit: int) -> list[KeyProblem]:
    """Protected environments that lack keys of the last unprotected one that was made before them.

    At most `limit` of them, by one statement. Open to any identity, narrowed in the query to where the
    caller writes.
    """
    guarded, before = environment.alias("guarded"), environment.alias("before")
    here, there = secret.alias("here"), secret.alias("there")
    last = (
        select(environment.c.id)
        .where(environment.c.project_id == guarded.c.project_id, environment.c.id < guarded.c.id)
        .where(~environment.c.protected, _holds(call, environment, Role.READER))
        .order_by(environment.c.id.desc())
        .limit(1)
        .correlate(guarded)
        .scalar_subquery()
    )
    same = (here.c.environment_id == guarded.c.id) & (here.c.key == there.c.key) & ~here.c.deleted
    rows = (
        _named(guarded, there.c.key, before.c.slug, before.c.name)
        .join_from(guarded, project, project.c.id == guarded.c.project_id)
        .join(before, before.c.id == last)
        .join(there, (there.c.environment_id == before.c.id) & ~there.c.deleted)
        .where(guarded.c.protected, _writes(call, guarded), ~exists().where(same))
    )
    return _amiss(call, rows, limit)


def _amiss(call: UseCaseContext, rows: Query, limit: int) -> list[KeyProblem]:
    """The first keys of each environment, with how many there are."""
    counted = rows.subquery()
    statement = (
        select(counted)
        .where(counted.c.number <= NAMED)
        .order_by(counted.c.id, counted.c.number)
        .limit(limit * NAMED)
    )
    found = []
    for _, group in groupby(call.connection.execute(statement), lambda row: row.id):
        some = [*group]
        first = some[0]
        beside = (first.beside, first.beside_name) if first.beside else None
        names = (first.project, first.project_name, first.environment, first.environment_name)
        found.append(KeyProblem(*names, first.how_many, [row.key for row in some], beside))
    return found[:limit]


def _named(
    of: FromClause,
    key: ColumnElement[str],
    beside: Expression | None = None,
    beside_name: Expression | None = None,
) -> Query:
    nothing: Expression = literal("", String)
    return select(
        of.c.id,
        project.c.slug.label("project"),
        project.c.name.label("project_name"),
        of.c.slug.label("environment"),
        of.c.name.label("environment_name"),
        (nothing if beside is None else beside).label("beside"),
        (nothing if beside_name is None else beside_name).label("beside_name"),
        key.label("key"),
        func.count().over(partition_by=of.c.id).label("how_many"),
        func.row_number().over(partition_by=of.c.id, order_by=key).label("number"),
    )


def _writes(call: UseCaseContext, of: FromClause) -> ColumnElement[bool]:
    return _holds(call, of, Role.WRITER)


def _holds(call: UseCaseContext, of: FromClause, role: Role) -> ColumnElement[bool]:
    """The condition that the caller holds the role at an environment."""
    held = (one for one in call.snapshot.effective_grants if one.role.implies(role))
    return covered_by(held, of.c.project_id, of.c.id)


def _between(kids: Sequence[str]) -> list[list[ColumnElement[bool]]]:
    """Ranges that hold every kid but these, since an index does not find what is not equal."""
    kid = secret_version.c.kid
    if not kids:
        return [[kid.is_not(None)]]
    inner = [[and_(kid > low, kid < high)] for low, high in pairwise(kids)]
    return [[kid < kids[0]], *inner, [kid > kids[-1]]]
