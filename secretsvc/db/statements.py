"""Statements that both databases know, under names of their own."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table
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
