"""The operations listener (contract 8.3): `/live`, `/ready`, `/metrics`, however busy the workers are.

It has no authentication: only those who monitor the process must reach it.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

from waitress.utilities import cleanup_unix_socket

UNIX = "unix:"
#: Seconds that a client has for its request and the answer, and how many clients are served at a time.
SECONDS = 2.0
CLIENTS = 16

#: A status, a media type and a body.
Answer = tuple[int, str, bytes]


class OperationsListener(ThreadingMixIn, TCPServer):
    """Serve the paths of `pages`, each request in a thread of its own: `CLIENTS` at most."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, address: str, pages: dict[str, Callable[[], Answer]]) -> None:
        """`address` is `host:port` or `unix:/path`. Raises OSError where it cannot be bound."""
        self.pages = pages
        self._free = threading.BoundedSemaphore(CLIENTS)
        # When each connection that is being served was accepted.
        self._served: dict[socket.socket, float] = {}
        host, _, port = address.rpartition(":")
        target: Any = (host.strip("[]"), int(port)) if not address.startswith(UNIX) else None
        if target is None:
            self.address_family = socket.AF_UNIX
            target = address.removeprefix(UNIX)
            cleanup_unix_socket(target)
        elif ":" in host:
            self.address_family = socket.AF_INET6
        super().__init__(target, _Handler)
        if address.startswith(UNIX):
            os.chmod(target, 0o600)

    @property
    def port(self) -> int | None:
        """The port; None on a Unix socket."""
        return None if self.address_family == socket.AF_UNIX else int(self.socket.getsockname()[1])

    def start(self) -> None:
        """Serve in a thread of its own until `close`."""
        threading.Thread(target=self.serve_forever, name="operations", daemon=True).start()

    def close(self) -> None:
        """Stop serving, and close the socket."""
        self.shutdown()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection, or close it while all threads are in use."""
        if self._free.acquire(blocking=False):
            self._served[request] = time.monotonic()
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection in its thread, and free the thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._served.pop(request, None)
            self._free.release()

    def service_actions(self) -> None:
        """Close connections older than `SECONDS`: one byte now and then would keep a thread for ever."""
        latest = time.monotonic() - SECONDS
        for request, began in list(self._served.items()):
            if began < latest:
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: object, client_address: object) -> None:
        """Log nothing: the client closed the connection."""


class _Handler(BaseHTTPRequestHandler):
    server: OperationsListener
    timeout = SECONDS

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.partition("?")[0])
        status, media, body = page() if page is not None else (404, "text/plain", b"")
        self.send_response_only(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing: monitoring asks every second."""


def json_answer(status: int, members: dict[str, object]) -> Answer:
    """Return a JSON object as an answer."""
    return status, "application/json", json.dumps(members).encode()
