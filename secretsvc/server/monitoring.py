"""What the operations listener tells of a running server: alive, ready, and its figures."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from secretsvc.kernel.crypto import KeyRing
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.memory import anonymous_memory_bytes
from secretsvc.server.operations_listener import Answer, OperationsListener, document
from secretsvc.server.periodic_check import STOP_SECONDS, PeriodicCheck
from secretsvc.server.readiness import NO_DATABASE, Readiness, access_keys_age
from secretsvc.server.start_line import address_of, log_start
from secretsvc.web.request import ServiceRegistry

#: The loop turns once a second; one that has not for so long hangs.
DEAD_SECONDS = 30.0
KEYS_PAUSE = 1.0


class Monitor:
    """The threads beside those that serve; `server` is a `Server` whose application has a registry.

    Without an address there are only the ones that fetch the issuers' keys before they are needed, seal the
    audit log, and remove writes that nobody can send again.
    """

    def __init__(self, server: Any, registry: ServiceRegistry, address: str | None) -> None:
        """Raises OSError where the address cannot be bound."""
        self._server, self._registry = server, registry
        sealer, sweeper = registry.audit_sealer, registry.write_sweeper
        self._looks: tuple[PeriodicCheck[Any], ...] = (
            PeriodicCheck(
                "access keys", lambda: registry.authenticator.prepare_keys(), None, pause=KEYS_PAUSE
            ),
            PeriodicCheck("audit sealing", sealer.step, 0, pause=sealer.pause_after),
            PeriodicCheck("writes with a key", sweeper.step, 0, pause=sweeper.pause_after),
        )
        self.readiness = Readiness(registry, lambda: server.is_stopping)
        self.listener: OperationsListener | None = None
        if address is not None:
            pages = {"/live": self._live, "/ready": self._ready, "/metrics": self._metrics}
            self.listener = OperationsListener(address, pages)
        self._start_line: threading.Thread | None = None

    def start(self) -> None:
        """Begins to look, and to answer."""
        listening = [address_of(one.socket) for one in self._server.listeners]
        operations = None if self.listener is None else address_of(self.listener.socket)
        # A thread, because a silent database must not keep the start waiting.
        arguments = (self._registry, listening, operations)
        self._start_line = threading.Thread(target=log_start, args=arguments, name="start-line", daemon=True)
        self._start_line.start()
        for look in self._looks:
            look.start()
        if self.listener is not None:
            ProcessCollector(registry=self._registry.metrics.collectors)
            self._registry.metrics.collectors.register(self)
            self.readiness.start()
            self.listener.start()

    def stop(self) -> None:
        """Ends all of them."""
        if self._start_line is not None:
            self._start_line.join(STOP_SECONDS)
        for look in self._looks:
            look.stop()
        if self.listener is not None:
            self.readiness.stop()
            self.listener.close()

    def _live(self) -> Answer:
        alive = time.monotonic() - self._server.alive_at < DEAD_SECONDS
        return document(200 if alive else 503, {"live": alive})

    def _ready(self) -> Answer:
        reasons, degraded = self.readiness.state_now()
        members: dict[str, object] = {"ready": not reasons, "reasons": reasons, "degraded": degraded}
        if NO_DATABASE in reasons:
            seconds = self.readiness.seconds_without_database
            members["hint"] = f"The database has not answered for {seconds:.1f} s."
        return document(503 if reasons else 200, members)

    def _metrics(self) -> Answer:
        return 200, CONTENT_TYPE_LATEST, generate_latest(self._registry.metrics.collectors)

    def collect(self) -> Iterator[Metric]:
        """The figures of this moment (prometheus-client)."""
        yield from self._of_connections()
        yield from self._of_the_rest()

    def _of_connections(self) -> Iterator[Metric]:
        traffic, dispatcher = self._server.traffic, self._server.task_dispatcher
        gauges = {
            "connections": ("Open connections of clients.", len(traffic)),
            "plaintext_bytes": (
                "Bytes of values that are held until their answers have left.",
                self._registry.plaintext_budget.held,
            ),
            "request_bytes": ("Bytes of requests that are held.", traffic.request_bytes),
            "answer_bytes": ("Bytes of answers that clients have not taken yet.", traffic.answer_bytes),
            "requests_waiting": ("Whole requests that no thread has taken yet.", len(dispatcher.queue)),
            "threads_busy": ("Threads that serve a request.", dispatcher.active_count),
        }
        for name, (help_, value) in gauges.items():
            yield GaugeMetricFamily(f"secretsvc_{name}", help_, value=value)
        dropped = CounterMetricFamily(
            "secretsvc_connections_dropped", "Connections that were dropped or refused.", labels=["reason"]
        )
        for reason, count in traffic.dropped.copy().items():
            dropped.add_metric([reason], count)
        yield dropped

    def _of_the_rest(self) -> Iterator[Metric]:
        refused = CounterMetricFamily(
            "secretsvc_refusals", "Requests that were refused.", labels=["what", "reason"]
        )
        for reason, count in self._registry.refusals.totals().items():
            refused.add_metric(list(reason.value), count)
        yield refused
        yield CounterMetricFamily(
            "secretsvc_sealing_failures",
            "Steps that failed to seal the audit log.",
            value=self._registry.audit_sealer.failures,
        )
        # A malformed setting must not take the other figures away.
        with suppress(ServerMisconfigured):
            yield _of_the_pool(self._registry.database.engine.pool)
        with suppress(ServerMisconfigured):
            yield GaugeMetricFamily(
                "secretsvc_plaintext_max_bytes",
                "PLAINTEXT_MAX_BYTES.",
                value=self._registry.service_settings.plaintext_max_bytes,
            )
        with suppress(ServerMisconfigured):
            yield _of_the_keys(self._registry.load_ring())
        reasons, degraded = self.readiness.state
        yield GaugeMetricFamily("secretsvc_ready", "Whether it is ready.", value=not reasons)
        amiss = GaugeMetricFamily("secretsvc_amiss", "What /ready names.", labels=["reason"])
        for named in (*reasons, *degraded):
            amiss.add_metric([named], 1)
        yield amiss
        yield from self._as_far_as_known()

    def _as_far_as_known(self) -> Iterator[Metric]:
        """What the last look found out, as far as it did, and what this system tells."""
        known = {
            "memory_bytes": (
                "Memory of the process, without the files that it maps.",
                anonymous_memory_bytes(),
            ),
            "access_keys_age_seconds": (
                "Since the access proxy's keys were seen at their source.",
                access_keys_age(self._registry),
            ),
            "envelopes_under_old_keys": (
                "Envelopes that are not under the active master key.",
                self.readiness.envelopes_under_old_keys,
            ),
            "audit_waiting_seconds": (
                "Since the oldest audit record was made that is not sealed.",
                self.readiness.audit_waiting_seconds,
            ),
        }
        for name, (help_, value) in known.items():
            if value is not None:
                yield GaugeMetricFamily(f"secretsvc_{name}", help_, value=value)


def _of_the_keys(ring: KeyRing) -> Metric:
    # A kid identifies a key and reveals nothing of it.
    keys = GaugeMetricFamily(
        "secretsvc_master_key", "The master keys of this process.", labels=["kid", "state"]
    )
    for kid in ring.kids:
        keys.add_metric([kid, "active" if kid == ring.active_kid else "opens only"], 1)
    return keys


def _of_the_pool(pool: Any) -> Metric:
    connections = GaugeMetricFamily(
        "secretsvc_database_connections", "Connections to the database.", labels=["state"]
    )
    connections.add_metric(["in use"], pool.checkedout())
    connections.add_metric(["idle"], pool.checkedin())
    return connections
