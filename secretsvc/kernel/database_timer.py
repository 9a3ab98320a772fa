"""How much of a request's time its database took.

What counts is the time in the driver: taking a connection, waiting for the lock of the writers, statements,
COMMIT. Rows that SQLite finds only while SQLAlchemy fetches them are not in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from time import perf_counter


class DatabaseTimer:
    """The time that a database has taken so far, in seconds; it runs in its context.

    Where contexts lie within each other it counts once.
    """

    __slots__ = ("_depth", "_since", "seconds")

    def __init__(self) -> None:
        self.seconds = self._since = 0.0
        self._depth = 0

    def __enter__(self) -> None:
        if not self._depth:
            self._since = perf_counter()
        self._depth += 1

    def __exit__(self, *_error: object) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += perf_counter() - self._since


_CURRENT = ContextVar[DatabaseTimer | None]("secretsvc_stopwatch", default=None)
_UNMEASURED = nullcontext()


@contextmanager
def time_database() -> Iterator[DatabaseTimer]:
    """A stopwatch for what this thread does in the context."""
    watch = DatabaseTimer()
    token = _CURRENT.set(watch)
    try:
        yield watch
    finally:
        _CURRENT.reset(token)


def database_time() -> AbstractContextManager[None]:
    """The database works in this context, on behalf of whatever is measured."""
    return _CURRENT.get() or _UNMEASURED
