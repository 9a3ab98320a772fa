"""What searches lean on: texts that are found in columns."""

from __future__ import annotations

from sqlalchemy import ColumnElement, collate, func, or_


def holds_text(dialect_name: str, text: str, *columns: ColumnElement[str]) -> ColumnElement[bool]:
    """The condition that one of the columns has the text in it, whatever the case of its ASCII letters.

    SQLite's LIKE takes no others for the same; on PostgreSQL only under this collation.
    """
    if dialect_name == "sqlite":
        return or_(*(column.contains(text, autoescape=True) for column in columns))
    # Bytes know the letters of ASCII alone.
    low = text.encode().lower().decode()
    return or_(*(func.strpos(func.lower(collate(column, "C")), low) > 0 for column in columns))
