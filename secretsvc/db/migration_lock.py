"""One migration of a database at a time, whichever process runs it and by which command."""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from sqlalchemy import Engine, text

from secretsvc.db.engine import set_mode
from secretsvc.db.sqlite_files import MIGRATING, file_of, open_private
from secretsvc.kernel.transaction_mode import Mode

log = logging.getLogger(__name__)

RETRY_INTERVAL_SECONDS = 0.1
_TRY = text("SELECT pg_try_advisory_xact_lock(4872160839551207733)")


@contextmanager
def migration_lock(engine: Engine) -> Iterator[None]:
    """Waits until no other migrates this database, for as long as that takes, and keeps others out.

    A process that dies lets the next one in. Raises `OSError` where a lock file cannot be made beside an
    SQLite database, and `sqlalchemy.exc.OperationalError` where there is no database to ask.
    """
    with ExitStack() as stack:
        take = _by_file(engine, stack) if engine.name == "sqlite" else _by_transaction(engine, stack)
        if not take():
            log.warning("another migration of this database is under way: waiting for its end")
            # Asked again and again: a statement that waits would hold a snapshot, for which the building of
            # an index beside the service (CREATE INDEX CONCURRENTLY) waits in turn.
            while not take():
                time.sleep(RETRY_INTERVAL_SECONDS)
        yield


def _by_transaction(engine: Engine, stack: ExitStack) -> Callable[[], bool]:
    """By a lock of a transaction beside the migration's own: one of a session is none behind a pooler."""
    connection = set_mode(stack.enter_context(engine.connect()), Mode.READ)

    def take() -> bool:
        # It waits at the side until the migration is over, however long that takes.
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))
        taken = bool(connection.execute(_TRY).scalar_one())
        if not taken:
            connection.rollback()
        return taken

    return take


def _by_file(engine: Engine, stack: ExitStack) -> Callable[[], bool]:
    path = file_of(engine.url)
    if path is None:
        return lambda: True
    file = open_private(f"{path}{MIGRATING}")
    stack.callback(os.close, file)

    def take() -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    return take
