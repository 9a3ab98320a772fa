"""What the benchmarks over the wire share: processes as in production, and clients that cost little."""

from __future__ import annotations

import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from bench import databases, service_over
from operations import ADA, ENVIRONMENT, fill
from processes import Deployment
from service import API, HEADER
from tokens import TestIssuer

VALUE = {"mode": "merge", "set": {"KEY_000": "value"}}


@contextmanager
def deployment(
    engine: str, processes: int, threads: int | None = None, listener: socket.socket | None = None
) -> Iterator[Deployment]:
    """As `deployment_over`, with databases of its own."""
    with databases(engine) as made, deployment_over(made, processes, threads, listener) as deployed:
        yield deployed


@contextmanager
def deployment_over(
    made: Any,
    processes: int,
    threads: int | None = None,
    listener: socket.socket | None = None,
    **settings: str,
) -> Iterator[Deployment]:
    """So many processes over one database with an environment of 500 secrets; by default with our threads.

    Each has a port of its own, unless all are handed one listener.
    """
    with tempfile.TemporaryDirectory(prefix="secretsvc-wire-") as directory:
        issuer, url = TestIssuer(Path(directory)), filled(made)
        given = {"LAST_SEEN_RESOLUTION": "3600000", **settings}
        with Deployment(Path(directory), url, issuer, **given) as deployed:
            yield deployed.start(processes, threads=threads, listener=listener)


def filled(made: Any) -> str:
    """The URL of a fresh database with an environment of 500 secrets."""
    with service_over(made) as service:
        fill(service)
        return service.url


class Client:
    """One connection that is kept open; it sends a request that was made beforehand."""

    def __init__(self, port: int, token: str) -> None:
        self.token = token
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def request(self, method: str, path: str, body: Any = None, tag: str = "") -> bytes:
        """The bytes of a request below the environment; `body` is bytes already or becomes JSON.

        With a `tag` it wants to know only whether there is another state than that.
        """
        content = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        head = (
            f"{method} {API}{ENVIRONMENT}{path} HTTP/1.1\r\nHost: localhost\r\n{HEADER}: {self.token}\r\n"
            + (f"If-None-Match: {tag}\r\n" if tag else "")
            + f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content

    def send(self, request: bytes) -> int:
        """The status of the answer, which is read to its end."""
        self.socket.sendall(request)
        answer = self.socket.recv(65_536)
        while b"\r\n\r\n" not in answer:
            answer += self.socket.recv(65_536)
        head, _, body = answer.partition(b"\r\n\r\n")
        # A 304 has no body, and does not say how long it is.
        told = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
        left = int(told or 0) - len(body)
        while left > 0:
            left -= len(self.socket.recv(65_536))
        return int(head[9:12])

    def close(self) -> None:
        self.socket.close()


def at_once(deployed: Deployment, count: int, work: Callable[[int, Client], None]) -> float:
    """The seconds until so many clients, spread over the processes, have done their work."""
    ports = [one.port for one in deployed.processes]
    clients = [Client(ports[number % len(ports)], deployed.issuer.sign(ADA)) for number in range(count)]
    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(clients)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.monotonic() - began
    for client in clients:
        client.close()
    return took
