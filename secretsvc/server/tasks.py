"""One request and its answer: waitress's parser and tasks with the bounds and the stop that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.task import Task as BaseTask
from waitress.task import WSGITask
from waitress.utilities import RequestEntityTooLarge

from secretsvc.web.plaintext_budget import ON_SENT
from secretsvc.web.server_errors import AnsweringParser, EnvelopeErrorTask

#: How much longer the frames of a chunked body may make it on the wire.
FRAMES = 4


class Parser(AnsweringParser):
    """Refuse a body over the limit as soon as its header announces it or, chunked, it exceeds the limit.

    Waitress counts the frames of a chunked body as part of it, and does not limit a line between two frames.
    `adj.body_bytes` is the limit.
    """

    error: object
    body_rcv: Any

    def received(self, data: bytes) -> int:
        """Parse bytes; return how many belong to this request."""
        consumed: int = super().received(data)
        if self.error is None and self.body_rcv is not None and self._is_too_large():
            self.error = RequestEntityTooLarge("over the limit")
            self.completed = True
        return consumed

    def _is_too_large(self) -> bool:
        if not self.chunked:
            return bool(self.content_length > self.adj.body_bytes)
        between = len(self.body_rcv.control_line) + len(self.body_rcv.trailer)
        return bool(len(self.body_rcv) > self.adj.body_bytes or between > self.adj.max_request_header_size)

    @property
    def is_receiving_body(self) -> bool:
        """Whether the header is complete and the body is not."""
        return self.body_rcv is not None and not self.completed

    @property
    def buffered_bytes(self) -> int:
        """The bytes of the request that are in memory."""
        if self.body_rcv is None:
            return len(self.header_plus)
        between = len(self.body_rcv.control_line) + len(self.body_rcv.trailer) if self.chunked else 0
        return len(self.body_rcv) + between


class _ChannelTask(BaseTask):  # type: ignore[misc]  # it has no types of its own
    """The base of both tasks: report the end of the answer, and close the connection at a stop."""

    channel: HTTPChannel
    request: HTTPRequestParser

    def __init__(self, channel: object, request: object) -> None:
        super().__init__(channel, request)
        self.on_sent: list[Callable[[], None]] = []

    def service(self) -> None:
        """Execute the request; however that ends, release its bytes and send its answer."""
        try:
            super().service()
        finally:
            self.channel.finish_answer(self.on_sent)

    def build_response_header(self) -> bytes:
        """Return the header; while the process stops it announces the end of the connection."""
        if self.channel.traffic.stopping:
            # As if the client had asked for it: waitress then writes the header for either version of HTTP.
            self.request.headers["CONNECTION"] = "close"
        header: bytes = super().build_response_header()
        return header


class Task(_ChannelTask, WSGITask):  # type: ignore[misc]  # it has no types of its own
    """Execute a request by the application."""

    def get_environment(self) -> dict[str, object]:
        """Return the WSGI environ with `ON_SENT`, and without a file wrapper, which would stay open."""
        is_new = self.environ is None
        environ: dict[str, object] = super().get_environment()
        if is_new:
            del environ["wsgi.file_wrapper"]
            environ[ON_SENT] = self.on_sent
        return environ

    def set_close_on_finish(self) -> None:
        """Close the connection, but not because an answer without a body has no length (RFC 9112, 6.3)."""
        is_asked = self.request.headers.get("CONNECTION", "").lower() == "close"
        if self.has_body or is_asked or self.version != "1.1":
            super().set_close_on_finish()


class ErrorTask(_ChannelTask, EnvelopeErrorTask):
    """Answer a request without the application, because it is malformed or over a limit."""
