"""A fetch of keys ends at its deadline, wherever it is held up, and leaves no thread."""

from __future__ import annotations

import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from jwks_server import KeyServer
from key_cache import Clock, cache, outcome
from tls import TlsKeyServer, authority
from tokens import TestIssuer
from waiting import eventually

from secretsvc.authentication.jwks_source import Credentials

UNAVAILABLE = "IDENTITY_PROVIDER_UNAVAILABLE"
DEADLINE = 0.4
PROXY = "user:p%40ss@127.0.0.1"

Send = Callable[[bytes], object]


def no_fetch_runs() -> bool:
    return all(thread.name != "key-fetch" for thread in threading.enumerate())


@pytest.fixture
def trusted(tmp_path: Path) -> Path:
    return authority(tmp_path, "trusted")


@pytest.fixture
def source(issuer: TestIssuer, trusted: Path) -> Iterator[TlsKeyServer]:
    """The issuer's keys over TLS."""
    with TlsKeyServer(issuer.jwks("rsa-1"), trusted) as server:
        yield server


def drip(head: bytes, closing: threading.Event, send: Send) -> None:
    """`head` at once and then a byte now and again, for ever."""
    send(head)
    while not closing.wait(0.05):
        send(b"x")


def dripping_body(handler: BaseHTTPRequestHandler) -> None:
    drip(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", handler.server.closing, handler.wfile.write)  # type: ignore[attr-defined]


def dripping_record(handler: BaseHTTPRequestHandler) -> None:
    """Beneath TLS: one record of 16 KiB, of which no byte can be read before all are there."""
    send = lambda data: socket.socket.send(handler.connection, data)  # noqa: E731
    drip(b"\x17\x03\x03\x40\x00", handler.server.closing, send)  # type: ignore[attr-defined]


@contextmanager
def proxy(answer: Callable[[socket.socket, bytes], None]) -> Iterator[str]:
    """A proxy that answers one CONNECT; its address."""

    def serve(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, suppress(OSError):
            answer(connection, connection.recv(65_536))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        yield f"http://{PROXY}:{listening.getsockname()[1]}"


def forward(connection: socket.socket, asked: bytes) -> None:
    """Does what a proxy is there for."""
    host, port = asked.split()[1].decode().split(":")
    with socket.create_connection((host, int(port))) as beyond:
        connection.sendall(b"HTTP/1.0 200 Connection established\r\n\r\n")
        back = threading.Thread(target=pump, args=(beyond, connection), daemon=True)
        back.start()
        pump(connection, beyond)


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)


def test_though_it_passed_while_the_name_was_looked_up(
    server: KeyServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = socket.getaddrinfo

    def late(*arguments: Any, **options: Any) -> Any:
        time.sleep(DEADLINE * 1.5)
        return found(*arguments, **options)

    server.answer = dripping_body
    monkeypatch.setattr(socket, "getaddrinfo", late)
    assert outcome(cache(server.url, clock, deadline=DEADLINE), "rsa-1") == UNAVAILABLE
    assert eventually(no_fetch_runs)


@pytest.mark.parametrize("dripping", [dripping_body, dripping_record])
def test_over_tls(source: TlsKeyServer, trusted: Path, clock: Clock, dripping: Any) -> None:
    source.answer = dripping
    keys = cache(source.url, clock, deadline=DEADLINE, credentials=Credentials(ca_file=trusted))
    assert outcome(keys, "rsa-1") == UNAVAILABLE
    assert eventually(no_fetch_runs)


def test_though_a_proxy_drips(source: TlsKeyServer, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    closing = threading.Event()

    def dripping(connection: socket.socket, _asked: bytes) -> None:
        drip(b"HTTP/1.0 200 ", closing, connection.sendall)

    with proxy(dripping) as url:
        monkeypatch.setenv("https_proxy", url)
        monkeypatch.setenv("no_proxy", "")
        assert outcome(cache(source.url, clock, deadline=DEADLINE), "rsa-1") == UNAVAILABLE
        assert eventually(no_fetch_runs)
        closing.set()


def test_keys_come_through_the_proxy_of_the_environment_with_its_credentials(
    source: TlsKeyServer, trusted: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def noting(connection: socket.socket, request: bytes) -> None:
        asked.append(request)
        forward(connection, request)

    with proxy(noting) as url:
        monkeypatch.setenv("https_proxy", url)
        monkeypatch.setenv("no_proxy", "")
        keys = cache(source.url, clock, credentials=Credentials(ca_file=trusted))
        assert outcome(keys, "rsa-1") == "found"
    (request,) = asked
    assert b"Basic " + b64encode(b"user:p@ss") in request
    assert "Proxy-Authorization" not in source.requests[-1]


def test_a_host_that_no_proxy_names_is_asked_itself(
    source: TlsKeyServer, trusted: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    keys = cache(source.url, clock, credentials=Credentials(ca_file=trusted))
    assert outcome(keys, "rsa-1") == "found"
    assert source.requests[-1]["Host"] == source.url.split("/")[2]
