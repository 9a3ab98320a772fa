"""Rows as the parameters of a statement, which reads them like a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import JSON, ColumnElement, FromClause, bindparam, column, func
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeEngine


def listed(dialect_name: str, **types: type[TypeEngine[Any]]) -> tuple[FromClause, list[ColumnElement[Any]]]:
    """A table of the parameters that `as_listed` makes, and its columns: of JSON, or of an array for each."""
    if dialect_name == "sqlite":
        rows = func.json_each(bindparam("listed", type_=JSON)).table_valued("value")
        return rows, [
            func.json_extract(rows.c.value, f"$[{at}]", type_=one) for at, one in enumerate(types.values())
        ]
    arrays = [bindparam(name, type_=postgresql.ARRAY(one)) for name, one in types.items()]
    made = func.unnest(*arrays).table_valued(*(column(name, one) for name, one in types.items()))
    made = made.render_derived("listed")
    return made, [made.c[name] for name in types]


def as_listed(dialect_name: str, rows: Iterable[Sequence[object]], *names: str) -> dict[str, object]:
    """The parameters for rows of so many numbers or texts."""
    rows = [*map(list, rows)]
    if dialect_name == "sqlite":
        return {"listed": rows}
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}
