"""The one who seals in a running server: a little at a time, so that no request notices (contract 7.1)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from secretsvc.db.engine import read_once
from secretsvc.db.session import Database
from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.errors import SecretsvcError, ServerMisconfigured
from secretsvc.kernel.log_throttle import LogThrottle
from secretsvc.kernel.settings import Settings
from secretsvc.sealedlog.rules.heads import NotSignedLast, Sealing
from secretsvc.sealedlog.rules.sealing import Bound, is_due, seal_some
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.error_logging import cause_of

log = logging.getLogger(__name__)

#: A step works so long, by the clock of its thread, and the next comes so much later where more waits.
WORK_SECONDS, STEP_SECONDS = 0.02, 0.2
#: So much of the time is aimed at, because a step may take longer than those before it.
AIM = 0.5
#: Of a step's work so much is to read and hash; the rest is to write, which takes about as long.
READING = 0.4
LEAST_RECORDS, BATCH_RECORDS = 8, 1000
#: Of the first step; from one to the next a process dares so many times as many.
FIRST, BOLDER = 32, 1.5
#: Until a setting that is malformed, for which nothing is sealed, is complained of again.
MISCONFIGURED_SECONDS = 60.0


class Sealer:
    """Seals by steps that take `WORK_SECONDS`, as far as those before tell how many records that is."""

    def __init__(self, database: Database, settings: Settings, load_ring: Callable[[], KeyRing]) -> None:
        self._database, self._settings, self._load_ring = database, settings, load_ring
        self._records, self._more = FIRST, False
        self._sealing: Sealing | None = None
        self._complaints = LogThrottle()
        #: How many steps have failed.
        self.failures = 0

    def step(self) -> int:
        """Seals some records, if there are any, and says how many. What goes wrong is logged."""
        try:
            return self._step()
        except Exception as error:
            self.failures += 1
            cause = _cause(error)
            if self._complaints.passes(cause) is not None:
                log.error("the audit log is not being sealed: %s", cause)
            return 0

    def pause_after(self, sealed: int) -> float:
        """Seconds until the next step: a moment where more waits, else half of what a record may wait."""
        if sealed and self._more:
            return STEP_SECONDS
        try:
            return self._settings.audit_seal_seconds / 2
        except ServerMisconfigured:
            return MISCONFIGURED_SECONDS

    def _step(self) -> int:
        self._settings.require_sealing()
        engine = self._database.engine
        with read_once(engine) as connection:
            if not is_due(connection):
                return 0
        bound = Bound(self._records, WORK_SECONDS * READING)
        began = time.thread_time()
        sealed = seal_some(engine, self._with(), bound)
        self._learn(sealed, time.thread_time() - began)
        return sealed

    def _with(self) -> Sealing:
        ring = self._load_ring()
        if self._sealing is None or self._sealing.ring is not ring:
            self._sealing = Sealing(ring, self._settings.audit_origin)
        return self._sealing

    def _learn(self, sealed: int, spent: float) -> None:
        """Has the next step take as many records as there is time for; one that took few tells of no more."""
        room = AIM * WORK_SECONDS / max(spent, 1e-6)
        self._more = sealed >= self._records or spent >= WORK_SECONDS * READING
        if room < 1 or sealed >= self._records:
            self._records = max(LEAST_RECORDS, min(BATCH_RECORDS, int(sealed * min(room, BOLDER))))


def _cause(error: Exception) -> str:
    if isinstance(error, NotSignedLast):
        return str(error)
    return error.code if isinstance(error, SecretsvcError) else cause_of(error)


def includeme(config: ServiceConfigurator) -> None:
    """Puts it on the registry, for the server alone to run: an application by itself seals nothing."""
    registry = config.registry
    registry.audit_sealer = Sealer(registry.database, registry.service_settings, registry.load_ring)
