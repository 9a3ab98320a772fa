"""The checks beside a running server, and the pages of its operations listener."""

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
from secretsvc.server.operations_listener import Answer, OperationsListener, json_answer
from secretsvc.server.periodic_check import STOP_SECONDS, PeriodicCheck
from secretsvc.server.readiness import NO_DATABASE, Readiness, access_keys_age
from secretsvc.server.start_line import address_of, log_start
from secretsvc.web.request import ServiceRegistry

#: The event loop runs at least once a second; after that many seconds without it, it hangs.
DEAD_SECONDS = 30.0
KEYS_PAUSE = 1.0
#: Former names of metrics, which stay beside the new ones for one release; former names of labels.
FORMER_NAMES = {
    "secretsvc_readiness_problem": "secretsvc_amiss",
    "secretsvc_rejected_requests": "secretsvc_refusals",
    "secretsvc_pending_response_bytes": "secretsvc_answer_bytes",
    "secretsvc_buffered_request_bytes": "secretsvc_request_bytes",
    "secretsvc_requests_queued": "secretsvc_requests_waiting",
    "secretsvc_audit_unsealed_age_seconds": "secretsvc_audit_waiting_seconds",
    "secretsvc_envelopes_to_rekey": "secretsvc_envelopes_under_old_keys",
}
FORMER_LABELS = {"kind": "what"}


