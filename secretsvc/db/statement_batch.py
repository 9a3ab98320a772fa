"""Statements that go to PostgreSQL as one, because each of them would take a round trip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import BindParameter, Connection, Insert, Update, bindparam
from sqlalchemy.sql.visitors import cloned_traverse

from secretsvc.db.fast.prepared import Prepared

#: A statement that writes, made once, with its parameters.
BoundStatement = tuple[Insert | Update, Mapping[str, object]]


def execute_batch(connection: Connection, statements: Sequence[BoundStatement]) -> None:
    """Execute statements of which none reads or changes what another does.

    On PostgreSQL they are one statement: the first, with the others beside it in `WITH`.
    """
    if connection.dialect.name == "sqlite":
        for statement, parameters in statements:
            connection.execute(statement, parameters)
        return
    shapes = ((statement, tuple(parameters)) for statement, parameters in statements)
    values = {
        f"{number}_{name}": value
        for number, (_, parameters) in enumerate(statements)
        for name, value in parameters.items()
    }
    _joined(*shapes).run(connection, values)


@lru_cache(maxsize=64)
def _joined(*shapes: tuple[Insert | Update, tuple[str, ...]]) -> Prepared:
    """The parameters of each statement have its number before their names."""
    first, *others = (_numbered(*shape, f"{number}_") for number, shape in enumerate(shapes))
    return Prepared(first.add_cte(*(other.cte(f"beside_{number}") for number, other in enumerate(others))))


def _numbered(statement: Any, names: tuple[str, ...], prefix: str) -> Any:
    if isinstance(statement, Insert) and statement.select is None:
        columns = (statement.table.c[name] for name in names)
        return statement.values({one.name: bindparam(prefix + one.name, type_=one.type) for one in columns})

    def rename(parameter: BindParameter[Any]) -> None:
        if not parameter.unique:
            parameter.key = prefix + parameter.key

    return cloned_traverse(statement, {}, {"bindparam": rename})
