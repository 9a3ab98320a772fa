"""Engines: the settings, locks and transaction modes under which both databases keep our promises.

The drivers are told to commit each statement by itself, and a transaction is begun by a statement of ours,
so that its mode costs nothing but that statement. A transaction that writes takes SQLite's write lock at
once, because a reader that turns writer fails instead of waiting, and it queues behind a lock of our own,
because SQLite's waiting is a poll that can starve a thread or a process for seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from secretsvc.db.error_mapping import invalidate_broken_connection
from secretsvc.db.session_settings import configure_session
from secretsvc.db.sqlite_files import file_of, make_private
from secretsvc.db.sqlite_write_lock import BUSY_TIMEOUT_SECONDS, WriteLock
from secretsvc.db.supported import require_supported
from secretsvc.db.unresponsive import ANSWER_SECONDS, OutageDetector
from secretsvc.kernel.database_timer import database_time
from secretsvc.kernel.transaction_mode import Mode

if TYPE_CHECKING:
    import sqlite3

SQLITE_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={BUSY_TIMEOUT_SECONDS * 1000}",
    "PRAGMA cache_size=-16384",
    "PRAGMA mmap_size=268435456",
)
#: What libpq is told where the URL says nothing of it. A peer that is gone without a word is noticed within
#: 10 seconds: by what it does not acknowledge (in milliseconds), or does not answer when it is idle.
POSTGRESQL_OPTIONS = {
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 4,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
POOL_SIZE, TIMEOUT_SECONDS = 8, 10

# What this module keeps of a connection: in its `info`, which costs least.
_MODE = "secretsvc_mode"
_LOCK = "secretsvc_write_lock"
_HELD = "secretsvc_write_lock_held"
# And of an engine, in its options.
_SILENCE = "secretsvc_silence"


def set_mode(connection: Connection, mode: Mode) -> Connection:
    """The connection, whose next transaction will be begun in that mode."""
    if mode_of(connection) is Mode.AUTOCOMMIT and connection.in_transaction():
        # SQLAlchemy counts a statement as the beginning of a transaction, though no BEGIN was sent.
        connection.commit()
    connection.info[_MODE] = mode
    return connection


def mode_of(connection: Connection) -> Mode:
    """The mode that the connection was given; one that was given none reads."""
    mode: Mode = connection.info.get(_MODE, Mode.READ)
    return mode


def make_engine(
    url: str,
    pool_size: int = POOL_SIZE,
    timeout: int = TIMEOUT_SECONDS,
    answer_seconds: float | None = ANSWER_SECONDS,
    silence_level: int = logging.WARNING,
) -> Engine:
    """An engine for an SQLAlchemy URL of either database.

    It has `pool_size` connections at most; to make one, or to wait for one, takes at most `timeout` seconds,
    and an answer of PostgreSQL at most `answer_seconds`; without it nothing else is limited either. The log
    reports its silence at `silence_level`. Parameters of the URL take precedence, but for the encoding.
    Connecting raises `UnsupportedDatabaseError`. Raises `sqlalchemy.exc.ArgumentError`.
    """
    parts = make_url(url)
    sqlite = parts.get_backend_name() == "sqlite"
    # The connection last used is the one most surely alive, so it is the next to be handed out.
    engine = create_engine(
        url,
        hide_parameters=True,
        isolation_level="AUTOCOMMIT",
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=timeout,
        pool_use_lifo=True,
        pool_reset_on_return=None,
        connect_args=_arguments(parts, timeout),
    )
    if sqlite:
        _keep_sqlite_in_order(engine, file_of(parts))
    else:
        _notice_silence(engine, answer_seconds, silence_level)
        event.listen(engine, "connect", lambda made, _: require_supported(made))
        with_limits = answer_seconds is not None and "options" not in parts.query
        event.listen(engine, "connect", lambda made, _: configure_session(made, with_limits=with_limits))
    _listen(engine)
    return engine


def _arguments(url: URL, timeout: int) -> Mapping[str, object]:
    """Return what the driver gets beside the URL, whose parameters take precedence."""
    is_sqlite = url.get_backend_name() == "sqlite"
    usual = {"check_same_thread": False} if is_sqlite else {"connect_timeout": timeout, **POSTGRESQL_OPTIONS}
    chosen = {name: value for name, value in usual.items() if name not in url.query}
    # Whatever the URL says: in another encoding some texts could be neither written nor read.
    return chosen if is_sqlite else {**chosen, "client_encoding": "utf8"}


def _listen(engine: Engine) -> None:
    for name in ("do_execute", "do_executemany", "do_execute_no_params"):
        event.listen(engine, name, _measured(getattr(engine.dialect, name)))
    event.listen(engine, "handle_error", invalidate_broken_connection)
    event.listen(engine, "begin", _begin)
    event.listen(engine, "reset", _undo)
    event.listen(engine, "checkin", _forget)


def _measured(execute: Callable[..., None]) -> Callable[..., bool]:
    """What the driver is told by SQLAlchemy, as time of the database; True says that it was told."""

    def listener(*how: object) -> bool:
        with database_time():
            execute(*how)
        return True

    return listener


def _begin(connection: Connection) -> None:
    statement = mode_of(connection).beginnings[connection.dialect.name]
    if statement:
        # By the driver: what SQLAlchemy does for a statement takes longer than beginning.
        driver: Any = connection.connection.dbapi_connection
        try:
            with database_time():
                driver.execute(statement)
        except connection.dialect.loaded_dbapi.Error as error:
            connection._handle_dbapi_exception(error, None, None, None, None)


def _undo(dbapi_connection: DBAPIConnection, _record: object, _state: object) -> None:
    """Undoes what is left: SQLAlchemy would hand a transaction whose COMMIT failed to the next request."""
    dbapi_connection.rollback()


def _forget(_connection: object, record: ConnectionPoolEntry) -> None:
    """Resets what one use of a connection has set."""
    record.info.pop(_MODE, None)


def _notice_silence(engine: Engine, answer_seconds: float | None, level: int) -> None:
    """Has the driver's connections made by what gives a silent server up."""
    silence = OutageDetector(answer_seconds, engine.dispose, level)
    event.listen(engine, "do_connect", lambda _dialect, _record, *how: silence.connect(*how))
    engine.update_execution_options(**{_SILENCE: silence})


