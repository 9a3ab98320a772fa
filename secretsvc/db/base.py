"""The metadata that the tables of all packages share, and our own column types."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Text, Uuid, text
from sqlalchemy.orm import DeclarativeBase

# Constraints have names, because a migration can only change what it can name.
NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}

#: Epoch milliseconds, and any other number up to 2^53.
Millis = BigInteger
#: A surrogate key: SQLite numbers rows by itself only where the type is exactly INTEGER.
RowId = BigInteger().with_variant(Integer(), "sqlite")
#: A secret's key; keys sort by code point on both databases, whatever the locale of the server.
KeyText = String(256).with_variant(String(256, collation="C"), "postgresql")
#: A UUID: native on PostgreSQL, 32 hex digits on SQLite; both sort by time for version 7.
Id = Uuid

#: What Alembic compares with. Our own tables are Core's, because nobody maps them and each class takes time.
METADATA = MetaData(naming_convention=NAMING)


class Base(DeclarativeBase):
    """The declarative base of packages that want the ORM."""

    metadata = METADATA


def named_columns() -> list[Column[Any]]:
    """Those of what has a slug of its own, a name and a description."""
    return [
        Column("id", Id, primary_key=True),
        Column("slug", String(64), unique=True, nullable=False),
        Column("name", Text, nullable=False),
        Column("description", Text),
        Column("created_at", Millis, nullable=False),
        Column("updated_at", Millis, nullable=False),
    ]


def partial_index(name: str, where: str, *columns: str, unique: bool = False) -> Index:
    """An index over the rows that meet a condition, on both databases."""
    condition = text(where)
    return Index(name, *columns, unique=unique, postgresql_where=condition, sqlite_where=condition)
