"""What a failure of the database means to whoever asked (contract 8.1)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, TimeoutError

from secretsvc.kernel.errors import Internal, SecretsvcError, Unavailable

RETRY_SECONDS = 1
AWAY = "The database is not available at the moment."
UNKNOWN_OUTCOME = (
    "Whether it was done is not known. Read what it was to change, or send it again with the same"
    " Idempotency-Key where it had one."
)
#: SQLSTATEs of a server that cannot be had: no connection, too many of them, read-only, shutting down,
#: starting up, and a lock that was not free in time.
_AWAY = frozenset({"25006", "53300", "55P03", "57P01", "57P02", "57P03"})
_CONNECTION = "08"
#: Those of a connection that never gets well, though it answers.
_ENDING = frozenset({"25006", "57P01", "57P02", "57P03"})
_SQLITE_AWAY = ("SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_LOCKED", "SQLITE_READONLY")


class WriteLockTimeout(Exception):
    """The lock of an SQLite file's writers was not free in time."""


def answer_to(error: BaseException) -> SecretsvcError | None:
    """The error of the table for a database that could not be had, None for any other trouble."""
    is_away = isinstance(error, (TimeoutError, WriteLockTimeout)) or (
        isinstance(error, DBAPIError) and _is_away(error)
    )
    return Unavailable(RETRY_SECONDS, AWAY) if is_away else None


@contextmanager
def committing(*, writes: bool) -> Iterator[None]:
    """Where COMMIT is sent. Raises `Internal` where the answer to one that `writes` was lost."""
    try:
        yield
    except DBAPIError as error:
        if writes and error.connection_invalidated:
            raise Internal(hint=UNKNOWN_OUTCOME) from error
        raise


def end_what_stays_ill(context: ExceptionContext) -> None:
    """Listener: lets the pool go of connections that were made while the server only read, or as it went."""
    if getattr(context.original_exception, "sqlstate", None) in _ENDING:
        context.is_disconnect = True


def _is_away(error: DBAPIError) -> bool:
    state: str | None = getattr(error.orig, "sqlstate", None)
    if state is not None:
        return state in _AWAY or state.startswith(_CONNECTION)
    name: str | None = getattr(error.orig, "sqlite_errorname", None)
    if name is not None:
        return name.startswith(_SQLITE_AWAY)
    # psycopg gives no SQLSTATE where there is no connection, or none any more.
    return isinstance(error, (InterfaceError, OperationalError)) and type(error.orig).__module__.startswith(
        "psycopg"
    )
