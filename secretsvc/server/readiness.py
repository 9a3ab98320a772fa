"""Whether the process is ready for requests, and why not (contract 8.3)."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import DBAPIError

from secretsvc.db.engine import read_once
from secretsvc.db.schema import recorded
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.server.periodic_check import PeriodicCheck
from secretsvc.web.request import ServiceRegistry

log = logging.getLogger(__name__)

DRAINING = "draining"
NO_DATABASE = "database_unavailable"
SCHEMA = "schema_not_served"
KEY = "key_not_adopted"
NO_ACCESS_KEYS = "access_keys_never_seen"
READ_ONLY = "database_read_only"
NO_RATE_LIMIT = "rate_limit_storage_unavailable"
STALE_ACCESS_KEYS = "access_keys_stale"
NO_SEALING = "audit_settings_malformed"
SETTINGS = "settings"
SOME_SETTINGS = "settings_malformed"
NO_ADMINS = "no_admins"

#: Settings that every request needs, in addition to those that the authenticator reads.
EVERY_REQUEST = frozenset(
    {
        "database_url",
        "database_pool_size",
        "database_timeout",
        "trusted_proxies",
        "bootstrap_admins",
        "last_seen_resolution",
        "body_max_bytes",
    }
)
#: Settings whose faults have a reason of their own (`KEY`, `NO_SEALING`), or stop the start.
WITH_OWN_CAUSE = frozenset(
    {"key_provider", "audit_seal_seconds", "audit_origin", "operations_listen", "drain_seconds"}
)

#: The set of keys is refreshed every 5 minutes; older than this, the source has failed at least once.
STALE_SECONDS = 360.0
#: Seconds that the database has for the answer to a statement; after that it is unavailable.
DATABASE_LIMIT = 1.0
ENVELOPES_PAUSE = 60.0
WAITING_PAUSE = 10.0


class ReadinessState(NamedTuple):
    """Why the process is not ready, and lesser problems; both can be empty."""

    reasons: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()


class Readiness:
    """Check everything that can make the process unready; `stopping` returns whether the process stops."""

    def __init__(self, registry: ServiceRegistry, stopping: Callable[[], bool]) -> None:
        self._registry, self._stopping = registry, stopping
        # Builds the authenticator's parts here, before several threads could each build them.
        settings_state(registry)
        self._database = PeriodicCheck(
            "database", self._check_database, ReadinessState((NO_DATABASE,)), limit=DATABASE_LIMIT
        )
        self._counting = PeriodicCheck("rate limit", registry.authenticator.is_counting, False)
        self._envelopes: PeriodicCheck[int | None] = PeriodicCheck(
            "envelopes",
            lambda: envelopes_under_old_keys(registry),
            None,
            pause=ENVELOPES_PAUSE,
            limit=30.0,
        )
        self._waiting: PeriodicCheck[float | None] = PeriodicCheck(
            "audit log", lambda: audit_waiting(registry), None, pause=WAITING_PAUSE
        )
        self._checks: tuple[PeriodicCheck[Any], ...] = (
            self._database,
            self._counting,
            self._envelopes,
            self._waiting,
        )

    def start(self) -> None:
        """Start the checks."""
        for check in self._checks:
            check.start()

    def stop(self) -> None:
        """Stop the checks, and close the connection of the database's."""
        for check in self._checks:
            check.stop()
        with suppress(ServerMisconfigured):
            self._engine.dispose()

    @property
    def state(self) -> ReadinessState:
        """The state by the last checks. Never waits."""
        return self._state_with(self._database.result)

    def state_now(self) -> ReadinessState:
        """The state by a check of the database that begins now (`PeriodicCheck.check_now`)."""
        return self._state_with(self._database.check_now())

    @property
    def seconds_without_database(self) -> float:
        """Seconds since the last check that the database answered."""
        return self._database.seconds_since_success

    @cached_property
    def _engine(self) -> Engine:
        # A statement that is not answered within the limit raises, which ends the check.
        engine: Engine = self._registry.database.engine_to_watch_by(DATABASE_LIMIT)
        event.listen(engine, "after_cursor_execute", lambda *_: self._database.report_progress())
        return engine

    def _check_database(self) -> ReadinessState:
        with read_once(self._engine) as connection:
            state = database_state(self._registry, connection)
            if READ_ONLY in state.degraded and connection.dialect.name == "postgresql":
                # A session keeps the default that it began with: only a new one shows that this has ended.
                connection.invalidate()
            return state

    def _state_with(self, database: ReadinessState) -> ReadinessState:
        states = [ReadinessState((DRAINING,))] if self._stopping() else []
        settings = settings_state(self._registry)
        states += [settings, database, access_keys_state(access_keys_age(self._registry))]
        if not (self._counting.result or settings.reasons):
            states.append(ReadinessState((), (NO_RATE_LIMIT,)))
        states.append(sealing_state(self._registry))
        return ReadinessState(
            tuple(reason for state in states for reason in state.reasons),
            tuple(reason for state in states for reason in state.degraded),
        )

    @property
    def envelopes_under_old_keys(self) -> int | None:
        """The result of the last check; None if that failed."""
        return self._envelopes.result

    @property
    def audit_waiting_seconds(self) -> float | None:
        """The result of the last check; None if that failed."""
        return self._waiting.result


