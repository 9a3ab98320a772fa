"""The bytes that a connection has still to send, without a copy of them."""

from __future__ import annotations

import logging
import socket
import time
from collections import deque
from collections.abc import Callable
from itertools import islice

log = logging.getLogger(__name__)

#: The most pieces for the kernel in one call, and the most bytes of one connection before the next one.
PIECES = 16
MAX_SEND_BYTES = 1024 * 1024

Callback = Callable[[], None]


class SendBuffer:
    """Pieces of the answer to one request, and callbacks for when all is sent. The caller locks it.

    `count` is called with the number of bytes that were added, or, negative, sent or discarded.
    """

    def __init__(self, count: Callable[[int], None]) -> None:
        self._count = count
        self._pieces: deque[memoryview] = deque()
        self._callbacks: list[Callback] = []
        self.pending = 0
        self._began = self._moved = 0.0
        self._sent = 0

    def append(self, data: bytes) -> None:
        """Append bytes, without a copy."""
        if not self.pending:
            self._began = self._moved = time.monotonic()
            self._sent = 0
        self._pieces.append(memoryview(data))
        self.pending += len(data)
        self._count(len(data))

    def call_when_sent(self, callbacks: list[Callback]) -> None:
        """Add callbacks for when everything appended so far is sent or discarded."""
        self._callbacks += callbacks

    def send(self, connection: socket.socket) -> list[Callback]:
        """Send what the kernel accepts now; return the callbacks to call. Raises OSError."""
        total = 0
        while self._pieces and total < MAX_SEND_BYTES:
            try:
                sent = connection.sendmsg(list(islice(self._pieces, PIECES)))
            except BlockingIOError:
                break
            total += sent
            self._skip(sent)
        return [] if self.pending else self._take_callbacks()

    def discard(self) -> list[Callback]:
        """Discard what was not sent; return the callbacks to call."""
        self._pieces.clear()
        self._count(-self.pending)
        self.pending = 0
        return self._take_callbacks()

    def unread_for(self, now: float) -> float:
        """Return the seconds since the client last accepted bytes; 0 if nothing is pending."""
        return now - self._moved if self.pending else 0.0

    def is_slow(self, now: float, grace: float, rate: int) -> bool:
        """Return whether the client accepts less than `rate` bytes a second, after `grace` seconds."""
        return bool(self.pending) and now - self._began > grace + self._sent / rate

    def _take_callbacks(self) -> list[Callback]:
        due, self._callbacks = self._callbacks, []
        return due

    def _skip(self, sent: int) -> None:
        self._moved = time.monotonic()
        self._sent += sent
        self.pending -= sent
        self._count(-sent)
        while sent:
            piece = self._pieces.popleft()
            if len(piece) > sent:
                self._pieces.appendleft(piece[sent:])
            sent -= min(sent, len(piece))


def run_callbacks(callbacks: list[Callback]) -> None:
    """Call each; one that fails is logged, and the others are still called."""
    for callback in callbacks:
        try:
            callback()
        except Exception:
            log.exception("a callback failed once its answer had left")