class Monitor:
    """The threads next to those that serve; `server` is a `Server` whose application has a registry.

    Without an address it only fetches the issuers' keys before they are needed, seals the audit log, and
    removes the answers of writes that are too old to be repeated.
    """

    def __init__(self, server: Any, registry: ServiceRegistry, address: str | None) -> None:
        """Raises OSError where the address cannot be bound."""
        self._server, self._registry = server, registry
        sealer, sweeper = registry.audit_sealer, registry.write_sweeper
        self._checks: tuple[PeriodicCheck[Any], ...] = (
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
        """Start the checks and the listener."""
        listening = [address_of(one.socket) for one in self._server.listeners]
        operations = None if self.listener is None else address_of(self.listener.socket)
        # A thread, because an unresponsive database must not delay the start.
        arguments = (self._registry, listening, operations)
        self._start_line = threading.Thread(target=log_start, args=arguments, name="start-line", daemon=True)
        self._start_line.start()
        for check in self._checks:
            check.start()
        if self.listener is not None:
            ProcessCollector(registry=self._registry.metrics.collectors)
            self._registry.metrics.collectors.register(self)
            self.readiness.start()
            self.listener.start()

    def stop(self) -> None:
        """Stop all of them."""
        if self._start_line is not None:
            self._start_line.join(STOP_SECONDS)
        for check in self._checks:
            check.stop()
        if self.listener is not None:
            self.readiness.stop()
            self.listener.close()

    def _live(self) -> Answer:
        alive = time.monotonic() - self._server.alive_at < DEAD_SECONDS
        return json_answer(200 if alive else 503, {"live": alive})

    def _ready(self) -> Answer:
        reasons, degraded = self.readiness.state_now()
        members: dict[str, object] = {"ready": not reasons, "reasons": reasons, "degraded": degraded}
        if NO_DATABASE in reasons:
            seconds = self.readiness.seconds_without_database
            members["hint"] = f"The database has not answered for {seconds:.1f} s."
        return json_answer(503 if reasons else 200, members)

    def _metrics(self) -> Answer:
        return 200, CONTENT_TYPE_LATEST, generate_latest(self._registry.metrics.collectors)

    def collect(self) -> Iterator[Metric]:
        """Return the current metrics (for prometheus-client), with their former names beside the new ones."""
        for metric in (*self._connection_metrics(), *self._service_metrics()):
            yield metric
            if metric.name in FORMER_NAMES:
                yield _under_former_name(metric)

    def _connection_metrics(self) -> Iterator[Metric]:
        traffic, dispatcher = self._server.traffic, self._server.task_dispatcher
        gauges = {
            "connections": ("Open connections of clients.", len(traffic)),
            "plaintext_bytes": (
                "Bytes of values that are held until their answers have left.",
                self._registry.plaintext_budget.held,
            ),
            "buffered_request_bytes": ("Bytes of requests in memory.", traffic.request_bytes),
            "pending_response_bytes": ("Bytes of responses that are not sent yet.", traffic.answer_bytes),
            "requests_queued": ("Whole requests that wait for a thread.", len(dispatcher.queue)),
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

    def _service_metrics(self) -> Iterator[Metric]:
        refused = CounterMetricFamily(
            "secretsvc_rejected_requests", "Requests that were rejected.", labels=["kind", "reason"]
        )
        for reason, count in self._registry.refusals.totals().items():
            refused.add_metric(list(reason.value), count)
        yield refused
        yield CounterMetricFamily(
            "secretsvc_sealing_failures",
            "Steps that failed to seal the audit log.",
            value=self._registry.audit_sealer.failures,
        )
        # A malformed setting must not hide the other metrics.
        with suppress(ServerMisconfigured):
            yield _pool_metric(self._registry.database.engine.pool)
        with suppress(ServerMisconfigured):
            yield GaugeMetricFamily(
                "secretsvc_plaintext_max_bytes",
                "PLAINTEXT_MAX_BYTES.",
                value=self._registry.service_settings.plaintext_max_bytes,
            )
        with suppress(ServerMisconfigured):
            yield _key_metric(self._registry.load_ring())
        reasons, degraded = self.readiness.state
        yield GaugeMetricFamily("secretsvc_ready", "Whether it is ready.", value=not reasons)
        problems = GaugeMetricFamily(
            "secretsvc_readiness_problem", "Problems that /ready names.", labels=["reason"]
        )
        for problem in (*reasons, *degraded):
            problems.add_metric([problem], 1)
        yield problems
        yield from self._known_gauges()

    def _known_gauges(self) -> Iterator[Metric]:
        """Gauges whose value can be unknown: a check failed, or the system does not report it."""
        known = {
            "memory_bytes": (
                "Memory of the process, without the files that it maps.",
                anonymous_memory_bytes(),
            ),
            "access_keys_age_seconds": (
                "Since the access proxy's keys were seen at their source.",
                access_keys_age(self._registry),
            ),
            "envelopes_to_rekey": (
                "Envelopes that are not under the active master key.",
                self.readiness.envelopes_under_old_keys,
            ),
            "audit_unsealed_age_seconds": (
                "Since the oldest audit record was made that is not sealed.",
                self.readiness.audit_waiting_seconds,
            ),
        }
        for name, (help_, value) in known.items():
            if value is not None:
                yield GaugeMetricFamily(f"secretsvc_{name}", help_, value=value)


def _under_former_name(metric: Metric) -> Metric:
    name = FORMER_NAMES[metric.name]
    former = Metric(name, f"Former name of {metric.name}.", metric.type)
    for sample in metric.samples:
        labels = {FORMER_LABELS.get(label, label): value for label, value in sample.labels.items()}
        former.add_sample(sample.name.replace(metric.name, name, 1), labels, sample.value)
    return former


def _key_metric(ring: KeyRing) -> Metric:
    # A kid identifies a key and reveals nothing of it.
    keys = GaugeMetricFamily(
        "secretsvc_master_key", "The master keys of this process.", labels=["kid", "state"]
    )
    for kid in ring.kids:
        keys.add_metric([kid, "active" if kid == ring.active_kid else "opens only"], 1)
    return keys


def _pool_metric(pool: Any) -> Metric:
    connections = GaugeMetricFamily(
        "secretsvc_database_connections", "Connections to the database.", labels=["state"]
    )
    connections.add_metric(["in use"], pool.checkedout())
    connections.add_metric(["idle"], pool.checkedin())
    return connections
