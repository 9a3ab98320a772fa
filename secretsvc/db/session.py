"""A request's connection: pyramid_tm decides how its transaction ends, zope.sqlalchemy carries it out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, event
from zope.sqlalchemy import mark_changed

from secretsvc.db.engine import COMMIT_STATEMENTS, acquire_write_lock, connect, make_engine, mode_of, set_mode
from secretsvc.db.error_mapping import committing
from secretsvc.db.fast.prepared import Prepared
from secretsvc.db.sqlite_queue import SqliteQueue
from secretsvc.db.unresponsive import ASK_SECONDS
from secretsvc.kernel.database_timer import database_time
from secretsvc.kernel.settings import Settings
from secretsvc.kernel.transaction_mode import Mode

if TYPE_CHECKING:
    from transaction import TransactionManager


class Database:
    """The engine of the configured database, made at its first use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._turn = SqliteQueue()

    @cached_property
    def engine(self) -> Engine:
        """Raises `ServerMisconfigured` where the URL is missing or malformed."""
        settings = self._settings
        return make_engine(settings.database_url, settings.database_pool_size, settings.database_timeout)

    def engine_to_watch_by(self, answer_seconds: float) -> Engine:
        """A new one with one connection, which no request takes, and so many seconds for each answer.

        No statement is prepared there: that takes a second answer. Raises as `engine`.
        """
        engine = make_engine(self._settings.database_url, 1, ASK_SECONDS, answer_seconds, logging.DEBUG)
        if engine.dialect.name == "postgresql":
            event.listen(engine, "connect", lambda made, _: setattr(made, "prepare_threshold", None))
        return engine

    def session(self, manager: TransactionManager) -> Session:
        """One for a request, whose end that transaction manager decides."""
        engine = self.engine
        return Session(engine, manager, self._turn if engine.dialect.name == "sqlite" else None)


class Session:
    """The one connection of a request, and as much of a session as zope.sqlalchemy needs (decision 0019).

    The snapshot is read over it by itself; the main transaction begins with the next statement.
    """

    twophase = expire_on_commit = False

    def __init__(self, engine: Engine, manager: TransactionManager, turn: SqliteQueue | None = None) -> None:
        self.engine, self._manager, self._turn = engine, manager, turn
        self._connection: Connection | None = None
        self._end_turn: Callable[[], None] | None = None
        self._undo: list[Callable[[], None]] = []
        self._deferred: list[tuple[Prepared, Mapping[str, object]]] = []

    def connection(self, mode: Mode) -> Connection:
        """The connection, whose next transaction will be begun in that mode."""
        return set_mode(self._connected() if self._connection is None else self._connection, mode)

    def _connected(self) -> Connection:
        try:
            if self._turn is not None:
                with database_time():
                    self._end_turn = self._turn.take()
            made = self._connection = connect(self.engine)
            made.info[COMMIT_STATEMENTS] = self._deferred = []
            # zope.sqlalchemy does not see Core statements: unmarked, they would be rolled back.
            mark_changed(self, self._manager)
        except BaseException:
            self.close()
            raise
        return made

    def when_undone(self, act: Callable[[], None]) -> None:
        """Calls `act` if the transaction is not committed, before its locks are released."""
        self._undo.append(act)

    def restart(self) -> None:
        """Rolls back and gives the connection back; the next use takes another."""
        self._manager.abort()
        self._manager.begin()

    def get_transaction(self) -> Session:
        """Itself: the connection's transaction begins with a statement."""
        return self

    def flush(self) -> None:
        """Nothing is left to be executed."""

    def commit(self) -> None:
        """Commits what was begun, after what was deferred to it; if that fails, nothing is.

        Where nothing was begun, a single statement is a transaction by itself. Raises `Internal` where the
        answer was lost of what may have been done (contract 8.1).
        """
        connection, deferred = self._connection, self._deferred
        if connection is None:
            return
        is_alone = len(deferred) == 1 and mode_of(connection) is Mode.AUTOCOMMIT
        with database_time():
            if is_alone:
                acquire_write_lock(connection)
            elif deferred and mode_of(connection) is Mode.AUTOCOMMIT:
                set_mode(connection, Mode.WRITE)
            if not is_alone:
                _run(connection, deferred)
            with committing(writes=is_alone or mode_of(connection).writes):
                if is_alone:
                    _run(connection, deferred)
                connection.commit()
        self._undo.clear()

    def close(self) -> None:
        """Gives the connection back, and undoes what was not committed."""
        connection, self._connection = self._connection, None
        end_turn, self._end_turn = self._end_turn, None
        try:
            while self._undo:
                self._undo.pop()()
        finally:
            _end(connection, end_turn)


def _end(connection: Connection | None, end_turn: Callable[[], None] | None) -> None:
    try:
        if connection is not None:
            connection.close()
    finally:
        # The next one takes the connection that was just given back.
        if end_turn is not None:
            end_turn()


def _run(connection: Connection, deferred: Iterable[tuple[Prepared, Mapping[str, object]]]) -> None:
    for prepared, parameters in deferred:
        prepared.run(connection, parameters)
