"""Statements that both databases know, under names of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from sqlalchemy import (
    ARRAY,
    JSON,
    ColumnElement,
    Connection,
    Delete,
    Dialect,
    RowMapping,
    Table,
    TypeDecorator,
    Update,
    and_,
    any_,
    bindparam,
    case,
    collate,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from secretsvc.db.constraint_errors import is_duplicate, is_orphan
from secretsvc.db.fast import flags
from secretsvc.db.fast.driver import driver_cursor
from secretsvc.db.row_parameters import array_literal, rows_table
from secretsvc.db.statement_batch import BoundStatement
from secretsvc.db.types import ColumnType, Expression
from secretsvc.kernel.errors import Conflict, NotFound, SecretsvcError

Rows = Sequence[Mapping[str, object]]
Form = TypeVar("Form")


class PerDialect(dict[str, Form]):
    """The forms that a statement has, by a dialect's name; each is made when it is first asked for."""

    def __init__(self, make: Callable[[str], Form]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, dialect_name: str) -> Form:
        form = self[dialect_name] = self._make(dialect_name)
        return form


def by_code_point(dialect_name: str, column: ColumnElement[str]) -> ColumnElement[str]:
    """A column to be sorted by code point; PostgreSQL sorts by the language of its server."""
    return collate(column, "C") if dialect_name == "postgresql" else column


def insert_one(
    connection: Connection,
    table: Table,
    row: Mapping[str, object],
    taken: Conflict,
    missing: str | None = None,
) -> None:
    """Inserts a row. A constraint, not a look beforehand, finds what is in its way.

    Raises `taken` where a unique index holds its like, `NotFound` where what it refers to is gone.
    """
    try:
        connection.execute(insert(table), row)
    except IntegrityError as error:
        if is_duplicate(error):
            raise taken from None
        raise NotFound(missing) from None


def insert_or_ignore(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Inserts a row unless a unique index, partial ones included, contains it; whether it did.

    Raises `NotFound` where a row that it refers to is gone.
    """
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    statement = dialect.insert(table).on_conflict_do_nothing()
    # RETURNING, because drivers promise a row count for updates and deletions only.
    try:
        returned = connection.execute(statement.values(row).returning(*table.primary_key))
    except IntegrityError as error:
        if is_orphan(error):
            raise NotFound() from None
        raise
    return returned.first() is not None


def update_one(
    connection: Connection,
    statement: Update,
    returned: Table | Sequence[ColumnElement[Any]],
    missing: SecretsvcError,
) -> RowMapping:
    """Changes one row and returns it, or columns of it, as it is now. Raises `missing` if there is none.

    The row is read at once: on SQLite a statement that was not read to its end, because an error came in
    between, would stand in the way of the next COMMIT on its connection.
    """
    columns = returned.c if isinstance(returned, Table) else returned
    row = connection.execute(statement.returning(*columns)).mappings().first()
    if row is None:
        raise missing
    return row


def as_found(table: Table, found: object, fields: Iterable[str]) -> ColumnElement[bool]:
    """The condition that a row still has in these fields what was found there."""
    return and_(*(table.c[name].is_not_distinct_from(getattr(found, name)) for name in fields))


def delete_one(connection: Connection, statement: Delete, missing: str) -> None:
    """Deletes one row. Raises `NotFound` with the message if it is gone."""
    if connection.execute(statement).rowcount != 1:
        raise NotFound(missing)


def has_text(text: str, *columns: ColumnElement[str]) -> ColumnElement[bool]:
    """The condition that one of the columns has a text in it, in capitals or not."""
    return or_(*(column.icontains(text, autoescape=True) for column in columns))


def insert_many(connection: Connection, table: Table, rows: Rows) -> None:
    """Inserts rows that have the same columns; PostgreSQL copies in what is more than one (decision 0020)."""
    if len(rows) == 1 or connection.dialect.name == "sqlite" or not flags.ENABLED:
        connection.execute(insert(table), rows)
        return
    names = tuple(rows[0])
    text = f"COPY {table.name} ({', '.join(names)}) FROM STDIN (FORMAT BINARY)"
    with driver_cursor(connection, text, rows) as cursor, cursor.copy(text) as copy:
        copy.set_types([_type_name(table.c[name], connection) for name in names])
        for row in rows:
            copy.write_row([row[name] for name in names])


def update_many(
    connection: Connection, table: Table, rows: Rows, *, kept: tuple[str, str] | None = None
) -> None:
    """Sets columns of rows, each named by its `id`; all rows must have the same columns.

    `kept` names a column that stays as it is in rows whose second column, a boolean, is now set.
    """
    names = tuple(rows[0])
    by_arrays = len(rows) > 1 and connection.dialect.name != "sqlite"
    statement = _update_by_id(table, names, kept, by_arrays=by_arrays)
    if by_arrays:
        arrays = {f"new_{name}": array_literal(row[name] for row in rows) for name in names}
        connection.execute(statement, arrays)
    else:
        connection.execute(statement, [_renamed(row) for row in rows])


def update_of(
    table: Table, row: Mapping[str, object], *, kept: tuple[str, str] | None = None
) -> BoundStatement:
    """The statement by which `update_many` would change one row."""
    return _update_by_id(table, tuple(row), kept, by_arrays=False), _renamed(row)


def _renamed(row: Mapping[str, object]) -> dict[str, object]:
    return {f"new_{name}": value for name, value in row.items()}


def in_parameter(column: Expression, name: str, dialect_name: str) -> ColumnElement[bool]:
    """The condition that a column is one of the values of a parameter, which is a list.

    They go over as one value: as many parameters, they take longer than what is asked for.
    """
    if dialect_name == "sqlite":
        values = func.json_each(bindparam(name, type_=_Members(column.type))).table_valued("value")
        return column.in_(select(values.c.value))
    return column == any_(bindparam(name, type_=Array(column.type)))


class Array(TypeDecorator[Any]):
    """An array of PostgreSQL's that is given as a list and goes over as a text; see `array_literal`."""

    impl, cache_ok = ARRAY, True

    def bind_processor(self, _dialect: Dialect) -> Callable[[Any], str]:
        """What makes the text of a list."""
        return array_literal


class _Members(TypeDecorator[Any]):
    """A list as JSON; its members are written as the type of their column writes them."""

    impl, cache_ok = JSON, True

    def __init__(self, member: ColumnType) -> None:
        super().__init__()
        self.member = member

    def process_bind_param(self, value: Any, dialect: Dialect) -> object:
        write = self.member.dialect_impl(dialect).bind_processor(dialect)
        return value if write is None else [*map(write, value)]


def _type_name(column: Expression, connection: Connection) -> str:
    """The driver's name of the column's type: without a length, and in lower case."""
    return column.type.compile(connection.dialect).partition("(")[0].lower()


@lru_cache(maxsize=64)
def _update_by_id(
    table: Table, names: tuple[str, ...], kept: tuple[str, str] | None, *, by_arrays: bool
) -> Update:
    new: dict[str, Expression]
    if by_arrays:
        _, columns = rows_table("postgresql", **{f"new_{name}": table.c[name].type for name in names})
        new = dict(zip(names, columns, strict=True))
    else:
        new = {name: bindparam(f"new_{name}", type_=table.c[name].type) for name in names}
    values = {name: value for name, value in new.items() if name != "id"}
    if kept is not None:
        name, flag = kept
        values[name] = case((new[flag], table.c[name]), else_=new[name])
    return update(table).where(table.c.id == new["id"]).values(values)
