"""Log entries of failed requests: a cause in constant words, and a rate-limited traceback.

The text of an exception is never quoted: a database's holds the values of its statement.
"""

from __future__ import annotations

import logging
import re
import traceback
from pathlib import Path
from typing import NamedTuple

from pyramid.request import Request

from secretsvc.kernel.errors import DecryptFailed, Internal, SecretsvcError, Unavailable, UnknownKid

log = logging.getLogger(__name__)

PACKAGE = Path(__file__).parent.parent
ROOT = PACKAGE.parent
_KID = re.compile(r"[0-9a-f]{16}")

#: Causes by a phrase of the driver's message; the server's own messages are in its language.
CONNECTION_CAUSES = {
    'database "" does not exist': "unknown database",
    'role "" does not exist': "unknown role",
    "connection refused": "connection refused",
    "password": "password",
    "authentication": "authentication",
    "pg_hba.conf": "not allowed by pg_hba.conf",
    "timeout": "timeout",
    "timed out": "timeout",
    "translate host name": "unknown host",
    "resolve host": "unknown host",
    "not known": "unknown host",
    "ssl connection has been closed": "connection lost",
    "ssl syscall error": "connection lost",
    "certificate": "TLS",
    "sslmode": "TLS",
    "no such file": "no such socket",
    "too many": "too many connections",
    "remaining connection slots": "too many connections",
    "starting up": "starting up",
    "shutting down": "shutting down",
    "closed the connection": "connection lost",
    "connection is": "connection lost",
    "terminating connection": "connection lost",
    "startup parameter": "startup parameter",
    "ssl": "TLS",
}
_OF_CONNECTIONS = frozenset({"OperationalError", "InterfaceError"})
_QUOTED = re.compile('"[^"]*"')
#: Causes by SQLSTATE of PostgreSQL, or by its first characters.
SQLSTATE_CAUSES = {
    "08": "connection lost",
    "23": "constraint",
    "25006": "read-only",
    "28": "authentication",
    "28P01": "password",
    "3D000": "unknown database",
    "40001": "serialization failure",
    "40P01": "deadlock",
    "42501": "insufficient privilege",
    "42P01": "unknown table",
    "53100": "disk full",
    "53300": "too many connections",
    "55P03": "lock timeout",
    "57014": "statement timeout",
    "57P01": "shutting down",
    "57P02": "shutting down",
    "57P03": "starting up",
}
#: SQLAlchemy's own mark of a pool that had no connection in time.
_POOL_EXHAUSTED = "3o7r"
NO_CONNECTION = "no connection in time"


class Failure(NamedTuple):
    """Why a request failed: the error's code, and of an unexpected one its cause, and the file and line."""

    code: str
    cause: str | None = None
    location: str | None = None


def expected_failure(error: SecretsvcError, origin: BaseException | None = None) -> Failure:
    """Describe an error of the table.

    The cause is the key's id for an envelope that cannot be opened, and that of the `origin` for a database
    that is unavailable.
    """
    if isinstance(error, Unavailable) and origin is not None and origin is not error:
        return Failure(error.code, cause_of(origin))
    kid = error.kid if isinstance(error, (DecryptFailed, UnknownKid)) else None
    return Failure(error.code, f"kid {kid}" if kid and _KID.fullmatch(kid) else None)


def log_unexpected(error: BaseException, request: Request) -> Failure:
    """Describe any other error; log its traceback at most once a minute for each location."""
    cause = error.__cause__ if isinstance(error, Internal) and error.__cause__ else error
    failure = Failure(Internal.code, cause_of(cause), location_of(error))
    before = request.registry.tracebacks.passes(f"{failure.location} {type(error).__qualname__}")
    if before is not None:
        message = f"unexpected {failure.cause} at {failure.location}"
        stack = "".join(traceback.format_tb(error.__traceback__))
        # `held_back` is the former name, beside the new one for one release.
        counts = {"suppressed": before, "held_back": before}
        fields = {"message": message, "request_id": request.request_id, **counts, "traceback": stack}
        values = (message, request.request_id, before, stack)
        log.error("%s, request %s, %d suppressed since the last\n%s", *values, extra={"fields": fields})
    return failure


def cause_of(error: BaseException) -> str:
    """The exception's class and what is known to have led to it, in constant words."""
    name = type(error).__qualname__
    is_pool = getattr(error, "code", None) == _POOL_EXHAUSTED
    detail = NO_CONNECTION if is_pool else _driver_cause(getattr(error, "orig", None) or error)
    return f"{name}: {detail}" if detail else name


def location_of(error: BaseException) -> str:
    """File and line of the innermost frame of this package, or of any where it has none."""
    frames = [
        (Path(frame.f_code.co_filename), line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    ours = [(path.relative_to(ROOT), line) for path, line in frames if path.is_relative_to(PACKAGE)]
    path, line = (ours or [(Path(path.name), line) for path, line in frames] or [(Path("nowhere"), 0)])[-1]
    return f"{path}:{line}"


def _driver_cause(error: BaseException) -> str | None:
    state: str | None = getattr(error, "sqlstate", None)
    if state is not None:
        words = SQLSTATE_CAUSES.get(state) or SQLSTATE_CAUSES.get(state[:2])
        return f"{words} ({state})" if words else state
    name: str | None = getattr(error, "sqlite_errorname", None)
    return name or _connection_cause(error)


def _connection_cause(error: BaseException) -> str | None:
    if _OF_CONNECTIONS.isdisjoint(base.__name__ for base in type(error).__mro__):
        return None
    text = _QUOTED.sub('""', str(error).lower())
    return next((words for phrase, words in CONNECTION_CAUSES.items() if phrase in text), None)
