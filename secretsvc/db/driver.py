"""The driver beneath SQLAlchemy, for the few things that are worth going there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection

from secretsvc.db.engine import Mode, mode_of

_CURSOR = "secretsvc_cursor"


@contextmanager
def driver_errors(connection: Connection) -> Iterator[None]:
    """What the driver raises becomes what SQLAlchemy would raise, and a lost connection is let go of."""
    try:
        yield
    except connection.dialect.loaded_dbapi.Error as error:
        connection._handle_dbapi_exception(error, None, None, None, None)


@contextmanager
def announced(connection: Connection, cursor: Any, text: str, values: Any) -> Iterator[None]:
    """Tells whoever listens for statements of one that goes past SQLAlchemy."""
    listeners = connection.dispatch
    if listeners.before_cursor_execute:
        listeners.before_cursor_execute(connection, cursor, text, values, None, False)
    yield
    if listeners.after_cursor_execute:
        listeners.after_cursor_execute(connection, cursor, text, values, None, False)


def execute(connection: Connection, text: str, values: Any) -> Any:
    """Executes a statement in the transaction of the connection's mode; its cursor is that of the next, too.

    On PostgreSQL a transaction that begins here does so in the same round trip.
    """
    with driver_errors(connection):
        cursor = _cursor(connection)
        with announced(connection, cursor, text, values):
            _execute(connection, cursor, text, values)
        return cursor


def _execute(connection: Connection, cursor: Any, text: str, values: Any) -> None:
    if connection.in_transaction() or mode_of(connection) is Mode.ONCE:
        cursor.execute(text, values)
    elif connection.dialect.name == "sqlite":
        connection.begin()
        cursor.execute(text, values)
    else:
        with cursor.connection.pipeline():
            connection.begin()
            cursor.execute(text, values)


def _cursor(connection: Connection) -> Any:
    """Kept for as long as the connection lives: psycopg takes its time to make one.

    PostgreSQL sends binary through it, which takes half the time to read.
    """
    cursor = connection.info.get(_CURSOR)
    if cursor is None:
        driver: Any = connection.connection.dbapi_connection
        cursor = driver.cursor() if connection.dialect.name == "sqlite" else driver.cursor(binary=True)
        connection.info[_CURSOR] = cursor
    return cursor
