"""A connection: one request at a time, at most one buffer read ahead, and no thread that waits for a client.

Two threads work on it, the event loop of the server and, while a request is served, a worker::

    event loop                               worker

    idle <----------------------------+
      | first byte                    |
    receiving the header              |
      | header complete               |
    receiving the body                |
      | request whole or refused      |
      +-------------------------------|----> serving: `write_soon` appends to the `SendBuffer`,
                                      |        |      and sends what the kernel accepts
    sending the rest <----------------|--------+ `finish_answer`: the answer is whole
      | all sent, and it stays open --+
      | all sent, and it closes
    lingering: reads what the client still sends, so that a reset does not reach it before the answer
      |
    closed

Each state but serving has a deadline (`overdue`), after which the event loop closes the connection. The
next request is parsed once the answer before it is sent. Until then one buffer is read ahead, and the rest
stays in the kernels of client and server.
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

#: Fewer bytes wait for the end of the answer, so that a header and a short body go in one packet.
SEND_THRESHOLD = 64 * 1024
#: Bytes of a chunked body to parse before the next connection: short chunks take long to parse.
CHUNKED_SLICE = 512
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# SO_LINGER on, with 0 seconds: the kernel discards what it still has for the client, and resets.
RESET = struct.pack("ii", 1, 0)


class _WithoutPaths(logging.LoggerAdapter[logging.Logger]):
    """Remove the path that waitress logs: a path can contain anything, and is never logged."""

    def process(
        self, msg: str, kwargs: MutableMapping[str, object]
    ) -> tuple[str, MutableMapping[str, object]]:
        what, found, _ = msg.partition(" while serving ")
        return (f"{what} while serving a request" if found else msg), kwargs


class Channel(HTTPChannel):  # type: ignore[misc]  # it has no types of its own
    """Waitress's connection, whose `service` executes the requests, with bounds.

    `requests` has at most one. `outbuf_lock` guards what a worker also changes: the send buffer, `connected`
    and the count of the request's bytes.
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
        self._outgoing = SendBuffer(self.traffic.add_answer_bytes)
        self._request_bytes = 0
        self._idle_since = self._began = time.monotonic()
        self._body_began: float | None = None
        self._refused = False
        self._lingers_until: float | None = None
        super().__init__(server, connection, address, adj, map)
        self.traffic.opened(self)

    # What the tracker asks, in the event loop

    @property
    def is_waiting(self) -> bool:
        """Whether it has neither a whole request nor an answer to send."""
        return not self.requests and not self._outgoing.pending

    @property
    def is_receiving(self) -> bool:
        """Whether a request has begun to arrive and is not whole."""
        return self.request is not None

    def unread_for(self, now: float) -> float:
        """Return the seconds for which its client has accepted nothing of a whole answer."""
        return 0.0 if self.requests else self._outgoing.unread_for(now)

    def overdue(self, now: float) -> str | None:
        """Return the name of the deadline that has passed; a request being served has none."""
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
        """Close it at once; the kernel discards an answer or a request that is not complete."""
        if self._outgoing.pending or self.is_receiving:
            with suppress(OSError):
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.handle_close()

    # Receiving, in the event loop

    def readable(self) -> bool:
        """Whether the event loop should read from the client now."""
        if self.will_close or self.close_when_flushed:
            return False
        return not (self.requests or self._outgoing.pending or self._unparsed)

    def handle_read(self) -> None:
        """Read what has arrived, and parse it."""
        try:
            data = self.recv(self.adj.recv_bytes)
        except BlockingIOError:
            # The kernel can report bytes, and then have none.
            return
        except OSError:
            self.handle_close()
            return
        if data and self._lingers_until is None:
            self.received(data)

    def received(self, data: bytes) -> None:
        """Parse up to the next whole request, and pass that to the workers."""
        self._unparsed += data
        # A worker that has just answered reads both `requests` and `request`.
        with self.requests_lock:
            while self._unparsed and self.is_waiting and not (self.will_close or self.close_when_flushed):
                chunked = self.request is not None and self.request.chunked
                self._parse(time.monotonic(), CHUNKED_SLICE if chunked else len(self._unparsed))
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
        self._count_request(self.request.buffered_bytes)
        if self.request.is_receiving_body and self._body_began is None:
            self._body_began = now
            if self.request.expect_continue:
                self.send_continue()

    def _complete(self, request: Parser) -> None:
        self.request = None
        if request.empty:
            return
        self._count_request(request.buffered_bytes)
        self._refused = request.error is not None
        self.traffic.requested(self)
        self.requests.append(request)
        self.server.add_task(self)

    def _count_request(self, size: int) -> None:
        self.traffic.add_request_bytes(size - self._request_bytes)
        self._request_bytes = size

    def send_continue(self) -> None:
        """Ask a client that sent `Expect: 100-continue` for the body."""
        self.request.expect_continue = False
        with self.outbuf_lock:
            self._outgoing.append(CONTINUE)
            run_callbacks(self._send())

    # Answering, in a worker

    def service(self) -> None:
        """Execute the request that is there, unless its client has gone."""
        super().service()
        if not self.connected:
            # The event loop can be closing it at the same moment.
            with self.outbuf_lock:
                self._count_request(0)

    def write_soon(self, data: bytes) -> int:
        """Append a piece of the answer; never waits. Raises `ClientDisconnected`."""
        with self.outbuf_lock:
            if not self.connected:
                raise ClientDisconnected
            self._outgoing.append(data)
            if self._outgoing.pending >= SEND_THRESHOLD:
                self._send()
        return len(data)

    def finish_answer(self, callbacks: list[Callable[[], None]]) -> None:
        """Send what can be sent of the whole answer; call `callbacks` once the rest is sent, too."""
        with self.outbuf_lock:
            self._count_request(0)
            self._idle_since = time.monotonic()
            self._outgoing.call_when_sent(callbacks)
            due = self._send() if self.connected else self._outgoing.discard()
        run_callbacks(due)

    def _flush_outbufs_below_high_watermark(self) -> None:
        """Do nothing: waitress would let the worker wait for the client here."""

    # Sending, in the event loop

    def writable(self) -> bool:
        """Whether `handle_write` has something to do."""
        if self._outgoing.pending or self.will_close or self.close_when_flushed:
            return True
        return bool(self._unparsed) and self.is_waiting

    def handle_write(self) -> None:
        """Send more; once all is sent, parse what was read ahead, or close the connection."""
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
        """Send what the kernel accepts, under the lock; return the callbacks to call."""
        try:
            return self._outgoing.send(self.socket)
        except OSError:
            self.will_close = True
            return []

    def _end(self) -> None:
        """Close, or linger if bytes of the client are unread: then a reset could overtake the answer."""
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
        """Close at once. Idempotent; only for the event loop."""
        with self.outbuf_lock:
            self.connected = False
            due = self._outgoing.discard()
            if not self.requests:
                self._count_request(0)
        run_callbacks(due)
        self.traffic.closed(self)
        if self.socket is not None:
            wasyncore.dispatcher.close(self)
