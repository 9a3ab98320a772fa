"""What is counted of requests, for whoever watches the process: by templates, never by names."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from pyramid.tweens import INGRESS

from secretsvc.web.openapi import places
from secretsvc.web.tree import MOUNTS

METHODS = frozenset({"DELETE", "GET", "HEAD", "PATCH", "POST"})
#: For whatever reached no view of ours: what the client wrote is no label.
NOWHERE = "other"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The counts of one application; `collectors` may take more."""

    def __init__(self, registry: Any) -> None:
        self._registry = registry
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
        self._denials = Counter(
            "secretsvc_denials",
            "Requests that no grant covers, of things that exist.",
            registry=self.collectors,
        )

    def observe(self, request: Any, status: int, seconds: float) -> None:
        """Counts a request that was answered."""
        route = self.route_of(request)
        method = request.method if request.method in METHODS else NOWHERE
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        if request.call is not None and request.call.denials:
            self._denials.inc(len(request.call.denials))

    def route_of(self, request: Any) -> str:
        """The template of the request's path, without anything of the path itself."""
        if request.operation is None:
            return NOWHERE
        mount = MOUNTS[request.matched_route.name].rstrip("/")
        name: str = request.view_name
        below = name if not name or name.startswith(":") else f"/{name}"
        return f"{mount}{self._templates[type(request.context)]}{below}" or "/"

    @cached_property
    def _templates(self) -> dict[Any, str]:
        return {node: path for node, (path, _) in places(self._registry.tree)}


def metrics_tween(handler: Callable[..., Any], registry: Any) -> Callable[..., Any]:
    """Around everything: what it counts is what leaves."""
    metrics: Metrics = registry.metrics

    def tween(request: Any) -> Any:
        began = time.perf_counter()
        response = handler(request)
        metrics.observe(request, response.status_int, time.perf_counter() - began)
        return response

    return tween


def includeme(config: Any) -> None:
    """Puts them on the registry, and the tween outermost."""
    config.registry.metrics = Metrics(config.registry)
    config.add_tween(f"{__name__}.metrics_tween", under=INGRESS, over="secretsvc.web.tweens.ingress_tween")
