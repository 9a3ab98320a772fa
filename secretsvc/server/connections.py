"""The connections of a process: their order, their bounds, and the counters for both."""

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
    """The part of a `Channel` that its tracker uses; times are by the monotonic clock."""

    @property
    def is_waiting(self) -> bool:
        """Whether it has neither a whole request nor an answer to send."""

    @property
    def is_receiving(self) -> bool:
        """Whether a request has begun to arrive and is not whole."""

    def unread_for(self, now: float) -> float:
        """Return the seconds for which its client has accepted nothing of a whole answer."""

    def overdue(self, now: float) -> str | None:
        """Return the name of the deadline that has passed, or None."""

    def abort(self) -> None:
        """Close it at once."""


class ConnectionTracker:
    """All connections, ordered by the time of their last whole request, the oldest first.

    At the limit a new connection replaces another one. A flood of connections that send nothing must not
    close the idle ones of a proxy; connections that have sent a cheap request must not leave new ones a
    single place, where each replaces the one before. So one half of the places is for connections that have
    not carried a whole request. If they fill it, the oldest of them is closed; else an idle connection that
    has carried one, or one that does not read its answer.

    Only the event loop opens and drops connections; any thread can add bytes.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.stopping = False
        #: Bytes of buffered requests, and of answers that clients have not accepted yet.
        self.request_bytes = 0
        self.answer_bytes = 0
        #: The number of connections dropped since the start, by the reason.
        self.dropped: Counter[str] = Counter()
        self._order: OrderedDict[Connection, None] = OrderedDict()
        #: The connections that have not carried a whole request, the oldest first.
        self._new: OrderedDict[Connection, None] = OrderedDict()
        self._lock = threading.Lock()
        self._swept = self._reported = time.monotonic()
        self._unreported: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._order)

    def opened(self, channel: Connection) -> None:
        """Add a connection that was accepted."""
        self._order[channel] = self._new[channel] = None

    def requested(self, channel: Connection) -> None:
        """Move a connection to the end: a whole request has arrived over it."""
        if channel in self._order:
            self._order.move_to_end(channel)
            self._new.pop(channel, None)

    def closed(self, channel: Connection) -> None:
        """Remove a connection. Idempotent."""
        self._order.pop(channel, None)
        self._new.pop(channel, None)

    def add_request_bytes(self, change: int) -> None:
        """Count bytes of requests that were buffered, or, negative, released."""
        with self._lock:
            self.request_bytes += change

    def add_answer_bytes(self, change: int) -> None:
        """Count bytes of answers to send, or, negative, that were sent or discarded."""
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
        """Drop connections with unfinished requests, the oldest first, until the bound holds."""
        if self.request_bytes <= self.limits.request_bytes:
            return
        for channel in [channel for channel in self._order if channel.is_receiving]:
            self.drop(channel, REQUEST_BYTES)
            if self.request_bytes <= self.limits.request_bytes:
                return

    def bound_answers(self) -> None:
        """Drop connections that have not read for the longest time, until the bound holds."""
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
        """Drop connections that are past a deadline; at most once a second."""
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
        """Close a connection, and count the reason."""
        self.count(reason)
        channel.abort()

    def count(self, reason: str) -> None:
        """Count a connection that was dropped or refused."""
        self.dropped[reason] += 1
        if reason != IDLE:
            self._unreported[reason] += 1
