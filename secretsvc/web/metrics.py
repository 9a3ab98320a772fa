"""What is counted of requests, for whoever watches the process: by templates, never by names."""

from __future__ import annotations

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram
from pyramid.config import Configurator

#: For whatever reached no view of ours: what the client wrote is no label.
NOWHERE = "other"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The counts of one application; `collectors` may take more."""

    def __init__(self) -> None:
        self.collectors = CollectorRegistry()
        self._requests = Counter(
            "secretsvc_requests",
            "Requests that were answered.",
            ["method", "route", "status"],
            registry=self.collectors,
        )
        self._seconds = Histogram(
            "secretsvc_request_seconds",
            "From a request's reaching the application to its answer.",
            ["route"],
            registry=self.collectors,
            buckets=BUCKETS,
        )
        # To find what has some labels takes longer than to count. There are as many as there are figures.
        self._counted = cache(lambda method, route, status: self._requests.labels(method, route, str(status)))
        self._timed = cache(self._seconds.labels)
        #: Refusals by authorization of things that exist.
        self.denials = Counter(
            "secretsvc_denials",
            "Requests that no grant covers, of things that exist.",
            registry=self.collectors,
        )

    def observe(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """Counts a request that was answered."""
        route = route or NOWHERE
        self._counted(method, route, status).inc()
        self._timed(route).observe(seconds)


def includeme(config: Configurator) -> None:
    """Puts them on the registry, and has them told of every request."""
    metrics = config.registry.metrics = Metrics()
    config.add_request_observer("metrics", metrics.observe)
