"""A request's connection: pyramid_tm decides how its transaction ends, zope.sqlalchemy carries it out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine, event
from zope.sqlalchemy import mark_changed

from secretsvc.db.engine import connect, make_engine, mode_of, set_mode
from secretsvc.db.error_mapping import committing
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
        return Session(self.engine, manager)


class Session:
    """The one connection of a request, and as much of a session as zope.sqlalchemy needs (decision 0019).

    The snapshot is read over it by itself; the main transaction begins with the next statement.
    """

    twophase = expire_on_commit = False

    def __init__(self, engine: Engine, manager: TransactionManager) -> None:
        self.engine, self._manager = engine, manager
        self._connection: Connection | None = None
        self._undo: list[Callable[[], None]] = []

    def connection(self, mode: Mode) -> Connection:
        """The connection, whose next transaction will be begun in that mode."""
        return set_mode(self._connected() if self._connection is None else self._connection, mode)

    def _connected(self) -> Connection:
        try:
            made = self._connection = connect(self.engine)
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
        """Commits what was begun. Raises `Internal` where its answer was lost (contract 8.1)."""
        connection = self._connection
        if connection is None:
            return
        with database_time(), committing(writes=mode_of(connection).writes):
            connection.commit()
        self._undo.clear()

    def close(self) -> None:
        """Gives the connection back, and undoes what was not committed."""
        connection, self._connection = self._connection, None
        try:
            while self._undo:
                self._undo.pop()()
        finally:
            if connection is not None:
                connection.close()
