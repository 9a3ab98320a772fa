"""What a failure of the database means to whoever asked (contract 8.1)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, TimeoutError

from secretsvc.kernel.errors import Internal, SecretsvcError, ServerMisconfigured, Unavailable

RETRY_SECONDS = 1
AWAY = "The database is not available at the moment."
UNKNOWN_OUTCOME = (
    "Whether it was done is not known. Read what it was to change, or send it again with the same"
    " Idempotency-Key where it had one."
)
#: SQLSTATEs of a server that cannot be had: it only reads, has ended an idle transaction, has no room on its
#: disk, too many connections, a lock that was not free in time, has ended a statement that took too long, or
#: is shutting down or starting up.
_READ_ONLY, _CONNECTION = "25006", "08"
_AWAY = frozenset({_READ_ONLY, "25P03", "53100", "53300", "55P03", "57014", "57P01", "57P02", "57P03"})
#: Those of a connection that never gets well, though it answers.
_ENDING = frozenset({_READ_ONLY, "57P01", "57P02", "57P03"})
#: Those of a table or a column that is not there: it was not migrated, or by another release.
_UNKNOWN = frozenset({"42P01", "42703"})
_SQLITE_UNKNOWN = ("no such table", "no such column")
_SQLITE_AWAY = ("SQLITE_BUSY", "SQLITE_FULL", "SQLITE_LOCKED", "SQLITE_READONLY")


class WriteLockTimeout(Exception):
    """The lock of an SQLite file's writers was not free in time."""


def map_error(error: BaseException) -> SecretsvcError | None:
    """The error of the table for a database that could not be had, or whose schema is another's.

    None for any other trouble.
    """
    if isinstance(error, DBAPIError) and _is_of_another_schema(error):
        return ServerMisconfigured()
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
        state = _sqlstate(error.orig)
        is_lost = error.connection_invalidated or state.startswith(_CONNECTION)
        if writes and is_lost and state != _READ_ONLY:
            raise Internal(hint=UNKNOWN_OUTCOME) from error
        raise


def invalidate_broken_connection(context: ExceptionContext) -> None:
    """Listener: lets the pool go of connections that were made while the server only read, or as it went."""
    if _sqlstate(context.original_exception) in _ENDING:
        context.is_disconnect = True


def _sqlstate(error: BaseException | None) -> str:
    """Empty where there is none: SQLite has none, nor has a connection that is gone."""
    return getattr(error, "sqlstate", None) or ""


def _is_of_another_schema(error: DBAPIError) -> bool:
    # SQLite has one code for whatever is wrong with a statement.
    return _sqlstate(error.orig) in _UNKNOWN or str(error.orig).startswith(_SQLITE_UNKNOWN)


def _is_away(error: DBAPIError) -> bool:
    state = _sqlstate(error.orig)
    if state:
        return state in _AWAY or state.startswith(_CONNECTION)
    name: str | None = getattr(error.orig, "sqlite_errorname", None)
    if name is not None:
        return name.startswith(_SQLITE_AWAY)
    # psycopg gives no SQLSTATE where there is no connection, or none any more.
    return isinstance(error, (InterfaceError, OperationalError)) and isinstance(error.orig, psycopg.Error)
