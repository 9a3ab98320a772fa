"""A connection: one request under way, at most one buffer read ahead, and no thread that waits for a client.

A request is parsed when the answer before it has left. Until then at most one buffer of the server's is kept
of what a client sends ahead, and the rest stays with the client's kernel and ours. Answers go whole into
`SendBuffer`; the server's own thread sends what the worker could not.
"""

from __future__ import annotations

import logging
import socket
import struct
import time
from collections.abc import Callable, MutableMapping
from contextlib import suppress

from waitress import wasyncore
from waitress.adjustments import Adjustments
from waitress.channel import ClientDisconnected, HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import BaseWSGIServer
from waitress.utilities import logger

from secretsvc.server.connections import IDLE, ConnectionTracker
from secretsvc.server.send_buffer import SendBuffer, run_callbacks
from secretsvc.server.tasks import ErrorTask, Parser, Task

#: Less than that waits for the end of the answer, so that a header goes in one packet with what it heads.
SEND_THRESHOLD = 64 * 1024
#: A chunked body takes long to parse where its chunks are short: so much of it, then the others have a turn.
CHUNKED_TURN = 512
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# On, and for no second: the kernel forgets what it still has for the client.
RESET = struct.pack("ii", 1, 0)


class _WithoutPaths(logging.LoggerAdapter[logging.Logger]):
    """Waitress says which path it was serving; a path may hold anything, and is never logged."""

    def process(
        self, msg: str, kwargs: MutableMapping[str, object]
    ) -> tuple[str, MutableMapping[str, object]]:
        what, found, _ = msg.partition(" while serving ")
        return (f"{what} while serving a request" if found else msg), kwargs


