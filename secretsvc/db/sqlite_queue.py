"""The turn of requests to an SQLite database: one after the other, unless one of them takes long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

#: How long a request may have the turn before the next one no longer waits for it.
MAX_WAIT_SECONDS = 0.05


class SqliteQueue:
    """What a request takes before its connection. It keeps nothing apart that has to be: `WriteLock` does.

    A connection to SQLite forgets the pages that it has read once another one has written, and each read
    leaves a record: requests that take the same connection in turn do without reading them anew. The driver
    lets go of the interpreter at each row, and threads that take it from each other do less than threads
    that wait. Whoever has the turn for long is left to it, and the others have another one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since = 0.0

    def take(self) -> Callable[[], None]:
        """Waits for it; what gives it back."""
        while True:
            lock = self._lock
            if lock.acquire(timeout=MAX_WAIT_SECONDS):
                if lock is self._lock:
                    self._since = time.monotonic()
                    return lock.release
                lock.release()
            elif lock is self._lock and time.monotonic() - self._since > MAX_WAIT_SECONDS:
                self._lock = threading.Lock()
