"""The one line of the log that says what has started, where it listens, and what it stands on."""

from __future__ import annotations

import logging
import socket
from contextlib import suppress

from sqlalchemy.engine import make_url

from secretsvc.db.engine import read_once
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.near_names import near_variables
from secretsvc.kernel.release import VERSION
from secretsvc.server.readiness import schema_revisions
from secretsvc.web.request import ServiceRegistry

log = logging.getLogger(__name__)

NONE, UNKNOWN = "none", "unknown"


def log_start(registry: ServiceRegistry, listening: list[str], operations: str | None) -> None:
    """Log the start line. It asks the database for its schema, which may take as long as for a request."""
    settings = registry.service_settings
    log.info(
        "started: secretsvc %s, schema %s, master key %s, listening on %s, operations on %s, database %s,"
        " unknown variables: %s",
        VERSION,
        _schema(registry),
        _active_kid(registry),
        " ".join(listening),
        operations or NONE,
        _engine(registry),
        " ".join(variable for variable, _ in near_variables(settings)) or NONE,
    )


def address_of(listener: socket.socket) -> str:
    """Return where a socket listens, as settings name it: `host:port` or `unix:/path`."""
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"unix:{name}"
    host, port = name[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def engine_text(url: str) -> str:
    """Return the kind of a database, its name and its host, without user, password and parameters."""
    parts = make_url(url)
    hosts = parts.host or parts.query.get("host", "")
    host = " ".join(_after_at(one) for one in ((hosts,) if isinstance(hosts, str) else hosts))
    port = "" if parts.port is None else f":{parts.port}"
    where = f" at {host}{port}" if host else ""
    return f"{parts.get_backend_name()} {_after_at(parts.database or 'in memory')}{where}"


def _after_at(text: str) -> str:
    # The end of a password with an @ that is not escaped stands before the last one.
    return text.rpartition("@")[2]


def _schema(registry: ServiceRegistry) -> str:
    try:
        with read_once(registry.database.engine) as connection:
            return " ".join(sorted(schema_revisions(connection))) or NONE
    except Exception as error:
        # The text of a database's error may hold what nobody should read here.
        log.debug("the schema is unknown: %s", type(error).__qualname__)
        return UNKNOWN


def _active_kid(registry: ServiceRegistry) -> str:
    with suppress(ServerMisconfigured):
        return registry.load_ring().active_kid
    return NONE


def _engine(registry: ServiceRegistry) -> str:
    with suppress(ServerMisconfigured):
        return engine_text(registry.service_settings.database_url)
    return NONE
