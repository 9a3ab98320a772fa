"""Statements that both databases know, under names of their own."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Delete, RowMapping, Table, Update
from sqlalchemy.dialects import postgresql, sqlite


def insert_or_ignore(connection: Connection, table: Table, row: dict[str, Any]) -> bool:
    """Inserts a row unless a unique index, partial ones included, holds its like; whether it did."""
    statement: Any
    if connection.dialect.name == "sqlite":
        statement = sqlite.insert(table).on_conflict_do_nothing()
    else:
        statement = postgresql.insert(table).on_conflict_do_nothing()
    # What comes back tells it: a row count is promised of updates and deletions only.
    returned = connection.execute(statement.values(row).returning(*table.primary_key))
    return returned.first() is not None


def update_one(connection: Connection, statement: Update, table: Table) -> RowMapping | None:
    """Changes one row and returns it as it is now, None if it is gone.

    The row is read at once: on SQLite a statement that was not read to its end, because an error came in
    between, would stand in the way of the next COMMIT on its connection.
    """
    return connection.execute(statement.returning(table)).mappings().first()


def delete_one(connection: Connection, statement: Delete) -> bool:
    """Deletes one row; whether it was still there."""
    return connection.execute(statement).rowcount == 1
