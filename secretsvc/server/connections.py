"""What the connections of a process share: their order, their bounds, and the counts of both."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Protocol

from secretsvc.server.limits import ConnectionLimits

log = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
REPORT_SECONDS = 10.0

IDLE = "idle"
CONNECTION_LIMIT = "connection_limit"
REQUEST_BYTES = "request_bytes"
ANSWER_BYTES = "answer_bytes"
REFUSED = "refused"


class Connection(Protocol):
    """What is to be known of one, by the monotonic clock; a `Channel`."""

    @property
    def is_waiting(self) -> bool:
        """Whether no whole request is there, nor an answer that was not taken."""

    @property
    def is_receiving(self) -> bool:
        """Whether a request has begun to arrive and is not whole."""

    def unread_for(self, now: float) -> float:
        """For how long a whole answer has been waiting for its client to take more of it, in seconds."""

    def overdue(self, now: float) -> str | None:
        """Which of its deadlines has passed."""

    def abort(self) -> None:
        """Closes it at once."""


class ConnectionTracker:
    """Connections, the one whose last whole request came the longest ago first.

    At the limit a newcomer takes the place of another connection. A flood of connections that send nothing
    must not close the idle ones of a proxy, and connections that have sent a cheap request must not leave
    newcomers a single place, from which each is closed by the next. So one half of the places is for
    connections that have not carried a whole request: while they have it, the oldest of them is closed. While
    they have less, an idle connection that has carried one is closed, or one that does not read its answer.

    The server's own thread alone opens and drops; `hold` and `owe` are for every thread.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.stopping = False
        #: Bytes of requests that the process holds, and of answers that clients have not taken.
        self.request_bytes = 0
        self.answer_bytes = 0
        #: How many connections were dropped since the start, by the reason.
        self.dropped: Counter[str] = Counter()
        self._order: OrderedDict[Connection, None] = OrderedDict()
        #: Those of them that have not carried a whole request, the oldest first.
        self._new: OrderedDict[Connection, None] = OrderedDict()
        self._lock = threading.Lock()
        self._swept = self._reported = time.monotonic()
        self._unreported: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._order)

    def opened(self, channel: Connection) -> None:
        """A connection that was accepted."""
        self._order[channel] = self._new[channel] = None

    def requested(self, channel: Connection) -> None:
        """A whole request has arrived over it."""
        if channel in self._order:
            self._order.move_to_end(channel)
            self._new.pop(channel, None)

    def closed(self, channel: Connection) -> None:
        """Idempotent."""
        self._order.pop(channel, None)
        self._new.pop(channel, None)

    def hold(self, change: int) -> None:
        """Counts bytes of requests that came, or, negative, that are done with."""
        with self._lock:
            self.request_bytes += change

    def owe(self, change: int) -> None:
        """Counts bytes of answers that are ready, or, negative, that have left or were given up."""
        with self._lock:
            self.answer_bytes += change

    def make_room(self, *, short: bool = False) -> bool:
        """Return whether one more fits; at the limit, or `short` of descriptors, drop another for it."""
        if not short and len(self._order) < self.limits.connections:
            return True
        victim = self._victim()
        if victim is None:
            self.count(REFUSED)
            return False
        self.drop(victim, CONNECTION_LIMIT)
        return True

    def _victim(self) -> Connection | None:
        """Return the connection to close for a newcomer, None if each of them is being served."""
        new = next((channel for channel in self._new if channel.is_waiting), None)
        if new is not None and len(self._new) >= len(self._order) // 2:
            return new
        idle = (channel for channel in self._order if channel not in self._new and channel.is_waiting)
        return next(idle, None) or next(self._stalled(time.monotonic()), None) or new

    def bound_requests(self) -> None:
        """Drops those whose unfinished requests began first until the rest is within bounds."""
        if self.request_bytes <= self.limits.request_bytes:
            return
        for channel in [channel for channel in self._order if channel.is_receiving]:
            self.drop(channel, REQUEST_BYTES)
            if self.request_bytes <= self.limits.request_bytes:
                return

    def bound_answers(self) -> None:
        """Drops those that have not read for the longest time until the rest is within bounds."""
        if self.answer_bytes <= self.limits.answer_bytes:
            return
        for channel in self._stalled(time.monotonic()):
            self.drop(channel, ANSWER_BYTES)
            if self.answer_bytes <= self.limits.answer_bytes:
                return

    def _stalled(self, now: float) -> Iterator[Connection]:
        found = [(channel.unread_for(now), channel) for channel in self._order]
        found = [one for one in found if one[0] >= self.limits.stalled_seconds]
        return (channel for _, channel in sorted(found, key=lambda one: one[0], reverse=True))

    def sweep(self) -> None:
        """Drops those that are past a deadline; at most once a second."""
        now = time.monotonic()
        if now - self._swept < SWEEP_SECONDS:
            return
        self._swept = now
        for channel in list(self._order):
            reason = channel.overdue(now)
            if reason is not None:
                self.drop(channel, reason)
        if self._unreported and now - self._reported >= REPORT_SECONDS:
            self._reported = now
            counts = ", ".join(f"{count} {reason}" for reason, count in sorted(self._unreported.items()))
            self._unreported.clear()
            log.warning("connections were dropped: %s", counts)

    def drop(self, channel: Connection, reason: str) -> None:
        """Closes a connection that has no right to be waited for."""
        self.count(reason)
        channel.abort()

    def count(self, reason: str) -> None:
        """Counts one that was dropped or refused."""
        self.dropped[reason] += 1
        if reason != IDLE:
            self._unreported[reason] += 1
