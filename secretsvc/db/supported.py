"""Which PostgreSQL servers and databases the service works with (contract 17.8)."""

from __future__ import annotations

import logging
from typing import Any

from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.log_throttle import LogThrottle

log = logging.getLogger(__name__)

#: The oldest major version of PostgreSQL.
OLDEST = 14
#: The only encoding that has every character of names, descriptions and reasons.
ENCODING = "UTF8"

_reports = LogThrottle()


class UnsupportedDatabaseError(ServerMisconfigured):
    """A database that the service refuses; `reason` is one line without a value of a setting."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


def require_supported(connection: Any) -> None:
    """Pass if a new connection of psycopg is to a database that the service works with.

    Both facts come with the connection: there is no round trip. Raises `UnsupportedDatabaseError`.
    """
    info = connection.info
    reason = unsupported(info.server_version, info.parameter_status("server_encoding"))
    if reason is not None:
        connection.close()
        if _reports.passes(reason) is not None:
            log.error(reason)
        raise UnsupportedDatabaseError(reason)


def unsupported(version: int, encoding: str | None) -> str | None:
    """Return why a server or a database is refused; an encoding that a pooler keeps back is accepted.

    `version` is in libpq's form, such as 140011 for 14.11.
    """
    if version < OLDEST * 10_000:
        return f"PostgreSQL {version // 10_000} is not supported: use PostgreSQL {OLDEST} or later"
    if encoding not in (None, ENCODING):
        return f"the database has the encoding {encoding}: move it into one with the encoding {ENCODING}"
    return None
