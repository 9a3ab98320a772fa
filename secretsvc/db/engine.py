"""Engines: the settings, locks and transaction modes under which both databases keep our promises.

A transaction is begun in one of two modes. `READ` never writes. `WRITE` may: on SQLite it takes the
write lock at once, because a reader that turns writer fails instead of waiting, and it queues behind
one lock of the process, because SQLite's own waiting is a poll that can starve a thread for seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url

BUSY_TIMEOUT_SECONDS = 20
SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={BUSY_TIMEOUT_SECONDS * 1000}",
    "PRAGMA cache_size=-65536",
    "PRAGMA mmap_size=268435456",
)
POSTGRESQL_OPTIONS = {
    "connect_timeout": 5,
    "options": "-c statement_timeout=30s -c lock_timeout=15s -c idle_in_transaction_session_timeout=60s",
}

READ = {"secretsvc_mode": "read"}
WRITE = {"secretsvc_mode": "write"}
_HELD = "secretsvc_write_lock_held"


def make_engine(url: str) -> Engine:
    """An engine for an SQLAlchemy URL of either database. Raises `sqlalchemy.exc.ArgumentError`."""
    if make_url(url).get_backend_name() == "sqlite":
        return _sqlite_engine(url)
    # The connection last used is the one most surely alive, so it is the next to be handed out.
    return create_engine(
        url,
        hide_parameters=True,
        isolation_level="READ COMMITTED",
        pool_size=8,
        max_overflow=8,
        pool_use_lifo=True,
        connect_args=POSTGRESQL_OPTIONS,
    )


def _sqlite_engine(url: str) -> Engine:
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_size=8,
        max_overflow=8,
        pool_use_lifo=True,
        connect_args={"isolation_level": None, "check_same_thread": False},
    )
    lock = threading.Lock()

    @event.listens_for(engine, "connect")
    def configure(dbapi_connection: Any, _record: Any) -> None:
        for pragma in SQLITE_PRAGMAS:
            dbapi_connection.execute(pragma)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("secretsvc_mode") != "write":
            connection.exec_driver_sql("BEGIN")
            return
        if not lock.acquire(timeout=BUSY_TIMEOUT_SECONDS):
            raise TimeoutError("the write lock was not free in time")
        connection.info[_HELD] = True
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    @event.listens_for(engine, "checkin")
    def release(dbapi_connection: Any, record: Any) -> None:
        # A COMMIT that failed leaves its transaction open, and SQLAlchemy hands it to the next request.
        if dbapi_connection is not None and dbapi_connection.in_transaction:
            dbapi_connection.rollback()
        # Only once the connection is back is the transaction surely over, however it ended.
        if record.info.pop(_HELD, False):
            lock.release()

    return engine


@contextmanager
def read_once(engine: Engine) -> Iterator[Connection]:
    """A connection for one statement that needs no transaction of its own."""
    options: dict[str, Any] = READ if engine.name == "sqlite" else {"isolation_level": "AUTOCOMMIT"}
    with engine.connect() as connection:
        yield connection.execution_options(**options)


@contextmanager
def read_transaction(engine: Engine) -> Iterator[Connection]:
    """A short transaction that only reads."""
    with engine.connect() as connection:
        yield connection.execution_options(**READ)


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """A short transaction of its own: committed at the end, rolled back when an error passes."""
    with engine.connect() as connection:
        writer = connection.execution_options(**WRITE)
        with writer.begin():
            yield writer
