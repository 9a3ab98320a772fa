"""Ids and flags as a file of SQLite's may hold them: there a column takes any text, unlike on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Dialect,
    Integer,
    String,
    Table,
    TypeDecorator,
    Uuid,
    and_,
    func,
    not_,
    or_,
    select,
    type_coerce,
)

from secretsvc.db.types import ColumnType, Expression

HEX_DIGITS = 32
NO_ID = "{} {}: its {} is no id"


class IdText(TypeDecorator[str]):
    """An id as its text, or whatever else stands there."""

    impl, cache_ok = Uuid, True

    def load_dialect_impl(self, dialect: Dialect) -> ColumnType:
        """As SQLite has it, without reading it."""
        return dialect.type_descriptor(String(HEX_DIGITS) if dialect.name == "sqlite" else Uuid())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | UUID | None:
        """The other way round."""
        if value is None:
            return None
        return value.replace("-", "") if dialect.name == "sqlite" else UUID(value)

    def process_result_value(self, value: object, _dialect: Dialect) -> str | None:
        """Of 32 digits, and of a UUID."""
        if value is None or isinstance(value, UUID):
            return None if value is None else str(value)
        text = str(value)
        if len(text) != HEX_DIGITS:
            return text
        text = text.lower()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class FlagValue(TypeDecorator[object]):
    """A flag, or whatever else stands there: to Python most of that is true, and in SQL a text is not."""

    impl, cache_ok = Integer, True

    def process_result_value(self, value: object, _dialect: Dialect) -> object:
        """What is neither true nor false stays as it is."""
        return bool(value) if value in (0, 1) else value


def as_flag(column: Expression) -> ColumnElement[object]:
    """A column of flags, read as it is."""
    return type_coerce(column, FlagValue).label(column.key)


def as_text(column: Expression) -> ColumnElement[str]:
    """A column of ids, read as texts."""
    found: ColumnElement[str] = type_coerce(column, IdText).label(column.key)
    return found


def is_well_formed(column: Expression) -> ColumnElement[bool]:
    """Whether a column of SQLite's holds an id."""
    text = type_coerce(column, String)
    return and_(func.length(text) == HEX_DIGITS, func.glob("*[^0-9a-f]*", text) == 0)


def malformed_ids(connection: Connection, tables: Sequence[Table]) -> Iterator[str]:
    """Rows of these tables that hold something else where an id belongs; each is one line."""
    if connection.dialect.name != "sqlite":
        return
    for table in tables:
        names = [one.name for one in table.c if isinstance(one.type, Uuid)]
        odd = [and_(table.c[name].is_not(None), not_(is_well_formed(table.c[name]))) for name in names]
        first = next(iter(table.primary_key))
        key = as_text(first) if isinstance(first.type, Uuid) else first
        for one, *flags in connection.execute(select(key, *odd).where(or_(*odd))):
            wrong = [name for name, flag in zip(names, flags, strict=True) if flag]
            yield NO_ID.format(table.name, one, ", ".join(wrong))
