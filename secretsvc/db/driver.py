"""The driver beneath SQLAlchemy, for the few things that are worth going there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection

from secretsvc.db.engine import Mode, mode_of


@contextmanager
def driver_errors(connection: Connection) -> Iterator[None]:
    """What the driver raises becomes what SQLAlchemy would raise, and a lost connection is let go of."""
    try:
        yield
    except connection.dialect.loaded_dbapi.Error as error:
        connection._handle_dbapi_exception(error, None, None, None, None)


@contextmanager
def begun(connection: Connection) -> Iterator[Any]:
    """A cursor for one statement within the transaction of the connection's mode.

    On PostgreSQL a transaction that begins here does so in the same round trip.
    """
    driver: Any = connection.connection.dbapi_connection
    if connection.in_transaction() or mode_of(connection) is Mode.ONCE:
        yield driver.cursor()
    elif connection.dialect.name == "sqlite":
        connection.begin()
        yield driver.cursor()
    else:
        with driver.pipeline():
            connection.begin()
            yield driver.cursor()


def announce(connection: Connection, cursor: Any, text: str, values: Any) -> None:
    """Tells whoever listens for statements of one that goes past SQLAlchemy."""
    if connection.dispatch.before_cursor_execute:
        connection.dispatch.before_cursor_execute(connection, cursor, text, values, None, False)
