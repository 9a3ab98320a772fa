"""The application behind the real server, in this process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from waiting import PATIENCE

from secretsvc.server.server import Server, make_configured_server


@contextmanager
def served(app: Any, **options: Any) -> Iterator[int]:
    """The port on which the application answers for as long as the context lasts."""
    with running(make_configured_server(app, listen="127.0.0.1:0", **{"threads": 2, **options})) as server:
        yield int(server.effective_port)


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """Runs in a thread of its own for as long as the context lasts; its stop waits for nobody."""
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stop(drain=0)
        thread.join(PATIENCE)


def exchange(port: int, raw: bytes) -> bytes:
    """Everything that the server says to these bytes until it hangs up, or has nothing more to say."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        # The server may hang up before it has read all: what it said until then is the answer.
        try:
            while piece := connection.recv(65536):
                answer += piece
        except ConnectionResetError:
            pass
    return answer
