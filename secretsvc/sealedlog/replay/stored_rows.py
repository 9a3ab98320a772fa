"""Rows of the tables that are compared, read as they are; and what is wrong with one."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Boolean, Connection, Uuid
from sqlalchemy.types import NullType

from secretsvc.db.types import Expression, FoundRow, Query
from secretsvc.sealedlog.rules.ids import as_flag, as_text

#: Rows that are read at once.
PAGE = 1000
NOT_TOLD = "{}: the log does not tell of it"
MISSING = "{}: it is missing, and the log does not tell why"
OTHER = "{}: the log has another {}"


def differing(row: tuple[object, ...], told: tuple[object, ...]) -> list[str]:
    """Return the names of the fields in which two tuples of one class differ."""
    names: tuple[str, ...] = getattr(row, "_fields", ())
    return [name for name, found, wanted in zip(names, row, told, strict=True) if found != wanted]


def as_read(column: Expression) -> Expression:
    """Return a column as it is to be selected: ids as texts, flags as they are.

    Raises TypeError for a foreign key whose table is not imported yet: its type is not known.
    """
    if isinstance(column.type, NullType):
        raise TypeError(f"the type of {column} is not known yet")
    if isinstance(column.type, Uuid):
        return as_text(column)
    return as_flag(column) if isinstance(column.type, Boolean) else column


def all_rows(connection: Connection, statement: Query) -> Iterator[FoundRow]:
    """Its rows, a page at a time."""
    yield from connection.execute(statement, execution_options={"yield_per": PAGE})
