"""The main transaction of a request: pyramid_tm decides its end, zope.sqlalchemy carries it out."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Engine
from zope.sqlalchemy import mark_changed

from secretsvc.db.engine import Mode, for_mode, make_engine
from secretsvc.kernel.settings import Settings


class Database:
    """The engine of the configured database, made at its first use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def engine(self) -> Engine:
        """Raises `ServerMisconfigured` where the URL is missing or malformed."""
        return make_engine(self._settings.database_url)

    def join(self, manager: Any, mode: Mode) -> Connection:
        """A connection whose transaction begins in that mode and ends as the transaction manager decides."""
        connection = for_mode(self.engine.connect(), mode)
        # Core statements do not pass any bookkeeping: unmarked, they would be rolled back.
        mark_changed(ConnectionSession(connection), manager)
        return connection


class ConnectionSession:
    """As much of a session, and of its transaction, as zope.sqlalchemy needs (decision 0022)."""

    twophase = expire_on_commit = False

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get_transaction(self) -> ConnectionSession:
        """Itself: the connection's transaction begins with the first statement."""
        return self

    def flush(self) -> None:
        """Nothing is left to be executed."""

    def commit(self) -> None:
        """Commits what was begun."""
        self._connection.commit()

    def close(self) -> None:
        """Gives the connection back, and undoes what was not committed."""
        self._connection.close()
