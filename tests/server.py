"""The application behind the real server, in this process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import waitress

SECONDS = 10.0


@contextmanager
def served(app: Any, **options: Any) -> Iterator[int]:
    """The port on which the application answers for as long as the context lasts."""
    server = waitress.create_server(app, listen="127.0.0.1:0", ident=None, **{"threads": 2, **options})
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server.effective_port
    finally:
        # In its own thread, between two looks at its sockets.
        server.pull_trigger()
        server.trigger.pull_trigger(server.close)
        thread.join(5)
        server.task_dispatcher.shutdown()


def exchange(port: int, raw: bytes) -> bytes:
    """Everything that the server says to these bytes until it hangs up, or has nothing more to say."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
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