def _keep_sqlite_in_order(engine: Engine, path: str | None) -> None:
    """Makes the file private, configures every connection, and lets one writer in at a time."""
    lock = WriteLock(path)
    if path is not None:
        # Before SQLite makes it, which leaves its mode to the umask.
        event.listen(engine, "do_connect", lambda *_: make_private(path))

    @event.listens_for(engine, "connect")
    def configure(dbapi_connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
        for pragma in SQLITE_PRAGMAS:
            dbapi_connection.execute(pragma)
        record.info[_LOCK] = lock

    @event.listens_for(engine, "begin")
    def queue(connection: Connection) -> None:
        if mode_of(connection).writes:
            acquire_write_lock(connection)

    @event.listens_for(engine, "checkin")
    def release(_connection: object, record: ConnectionPoolEntry) -> None:
        # Only once the connection is back is the transaction surely over, however it ended.
        if record.info.pop(_HELD, False):
            lock.release()


def acquire_write_lock(connection: Connection) -> None:
    """Waits until no other connection writes to the SQLite file, and keeps others out until it is given back.

    PostgreSQL has no need of it. Raises `WriteLockTimeout`.
    """
    lock = connection.info.get(_LOCK)
    if lock is not None:
        with database_time():
            lock.acquire()
        connection.info[_HELD] = True


def connect(engine: Engine) -> Connection:
    """A connection of the pool, for which a request may have to wait.

    Raises `sqlalchemy.exc.TimeoutError` where it was not to be had in time, at once while PostgreSQL
    is silent.
    """
    silence: OutageDetector | None = engine.get_execution_options().get(_SILENCE)
    if silence is not None:
        silence.check()
    with database_time():
        return engine.connect()


@contextmanager
def read_transaction(engine: Engine, mode: Mode = Mode.READ) -> Iterator[Connection]:
    """A short transaction that only reads."""
    with connect(engine) as connection:
        yield set_mode(connection, mode)


#: A connection for one statement that needs no transaction of its own.
read_once = partial(read_transaction, mode=Mode.AUTOCOMMIT)
#: One state of the database for all that is read, whoever writes meanwhile.
snapshot = partial(read_transaction, mode=Mode.SNAPSHOT)


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """A short transaction of its own: committed at the end, rolled back when an error passes."""
    with connect(engine) as connection:
        writer = set_mode(connection, Mode.WRITE)
        with writer.begin() as transaction:
            yield writer
            with database_time():
                transaction.commit()
