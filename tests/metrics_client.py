"""Whoever watches a process by its operations listener, in tests with the real server."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from prometheus_client.parser import text_string_to_metric_families
from server import running
from service import Service
from waiting import PATIENCE

from secretsvc.server import operations_listener
from secretsvc.server.server import Server, make_configured_server

SOON = PATIENCE


class Told(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Operator:
    """Whoever watches a process."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.port = server.watch.listener.port

    def ask(self, path: str, method: str = "GET") -> Told:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SOON)
        connection.request(method, path)
        response = connection.getresponse()
        told = Told(response.status, dict(response.getheaders()), response.read())
        connection.close()
        return told

    def until(self, status: int, **members: list[str]) -> Told:
        """Waits for what `/ready` should come to."""
        deadline = time.monotonic() + SOON
        while True:
            told = self.ask("/ready")
            if told.status == status and told.json.items() >= members.items() and self.agree(told.json):
                return told
            assert time.monotonic() < deadline, told
            time.sleep(0.05)

    def agree(self, ready: dict[str, Any]) -> bool:
        """Whether the figures say what `/ready` said."""
        found = self.figures()
        amiss = {name[1] for name in found if name[0] == "secretsvc_readiness_problem"}
        told = {*ready["reasons"], *ready["degraded"]}
        return found["secretsvc_ready",] == ready["ready"] and amiss == told

    def figures(self) -> dict[tuple[str, ...], float]:
        """The samples by their name and labels."""
        families = text_string_to_metric_families(self.ask("/metrics").body.decode())
        return {
            (sample.name, *sample.labels.values()): sample.value
            for family in families
            for sample in family.samples
        }


@contextmanager
def watched(service: Service, *, seconds: float = PATIENCE, **options: Any) -> Iterator[Operator]:
    """Run the real server. Its operations listener gives each client so many seconds.

    By default that is more than the product gives: a busy machine may take longer for an answer.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operations_listener, "SECONDS", seconds)
        patch.setattr(operations_listener._Handler, "timeout", seconds)
        with running(
            make_configured_server(service.app, listen="127.0.0.1:0", threads=2, **options)
        ) as server:
            yield Operator(server)
