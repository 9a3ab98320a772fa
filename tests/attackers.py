"""Who would have the service to himself: connections that send too slowly, too much, or never read."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

STEP_SECONDS = 0.25

Attack = Callable[["Attackers"], None]


class Attackers:
    """Connections to one port, each opened anew where the server closes it; a context manager.

    `first` is what each sends at once; `drip` what it sends every `pause` seconds. None of them ever reads.
    """

    def __init__(
        self, port: int, count: int, *, first: bytes = b"", drip: bytes = b"", pause: float = 10.0
    ) -> None:
        self.port, self.count, self.first, self.drip, self.pause = port, count, first, drip, pause
        #: How many connections were made, and how many bytes the server took.
        self.made = self.sent = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Attackers:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        # The bytes that are left to send, by connection.
        left: dict[socket.socket, memoryview] = {}
        dripped = time.monotonic()
        while not self._over.is_set():
            for _ in range(self.count - len(left)):
                if not self._connect(left):
                    break
            if self.drip and time.monotonic() - dripped > self.pause:
                dripped = time.monotonic()
                left.update({one: memoryview(self.drip) for one, rest in left.items() if not rest})
            self._send(left)
        for connection in left:
            connection.close()

    def _connect(self, left: dict[socket.socket, memoryview]) -> bool:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(STEP_SECONDS)
        try:
            connection.connect(("127.0.0.1", self.port))
        except OSError:
            connection.close()
            return False
        connection.setblocking(False)
        left[connection] = memoryview(self.first)
        self.made += 1
        return True

    def _send(self, left: dict[socket.socket, memoryview]) -> None:
        with selectors.DefaultSelector() as selector:
            for connection, rest in left.items():
                # An error or a hang-up is reported whatever is asked for.
                events = selectors.EVENT_WRITE if rest else 0
                if events:
                    selector.register(connection, events)
            ready = [key.fileobj for key, _ in selector.select(STEP_SECONDS)]
            if not ready:
                time.sleep(STEP_SECONDS / 5)
        for connection in [one for one in left if one in ready or not left[one]]:
            rest = left[connection]  # type: ignore[index]
            try:
                if rest:
                    sent = connection.send(rest[: 256 * 1024])
                    self.sent += sent
                    left[connection] = rest[sent:]
                elif _hung_up(connection):
                    raise ConnectionResetError
            except BlockingIOError:
                continue
            except OSError:
                connection.close()
                del left[connection]


def _hung_up(connection: socket.socket) -> bool:
    with suppress(BlockingIOError):
        return not connection.recv(1, socket.MSG_PEEK)
    return False
