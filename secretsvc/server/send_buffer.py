"""What a connection has still to send: each answer once, as the application gave it."""

from __future__ import annotations

import logging
import socket
import time
from collections import deque
from collections.abc import Callable
from itertools import islice

log = logging.getLogger(__name__)

#: At most so many pieces go to the kernel in one call, and so many bytes before others have a turn.
PIECES = 16
MAX_SEND_BYTES = 1024 * 1024

Callback = Callable[[], None]


class SendBuffer:
    """Pieces of the answer to one request, and whom to tell when all has left. Not locked by itself.

    `owe` is told of each byte that comes and goes.
    """

    def __init__(self, owe: Callable[[int], None]) -> None:
        self._owe = owe
        self._pieces: deque[memoryview] = deque()
        self._callbacks: list[Callback] = []
        self.pending = 0
        self._began = self._moved = 0.0
        self._sent = 0

    def append(self, data: bytes) -> None:
        """Keeps the bytes themselves, no copy."""
        if not self.pending:
            self._began = self._moved = time.monotonic()
            self._sent = 0
        self._pieces.append(memoryview(data))
        self.pending += len(data)
        self._owe(len(data))

    def then(self, callbacks: list[Callback]) -> None:
        """Has them called when what was appended until now has left."""
        self._callbacks += callbacks

    def send(self, connection: socket.socket) -> list[Callback]:
        """Sends what the kernel takes at once; whom to tell now. Raises OSError other than "try again"."""
        turn = 0
        while self._pieces and turn < MAX_SEND_BYTES:
            try:
                sent = connection.sendmsg(list(islice(self._pieces, PIECES)))
            except BlockingIOError:
                break
            turn += sent
            self._skip(sent)
        return [] if self.pending else self._taken()

    def give_up(self) -> list[Callback]:
        """Forgets what was not sent; whom to tell."""
        self._pieces.clear()
        self._owe(-self.pending)
        self.pending = 0
        return self._taken()

    def unread_for(self, now: float) -> float:
        """For how long nothing of it was taken, in seconds; 0 if there is nothing to take."""
        return now - self._moved if self.pending else 0.0

    def is_slow(self, now: float, grace: float, rate: int) -> bool:
        """Whether less was taken than `rate` bytes a second, after `grace` seconds."""
        return bool(self.pending) and now - self._began > grace + self._sent / rate

    def _taken(self) -> list[Callback]:
        due, self._callbacks = self._callbacks, []
        return due

    def _skip(self, sent: int) -> None:
        self._moved = time.monotonic()
        self._sent += sent
        self.pending -= sent
        self._owe(-sent)
        while sent:
            piece = self._pieces.popleft()
            if len(piece) > sent:
                self._pieces.appendleft(piece[sent:])
            sent -= min(sent, len(piece))


def run_callbacks(callbacks: list[Callback]) -> None:
    """Calls each; one that fails keeps nobody else from being told."""
    for callback in callbacks:
        try:
            callback()
        except Exception:
            log.exception("a callback failed once its answer had left")
