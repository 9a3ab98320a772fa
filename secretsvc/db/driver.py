"""Direct use of the driver, for the few operations where SQLAlchemy costs most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from itertools import islice
from typing import Any

from psycopg import capabilities
from sqlalchemy import Connection, Engine

from secretsvc.db.engine import DEFERRED, Mode, acquire_write_lock, cursor_of, for_mode, mode_of
from secretsvc.kernel.stopwatch import waiting

#: Statements with their values.
Deferred = list[tuple[str, Any]]
#: How many rows of what is streamed are in memory at once.
CHUNK = 16
# An older libpq gives them one by one, which takes five times as long.
_STREAMED = CHUNK if capabilities.has_stream_chunked() else 1


class StatementContext:
    """Stands for SQLAlchemy's `ExecutionContext` when the driver executes a statement directly.

    Listeners for statements put attributes of their own on it, and find them again when the same statement
    is over or has failed: tracing does.
    """

    compiled = None
    executemany = False

    def __init__(self, connection: Connection, cursor: Any, statement: str) -> None:
        self.root_connection = self.connection = connection
        self.engine, self.dialect = connection.engine, connection.dialect
        self.cursor, self.statement = cursor, statement

    def handle_dbapi_exception(self, _error: BaseException) -> None:
        """Nothing to be done: SQLAlchemy tells it of the driver's errors."""


@contextmanager
def driver_cursor(connection: Connection, text: str, values: Any) -> Iterator[Any]:
    """The driver's cursor, for a statement that is told to whoever listens for statements.

    What the driver raises becomes what SQLAlchemy would raise, and a lost connection is let go of.
    """
    listeners = connection.dispatch
    context: Any = None
    try:
        cursor = cursor_of(connection)
        if listeners.before_cursor_execute or listeners.after_cursor_execute:
            context = StatementContext(connection, cursor, text)
        if listeners.before_cursor_execute:
            listeners.before_cursor_execute(connection, cursor, text, values, context, False)
        yield cursor
        if listeners.after_cursor_execute:
            listeners.after_cursor_execute(connection, cursor, text, values, context, False)
    except connection.dialect.loaded_dbapi.Error as error:
        connection._handle_dbapi_exception(error, None, None, None, context)


def execute(connection: Connection, text: str, values: Any) -> Any:
    """Executes a statement in the transaction of the connection's mode; its cursor is that of the next, too.

    On PostgreSQL a transaction that begins here does so in the same round trip.
    """
    with waiting(), driver_cursor(connection, text, values) as cursor:
        _execute(connection, cursor, text, values)
    return cursor


def _execute(connection: Connection, cursor: Any, text: str, values: Any) -> None:
    if connection.in_transaction() or mode_of(connection) is Mode.AUTOCOMMIT:
        cursor.execute(text, values)
        return
    with _one_round_trip(connection):
        connection.begin()
        cursor.execute(text, values)


@contextmanager
def streamed(connection: Connection, text: str, values: Any) -> Iterator[Iterator[Sequence[Any]]]:
    """The rows of a query, read from the database a few at a time; nothing else may be executed meanwhile.

    When the context ends so does the query, read to its end or not: on SQLite a cursor that is still open
    keeps the old snapshot, beyond the rollback, for whoever gets the connection next.
    """
    if not connection.in_transaction() and mode_of(connection) is not Mode.AUTOCOMMIT:
        connection.begin()
    driver: Any = connection.connection.dbapi_connection
    is_sqlite = connection.dialect.name == "sqlite"
    with closing(driver.cursor() if is_sqlite else driver.cursor(binary=True)) as cursor:
        with driver_cursor(connection, text, values):
            rows = cursor.execute(text, values) if is_sqlite else cursor.stream(text, values, size=_STREAMED)
        try:
            with closing(rows):
                yield _in_chunks(iter(rows))
        except connection.dialect.loaded_dbapi.Error as error:
            connection._handle_dbapi_exception(error, None, None, None, None)


def _in_chunks(rows: Iterator[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    while True:
        with waiting():
            chunk = [*islice(rows, CHUNK)]
        if not chunk:
            return
        yield from chunk


def execute_with_commit(connection: Connection, text: str, values: Any) -> None:
    """Executes a statement that nothing after it reads; where it can be deferred, with the commit."""
    deferred = connection.info.get(DEFERRED)
    if deferred is None:
        execute(connection, text, values)
    else:
        deferred.append((text, values))


@contextmanager
def deferred_write_transaction(engine: Engine) -> Iterator[Connection]:
    """As `write_transaction`; what is executed with the commit there is deferred to it."""
    with engine.connect() as connection:
        deferred = connection.info[DEFERRED] = []
        yield for_mode(connection, Mode.WRITE)
        commit(connection, deferred)


def commit(connection: Connection, deferred: Deferred) -> None:
    """Commits, after what was deferred to it: on PostgreSQL in one round trip. If that fails, nothing is.

    Where nothing was begun, a single statement is a transaction by itself.
    """
    if mode_of(connection) is Mode.AUTOCOMMIT:
        if len(deferred) == 1:
            acquire_write_lock(connection)
            execute(connection, *deferred[0])
            return
        for_mode(connection, Mode.WRITE)
    with _one_round_trip(connection) if deferred and connection.in_transaction() else nullcontext():
        for text, values in deferred:
            execute(connection, text, values)
        connection.commit()


def _one_round_trip(connection: Connection) -> AbstractContextManager[Any]:
    driver: Any = connection.connection.dbapi_connection
    return nullcontext() if connection.dialect.name == "sqlite" else driver.pipeline()
