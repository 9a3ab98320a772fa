"""A server of raw sockets that answers as it is told, and remembers who asked what."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from contextlib import suppress
from pathlib import Path

SECONDS = 60.0


def answered(status: int, body: bytes, *headers: str, length: int | None = None) -> bytes:
    """The bytes of an answer; `length` is what its header says where that is a lie."""
    fields = [f"Content-Length: {len(body) if length is None else length}", *headers]
    return (
        f"HTTP/1.1 {status} X\r\n{''.join(f'{one}{chr(13)}{chr(10)}' for one in fields)}\r\n".encode() + body
    )


def told(status: int, found: object, *headers: str) -> bytes:
    """An answer of JSON."""
    return answered(status, json.dumps(found).encode(), "Content-Type: application/json", *headers)


def refused(status: int, code: str, message: str = "No.", **more: object) -> bytes:
    """An error in the specification's envelope."""
    return told(status, {"code": code, "message": message, "request_id": "server-1", **more})


def secrets(values: dict[str, object], rev: int = 1) -> bytes:
    """An export."""
    return told(200, {"rev": rev, "secrets": values}, f'ETag: "{rev}"')


class Hostile:
    """A context manager; `script` are the answers, by the request's path or the last for all.

    An answer is bytes, sent at once and hung up; a number, so many seconds of silence; or a list of both.
    """

    def __init__(self, *script: object, certificate: Path | None = None) -> None:
        self.script = list(script)
        self.requests: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._tls = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
        self.port = self._listener.getsockname()[1]
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.port}"
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._serve, daemon=True)]

    def __enter__(self) -> Hostile:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        for thread in self._threads:
            thread.join(SECONDS)
        self._listener.close()

    @property
    def paths(self) -> list[str]:
        return [request.split(b" ")[1].decode() for request in self.requests]

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._over.is_set():
                connection.close()
                return
            self._threads.append(threading.Thread(target=self._answer, args=(connection,), daemon=True))
            self._threads[-1].start()

    def _answer(self, plain: socket.socket) -> None:
        with suppress(OSError), plain:
            plain.settimeout(SECONDS)
            connection = self._tls.wrap_socket(plain, server_side=True) if self._tls else plain
            request = _request(connection)
            if not request.strip():
                return
            self.requests.append(request)
            for part in self._script_for(request):
                if isinstance(part, bytes):
                    connection.sendall(part)
                else:
                    self._wait(float(part))
            with suppress(OSError):
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1)
            connection.close()

    def _script_for(self, request: bytes) -> list[bytes | float]:
        index = min(len(self.requests), len(self.script)) - 1
        script = self.script[index]
        if callable(script):
            script = script(request)
        return script if isinstance(script, list) else [script]

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._over.wait(min(0.05, seconds)) and time.monotonic() < end:
            pass


def _request(connection: socket.socket) -> bytes:
    request = b""
    while b"\r\n\r\n" not in request:
        piece = connection.recv(65536)
        if not piece:
            break
        request += piece
    head, _, body = request.partition(b"\r\n\r\n")
    wanted = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            wanted = int(value)
    while len(body) < wanted:
        piece = connection.recv(65536)
        if not piece:
            break
        body += piece
    return head + b"\r\n\r\n" + body


def closed_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as candidate:
        candidate.bind(("127.0.0.1", 0))
        return int(candidate.getsockname()[1])


def configure(home: Path, text: str) -> None:
    """Writes the user's configuration."""
    path = home / ".config" / "secretsvc" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o600)
