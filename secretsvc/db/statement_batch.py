"""Statements that PostgreSQL is sent as one, because each of them would take a round trip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import BindParameter, Connection, Insert, bindparam
from sqlalchemy.sql.visitors import cloned_traverse

from secretsvc.db.engine import BATCH_STATEMENTS
from secretsvc.db.fast.prepared import Prepared

#: A statement that writes, with its parameters.
BoundStatement = tuple[Prepared, Mapping[str, object]]


@contextmanager
def collect_statements(connection: Connection) -> Iterator[list[BoundStatement]]:
    """Collect the statements of `Prepared.execute_deferred` in a transaction; the caller executes them."""
    steps: list[BoundStatement] = []
    connection.info[BATCH_STATEMENTS] = steps
    try:
        yield steps
    finally:
        del connection.info[BATCH_STATEMENTS]


def execute_batch_returning(connection: Connection, steps: Sequence[BoundStatement]) -> Sequence[Any]:
    """Executes steps, of which none reads or changes what another does, and gives the rows of the first.

    The others have none.
    """
    (first, parameters), *others = _fewest(connection, steps)
    rows = first.rows(connection, parameters)
    for step, given in others:
        step.run(connection, given)
    return rows


def execute_batch(connection: Connection, steps: Sequence[BoundStatement]) -> None:
    """As `execute_batch_returning`, where the first has no rows, either."""
    for step, parameters in _fewest(connection, steps):
        step.run(connection, parameters)


def _fewest(connection: Connection, steps: Sequence[BoundStatement]) -> Sequence[BoundStatement]:
    if connection.dialect.name == "sqlite" or len(steps) == 1:
        return steps
    parameters = {
        f"{number}_{name}": value for number, (_, given) in enumerate(steps) for name, value in given.items()
    }
    return [(_joined(*(prepared for prepared, _ in steps)), parameters)]


@lru_cache(maxsize=64)
def _joined(*steps: Prepared) -> Prepared:
    """The first with the others beside it; each has its number before the names of its parameters."""
    first, *others = (_numbered(step, f"{number}_") for number, step in enumerate(steps))
    return Prepared(first.add_cte(*(other.cte(f"beside_{number}") for number, other in enumerate(others))))


def _numbered(step: Prepared, prefix: str) -> Any:
    statement: Any = step.statement
    if isinstance(statement, Insert) and statement.select is None:
        columns = (statement.table.c[name] for name in step.names or statement.table.c.keys())
        return statement.values({one.name: bindparam(prefix + one.name, type_=one.type) for one in columns})

    def rename(parameter: BindParameter[Any]) -> None:
        if not parameter.unique:
            parameter.key = prefix + parameter.key

    return cloned_traverse(statement, {}, {"bindparam": rename})
