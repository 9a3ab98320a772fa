"""A key source over HTTP on the loopback address that counts its callers and misbehaves to order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]


def answer(body: bytes, status: int = 200, **headers: str) -> Answer:
    """A complete answer."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return send


def slow(seconds: float, body: bytes) -> Answer:
    """A complete answer after a while."""

    def send(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(seconds)
        answer(body)(handler)

    return send


class _Server(ThreadingHTTPServer):
    """Its threads do not outlive the test, and those that answer without end look at `closing`."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        self.closing = threading.Event()
        super().__init__(*arguments)


class KeyServer:
    """`hits` counts the requests, `requests` has their headers; `answer` may be exchanged at any time."""

    def __init__(self, body: bytes | Answer) -> None:
        self.answer: Answer = answer(body) if isinstance(body, bytes) else body
        self.hits = 0
        self.requests: list[dict[str, str]] = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/certs"

    def serve(self, body: bytes) -> None:
        self.answer = answer(body)

    def __enter__(self) -> KeyServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with owner._lock:
                    owner.hits += 1
                    owner.requests.append(dict(self.headers.items()))
                try:
                    owner.answer(self)
                except OSError:
                    self.close_connection = True

            def log_message(self, format: str, *arguments: object) -> None:
                """Says nothing."""

        return Handler
