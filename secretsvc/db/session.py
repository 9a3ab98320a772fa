"""The main transaction of a request: pyramid_tm decides its end, zope.sqlalchemy carries it out."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session
from zope.sqlalchemy import mark_changed

from secretsvc.db.engine import READ, SNAPSHOT, WRITE, make_engine
from secretsvc.kernel.settings import Settings


class Database:
    """The engine of the configured database, made at its first use."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def engine(self) -> Engine:
        """Raises `ServerMisconfigured` where the URL is missing or malformed."""
        return make_engine(self._settings.database_url)

    def join(self, manager: Any, *, writes: bool, snapshot: bool) -> Connection:
        """A connection whose transaction ends with that of the transaction manager.

        With `snapshot` all that it reads is of one moment, so that an export's values are those of its
        revision.
        """
        session = Session(self.engine)
        # Core statements do not pass the session's own bookkeeping: unmarked, they would be rolled back.
        mark_changed(session, manager)
        mode = WRITE if writes else READ
        if snapshot:
            mode = mode | SNAPSHOT[self.engine.name]
        return session.connection(execution_options=mode)
