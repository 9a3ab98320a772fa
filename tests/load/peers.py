"""Two services over one database: two applications of this process, or two real processes.

Two applications have an engine each, so they share no lock but the database's own. With `--long` the
services are processes started as an operator starts them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from extent import amount
from processes import Deployment
from service import Client, Service

IN_PROCESSES = amount(False, True)


@dataclass(frozen=True)
class Reply:
    """What one of them answered."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        return self.json["code"] if self.status >= 400 else None


class Peers:
    """Requests to either service; `service` is there to arrange and look behind their backs."""

    def __init__(self, service: Service, deployment: Deployment | None) -> None:
        self.service = service
        self._applications = [service, service.restarted()] if deployment is None else []
        self._deployment = deployment

    def request(self, index: int, subject: str, method: str, path: str, json_body: Any = None) -> Reply:
        """A request of a person to service 0 or 1."""
        return self.bearing(index, self.service.issuer.sign(subject), method, path, json_body)

    def bearing(self, index: int, token: str, method: str, path: str, json_body: Any = None) -> Reply:
        """A request with any token."""
        if self._deployment is None:
            answer = Client(self._applications[index].app, token).request(method, path, json_body)
            return Reply(answer.status_int, answer.body)
        client = self._deployment.client(index, token)
        try:
            found = client.request(method, path, json_body)
        finally:
            client.close()
        return Reply(found.status, found.body)

    def expect(self, status: int, index: int, subject: str, method: str, *request: Any) -> Reply:
        """As `request`; any other status is a failure of the test."""
        reply = self.request(index, subject, method, *request)
        assert reply.status == status, (reply, index, subject, method, *request)
        return reply

    def close(self) -> None:
        for application in self._applications[1:]:
            application.close()


@contextmanager
def peers_of(service: Service, directory: Path, **settings: str) -> Iterator[Peers]:
    """Two services with the given settings; `service` should have the same."""
    if not IN_PROCESSES:
        peers = Peers(service, None)
        yield peers
        peers.close()
        return
    with Deployment(directory, service.url, service.issuer, **settings) as deployment:
        yield Peers(service, deployment.start(2))
