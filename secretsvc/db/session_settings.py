"""What a new connection to PostgreSQL is told, and whether a pooler stands in between (decision 0035)."""

from __future__ import annotations

from typing import Any

#: The server's own limits of a request, where `options` in the URL names none.
LIMITS = {
    "statement_timeout": "15s",
    "lock_timeout": "10s",
    "idle_in_transaction_session_timeout": "60s",
}
_SET = ", ".join(f"set_config('{name}', '{value}', false)" for name, value in LIMITS.items())


def configure_session(connection: Any, *, with_limits: bool) -> None:
    """Sets the limits of a session, unless each transaction may be of another one.

    Behind such a pooler statements are not prepared either: the next one is another server process's. What
    tells it is that the process which answers is not the one that the connection was promised.
    """
    # Of one statement, because behind a pooler a second one may be another server process's.
    told = _SET if with_limits else "1"
    answer = connection.execute(f"SELECT {told} WHERE pg_backend_pid() = %s", (connection.info.backend_pid,))
    if answer.fetchone() is None:
        connection.prepare_threshold = None