class Channel(HTTPChannel):  # type: ignore[misc]  # it has no types of its own
    """Waitress's connection, whose `service` executes the requests, with what bounds it.

    Of `requests` there is at most one. What a worker may touch is guarded by `outbuf_lock`.
    """

    logger = _WithoutPaths(logger, {})
    task_class, error_task_class, parser_class = Task, ErrorTask, Parser
    requests: list[Parser]
    request: HTTPRequestParser

    def __init__(
        self,
        server: BaseWSGIServer,
        connection: socket.socket,
        address: object,
        adj: Adjustments,
        map: object,
    ) -> None:
        self.traffic: ConnectionTracker = server.traffic
        self._unparsed = b""
        self._outgoing = SendBuffer(self.traffic.owe)
        self._held = 0
        self._idle_since = self._began = time.monotonic()
        self._body_began: float | None = None
        self._refused = False
        self._lingers_until: float | None = None
        super().__init__(server, connection, address, adj, map)
        self.traffic.opened(self)

    # What the others see of it, in the server's own thread

    @property
    def is_waiting(self) -> bool:
        """Whether no whole request is there, nor an answer that was not taken."""
        return not self.requests and not self._outgoing.pending

    @property
    def is_receiving(self) -> bool:
        """Whether a request has begun to arrive and is not whole."""
        return self.request is not None

    def unread_for(self, now: float) -> float:
        """For how long a whole answer has been waiting for its client to take more of it, in seconds."""
        return 0.0 if self.requests else self._outgoing.unread_for(now)

    def overdue(self, now: float) -> str | None:
        """Which of its deadlines has passed; a request under way has none here."""
        limits = self.traffic.limits
        if self._outgoing.pending:
            if self._outgoing.unread_for(now) > limits.unread_seconds:
                return "answer_unread"
            slow = self._outgoing.is_slow(now, limits.grace_seconds, limits.answer_rate)
            return "answer_slow" if slow else None
        if self.requests:
            return None
        if self._lingers_until is not None:
            return IDLE if now > self._lingers_until else None
        if self.request is None:
            return IDLE if now - self._idle_since > limits.idle_seconds else None
        if self._body_began is None:
            return "header_slow" if now - self._began > limits.header_seconds else None
        due = self._body_began + limits.grace_seconds + self.request.body_bytes_received / limits.body_rate
        return "body_slow" if now > due else None

    def abort(self) -> None:
        """Closes it; what the kernel still holds for a client that is not done is forgotten."""
        if self._outgoing.pending or self.is_receiving:
            with suppress(OSError):
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.handle_close()

    # Receiving

    def readable(self) -> bool:
        """Whether more is wanted from the client now."""
        if self.will_close or self.close_when_flushed:
            return False
        return not (self.requests or self._outgoing.pending or self._unparsed)

    def handle_read(self) -> None:
        """Takes what has come."""
        try:
            data = self.recv(self.adj.recv_bytes)
        except BlockingIOError:
            # The kernel may say that something has come, and then that nothing has.
            return
        except OSError:
            self.handle_close()
            return
        if data and self._lingers_until is None:
            self.received(data)

    def received(self, data: bytes) -> None:
        """Parses as far as the next whole request, and gives that to the workers."""
        self._unparsed += data
        # A worker that has just answered looks at both the requests and the one that is being received.
        with self.requests_lock:
            while self._unparsed and self.is_waiting and not (self.will_close or self.close_when_flushed):
                chunked = self.request is not None and self.request.chunked
                self._parse(time.monotonic(), CHUNKED_TURN if chunked else len(self._unparsed))
                if chunked:
                    break

    def _parse(self, now: float, size: int) -> None:
        if self.request is None:
            self.request, self._began, self._body_began = self.parser_class(self.adj), now, None
        consumed = self.request.received(self._unparsed[:size])
        self._unparsed = self._unparsed[consumed:]
        if self.request.completed:
            self._complete(self.request)
            return
        self._hold(self.request.held)
        if self.request.is_receiving_body and self._body_began is None:
            self._body_began = now
            if self.request.expect_continue:
                self.send_continue()

    def _complete(self, request: Parser) -> None:
        self.request = None
        if request.empty:
            return
        self._hold(request.held)
        self._refused = request.error is not None
        self.traffic.requested(self)
        self.requests.append(request)
        self.server.add_task(self)

    def _hold(self, held: int) -> None:
        self.traffic.hold(held - self._held)
        self._held = held

    def send_continue(self) -> None:
        """Asks a client that waits for it to send the body."""
        self.request.expect_continue = False
        with self.outbuf_lock:
            self._outgoing.append(CONTINUE)
            run_callbacks(self._send())

    # Answering, in a worker

    def service(self) -> None:
        """Execute the request that is there, unless its client has gone."""
        super().service()
        if not self.connected:
            # The server's own thread may be closing it at the same moment.
            with self.outbuf_lock:
                self._hold(0)

    def write_soon(self, data: bytes) -> int:
        """Takes a piece of the answer, and never waits. Raises `ClientDisconnected`."""
        with self.outbuf_lock:
            if not self.connected:
                raise ClientDisconnected
            self._outgoing.append(data)
            if self._outgoing.pending >= SEND_THRESHOLD:
                self._send()
        return len(data)

    def answered(self, callbacks: list[Callable[[], None]]) -> None:
        """The answer is whole: what can be sent is, and the others are told when the rest has left."""
        with self.outbuf_lock:
            self._hold(0)
            self._idle_since = time.monotonic()
            self._outgoing.then(callbacks)
            due = self._send() if self.connected else self._outgoing.give_up()
        run_callbacks(due)

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Waitress would have the worker wait here."""

    # Sending

    def writable(self) -> bool:
        """Whether `handle_write` has something to do."""
        if self._outgoing.pending or self.will_close or self.close_when_flushed:
            return True
        return bool(self._unparsed) and self.is_waiting

    def handle_write(self) -> None:
        """Sends on; once all has left, goes on with what was read ahead, or ends."""
        with self.outbuf_lock:
            due = self._send() if self.connected else []
        run_callbacks(due)
        if not self._outgoing.pending and not self.will_close:
            if self.close_when_flushed:
                self._end()
            else:
                self.received(b"")
        if self.will_close:
            self.handle_close()

    def _send(self) -> list[Callable[[], None]]:
        """What the client takes now, under the lock; whom to tell."""
        try:
            return self._outgoing.send(self.socket)
        except OSError:
            self.will_close = True
            return []

    def _end(self) -> None:
        """Closes; but a client of whom something was not read would meet a reset, not the whole answer."""
        self.close_when_flushed = False
        if self._refused or self._has_unread():
            self._lingers_until = time.monotonic() + self.traffic.limits.linger_seconds
            self._unparsed = b""
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
                return
        self.will_close = True

    def _has_unread(self) -> bool:
        with suppress(OSError):
            return bool(self.socket.recv(1, socket.MSG_PEEK))
        return False

    def handle_close(self) -> None:
        """Closes at once. Idempotent; the server's own thread alone may."""
        with self.outbuf_lock:
            self.connected = False
            due = self._outgoing.give_up()
            if not self.requests:
                self._hold(0)
        run_callbacks(due)
        self.traffic.closed(self)
        if self.socket is not None:
            wasyncore.dispatcher.close(self)
