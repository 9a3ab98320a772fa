"""Rows as the parameters of a statement, which reads them like a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import ARRAY, JSON, FromClause, Text, bindparam, cast, column, func

from secretsvc.db.types import ColumnType, Expression


def rows_table(
    dialect_name: str, **types: ColumnType | type[ColumnType]
) -> tuple[FromClause, list[Expression]]:
    """Return a table of the parameters of `rows_parameters`, JSON or one array a column; and its columns."""
    if dialect_name == "sqlite":
        rows = func.json_each(bindparam("listed", type_=JSON)).table_valued("value")
        return rows, [
            func.json_extract(rows.c.value, f"$[{at}]", type_=one) for at, one in enumerate(types.values())
        ]
    arrays = [cast(bindparam(name, type_=Text), ARRAY(one)) for name, one in types.items()]
    made = func.unnest(*arrays).table_valued(*(column(name, one) for name, one in types.items()))
    made = made.render_derived("listed")
    return made, [made.c[name] for name in types]


def rows_parameters(dialect_name: str, rows: Iterable[Sequence[object]], *names: str) -> dict[str, object]:
    """The parameters for rows of so many ids, numbers or texts, or None."""
    if dialect_name == "sqlite":
        return {"listed": [[one.hex if isinstance(one, UUID) else one for one in row] for row in rows]}
    columns = [*zip(*rows, strict=True)] or [()] * len(names)
    return {name: array_literal(values) for name, values in zip(names, columns, strict=True)}


def array_literal(values: Iterable[object]) -> str:
    """As PostgreSQL reads one; psycopg takes six times as long to write a list."""
    written = [
        _quoted(one) if isinstance(one, str) else "NULL" if one is None else str(one) for one in values
    ]
    return f"{{{','.join(written)}}}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
