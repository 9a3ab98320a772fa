"""A request's connection: pyramid_tm decides how its transaction ends, zope.sqlalchemy carries it out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Engine
from zope.sqlalchemy import mark_changed

from secretsvc.db.engine import DEFERRED, Mode, acquire_write_lock, connect, for_mode, make_engine, mode_of
from secretsvc.db.fast.prepared import Prepared
from secretsvc.kernel.settings import Settings
from secretsvc.kernel.stopwatch import waiting


class Database:
    """The engine of the configured database, made at its first use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def engine(self) -> Engine:
        """Raises `ServerMisconfigured` where the URL is missing or malformed."""
        return make_engine(self._settings.database_url)

    def session(self, manager: Any) -> Session:
        """One for a request, whose end that transaction manager decides."""
        return Session(self.engine, manager)


class Session:
    """The one connection of a request, and as much of a session as zope.sqlalchemy needs (decision 0019).

    The snapshot is read over it by itself; the main transaction begins with the next statement.
    """

    twophase = expire_on_commit = False

    def __init__(self, engine: Engine, manager: Any) -> None:
        self.engine, self._manager = engine, manager
        self._connection: Connection | None = None
        self._deferred: list[tuple[Prepared, Mapping[str, Any]]] = []

    def connection(self, mode: Mode) -> Connection:
        """The connection, whose next transaction will be begun in that mode."""
        if self._connection is None:
            self._connection, self._deferred = connect(self.engine), []
            self._connection.info[DEFERRED] = self._deferred
            # zope.sqlalchemy does not see Core statements: unmarked, they would be rolled back.
            mark_changed(self, self._manager)
        return for_mode(self._connection, mode)

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

        Where nothing was begun, a single statement is a transaction by itself.
        """
        if self._connection is not None:
            with waiting():
                self._write_deferred(self._connection)
                self._connection.commit()

    def _write_deferred(self, connection: Connection) -> None:
        if self._deferred and mode_of(connection) is Mode.AUTOCOMMIT:
            if len(self._deferred) == 1:
                acquire_write_lock(connection)
            else:
                for_mode(connection, Mode.WRITE)
        for prepared, parameters in self._deferred:
            prepared.run(connection, parameters)

    def close(self) -> None:
        """Gives the connection back, and undoes what was not committed."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
