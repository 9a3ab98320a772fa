"""A socket whose every operation ends at one deadline."""

from __future__ import annotations

import io
import socket
import time
from typing import TYPE_CHECKING

from secretsvc_client.errors import Unreachable

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: Bytes that are read ahead.
_BUFFER = 262_144


class Deadline:
    """A point in time after which nothing is waited for."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds; raises `Unreachable` when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise too_slow(self.seconds)
        return left


def too_slow(seconds: float) -> Unreachable:
    """The failure of a server that takes longer than that."""
    return Unreachable(
        f"the service gave no whole answer within {seconds:g} s", "Try again, or give --timeout."
    )


class _Reader(io.RawIOBase):
    """The bytes of a connected socket, read until the deadline."""

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._connected, self._deadline = connected, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read into a buffer, as `socket.recv_into` does."""
        self._connected.settimeout(self._deadline.left())
        return self._connected.recv_into(buffer)


class _Lines(io.BufferedReader):
    """A reader that remembers the last line that was read, empty at the end."""

    line = b"-"

    def readline(self, size: int | None = -1, /) -> bytes:
        """Read a line, and remember it."""
        self.line = super().readline(size)
        return self.line


class TimedSocket:
    """A connected socket as `http.client` uses it; its owner closes it."""

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._connected, self._deadline = connected, deadline
        self.reader = _Lines(_Reader(connected, deadline), _BUFFER)

    def sendall(self, data: Buffer) -> None:
        """Send all of the data before the deadline."""
        self._connected.settimeout(self._deadline.left())
        self._connected.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return the reader, as `socket.makefile` does."""
        return self.reader

    def close(self) -> None:
        """Nothing: the answer is read after `http.client` has closed its side."""
