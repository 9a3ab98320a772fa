"""How much of a request's time its database took.

What counts is the time in the driver: taking a connection, waiting for the lock of the writers, statements,
COMMIT. Rows that SQLite finds only while SQLAlchemy fetches them are not in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter


class Stopwatch:
    """The time that a database has taken so far, in seconds."""

    __slots__ = ("_is_running", "_since", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self._is_running = False
        self._since: float | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Counts the time until the end of the context, once where contexts lie within each other."""
        if self._is_running:
            yield
            return
        self._is_running, self._since = True, None
        began = perf_counter()
        try:
            yield
        finally:
            self.seconds += perf_counter() - began
            self._is_running = False

    def start(self) -> None:
        """Counts from now to the next `stop`."""
        if not self._is_running:
            self._since = perf_counter()

    def stop(self) -> None:
        """Ends what `start` began."""
        if self._since is not None:
            self.seconds += perf_counter() - self._since
            self._since = None


_CURRENT = ContextVar[Stopwatch | None]("secretsvc_stopwatch", default=None)


@contextmanager
def measured() -> Iterator[Stopwatch]:
    """A stopwatch for what this thread does in the context."""
    watch = Stopwatch()
    token = _CURRENT.set(watch)
    try:
        yield watch
    finally:
        _CURRENT.reset(token)


@contextmanager
def waiting() -> Iterator[None]:
    """The database works in this context, on behalf of whatever is measured."""
    watch = _CURRENT.get()
    if watch is None:
        yield
        return
    with watch.running():
        yield


def statement_begins(*_statement: object) -> None:
    """Listener of SQLAlchemy's, for statements that it executes by itself."""
    watch = _CURRENT.get()
    if watch is not None:
        watch.start()


def statement_ends(*_outcome: object) -> None:
    """Listener of SQLAlchemy's, for the end of those and for their failures."""
    watch = _CURRENT.get()
    if watch is not None:
        watch.stop()
