"""The driver's cursor beneath a connection of SQLAlchemy's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any

from psycopg import capabilities
from sqlalchemy import Connection

from secretsvc.db.engine import mode_of
from secretsvc.kernel.database_timer import database_time
from secretsvc.kernel.transaction_mode import Mode

#: How many rows of what is streamed are in memory at once.
CHUNK = 16
# An older libpq gives them one by one, which takes five times as long.
_STREAMED = CHUNK if capabilities.has_stream_chunked() else 1
# Rows of texts take PostgreSQL longer to write, and us to read.
_CURSOR: dict[str, dict[str, Any]] = {"postgresql": {"binary": True}, "sqlite": {}}


class StatementContext:
    """Stands for SQLAlchemy's `ExecutionContext` when the driver executes a statement directly.

    Listeners for statements put attributes of their own on it, and find them again when the same statement
    is over or has failed: tracing does.
    """

    compiled, executemany = None, False

    def __init__(self, connection: Connection, cursor: object, statement: str) -> None:
        self.root_connection = self.connection = connection
        self.engine, self.dialect = connection.engine, connection.dialect
        self.cursor, self.statement = cursor, statement

    def handle_dbapi_exception(self, _error: BaseException) -> None:
        """Nothing to be done: SQLAlchemy tells it of the driver's errors."""


@contextmanager
def driver_cursor(connection: Connection, text: str, values: object) -> Iterator[Any]:
    """The driver's cursor, for a statement that is told to whoever listens for statements.

    It is executed in the transaction of the connection's mode, which begins here unless it has begun. What
    the driver raises becomes what SQLAlchemy would raise, and a lost connection is let go of.
    """
    listeners = connection.engine.dispatch
    context: Any = None
    try:
        if not connection.in_transaction() and mode_of(connection) is not Mode.AUTOCOMMIT:
            connection.begin()
        cursor = connection.connection.cursor(**_CURSOR[connection.dialect.name])
        if listeners.before_cursor_execute or listeners.after_cursor_execute:
            context = StatementContext(connection, cursor, text)
        listeners.before_cursor_execute(connection, cursor, text, values, context, False)
        with database_time():
            yield cursor
        listeners.after_cursor_execute(connection, cursor, text, values, context, False)
    except connection.dialect.loaded_dbapi.Error as error:
        connection._handle_dbapi_exception(error, None, None, None, context)


@contextmanager
def streamed(connection: Connection, text: str, values: object) -> Iterator[Iterator[Sequence[object]]]:
    """The rows of a query, read from the database a few at a time; nothing else may be executed meanwhile.

    When the context ends so does the query, read to its end or not: on SQLite a cursor that is still open
    keeps the old snapshot, beyond the rollback, for whoever gets the connection next.
    """
    is_sqlite = connection.dialect.name == "sqlite"
    with driver_cursor(connection, text, values) as cursor:
        rows = cursor.execute(text, values) if is_sqlite else cursor.stream(text, values, size=_STREAMED)
    try:
        with closing(cursor), closing(rows):
            yield _in_chunks(iter(rows))
    except connection.dialect.loaded_dbapi.Error as error:
        connection._handle_dbapi_exception(error, None, None, None, None)


def _in_chunks(rows: Iterator[Sequence[object]]) -> Iterator[Sequence[object]]:
    while True:
        with database_time():
            chunk = [*islice(rows, CHUNK)]
        if not chunk:
            return
        yield from chunk