def key_may_seal(registry: ServiceRegistry, connection: Connection) -> bool:
    """Whether the active master key is in use, or would be by its first envelope."""
    try:
        registry.load_ring()
    except ServerMisconfigured:
        return False
    found: bool = registry.key_verdict(connection)
    return found


def schema_revisions(connection: Connection) -> Sequence[str]:
    """Return the revisions that the schema is at: of our tables, and of each plugin's."""
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()


def database_state(registry: ServiceRegistry, connection: Connection) -> ReadinessState:
    """Return the state by what the database answers. Raises the driver's errors."""
    connection.execute(text("SELECT 1"))
    found_release = recorded(connection)
    degraded = (READ_ONLY,) if _is_read_only(connection) else ()
    try:
        found = schema_revisions(connection)
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        found = ()
    if not registry.models.is_served(found, found_release):
        return ReadinessState((SCHEMA,), degraded)
    reasons = () if key_may_seal(registry, connection) else (KEY,)
    return ReadinessState((*reasons, *_admins_reasons(registry, connection)), degraded)


def _admins_reasons(registry: ServiceRegistry, connection: Connection) -> tuple[str, ...]:
    try:
        named = registry.service_settings.bootstrap_admins
    except ServerMisconfigured:
        return ()  # `SETTINGS` reports it
    return () if named or registry.admin_exists(connection, now_ms()) else (NO_ADMINS,)


def _is_read_only(connection: Connection) -> bool:
    if connection.dialect.name == "sqlite":
        path = connection.engine.url.database
        return bool(path) and not os.access(str(path), os.W_OK)
    return bool(
        connection.execute(text("SELECT current_setting('transaction_read_only')::bool")).scalar_one()
    )


def envelopes_under_old_keys(registry: ServiceRegistry) -> int:
    """Count the envelopes that name another key than the active one."""
    # Two ranges of the index; "not equal" would read the whole table.
    statement = text("SELECT count(*) FROM secret_version WHERE kid < :kid OR kid > :kid")
    with read_once(registry.database.engine) as connection:
        found: int = connection.execute(statement, {"kid": registry.load_ring().active_kid}).scalar_one()
    return found


def audit_waiting(registry: ServiceRegistry) -> float:
    """For how many seconds the oldest record that is not sealed has waited; 0 where there is none."""
    statement = text(
        "SELECT created_at FROM audit_record"
        " WHERE id = (SELECT record_id FROM audit_unsealed ORDER BY record_id LIMIT 1)"
    )
    with read_once(registry.database.engine) as connection:
        made: int | None = connection.execute(statement).scalar()
    return 0.0 if made is None else max(0.0, (now_ms() - made) / 1000)


def access_keys_age(registry: ServiceRegistry) -> float | None:
    """Seconds since the access proxy's keys were last seen at their source; None if never."""
    try:
        age: float | None = registry.authenticator.keys.age
    except ServerMisconfigured:
        return None
    return age


def access_keys_state(age: float | None) -> ReadinessState:
    """Return the state by the age of the access proxy's keys, in seconds."""
    if age is None:
        return ReadinessState((NO_ACCESS_KEYS,))
    return ReadinessState((), (STALE_ACCESS_KEYS,) if age > STALE_SECONDS else ())


def sealing_state(registry: ServiceRegistry) -> ReadinessState:
    """Degraded while a malformed setting stops the sealing of the audit log (contract 17.7)."""
    try:
        registry.service_settings.require_sealing()
    except ServerMisconfigured:
        return ReadinessState((), (NO_SEALING,))
    return ReadinessState()


def settings_state(registry: ServiceRegistry) -> ReadinessState:
    """Not ready while malformed settings fail every request, degraded while some fail (contract 17.7)."""
    bad = registry.service_settings.report() - WITH_OWN_CAUSE
    try:
        registry.authenticator.require_settings()
        if bad & EVERY_REQUEST:
            return ReadinessState((SETTINGS,))
        every = not bad and registry.authenticator.has_every_issuer
    except Exception as error:
        # The library of a rate limit's storage can raise anything, with a password in the text.
        log.debug("settings: %s", type(error).__qualname__)
        return ReadinessState((SETTINGS,))
    return ReadinessState() if every else ReadinessState((), (SOME_SETTINGS,))
