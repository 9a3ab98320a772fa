"""Limits of connections: their number, bytes and seconds."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB
CONNECTIONS, IDLE_SECONDS = 1000, 120.0


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of one process, in seconds, bytes, and bytes per second."""

    #: Bytes of one request's body, once decoded.
    body_bytes: int
    connections: int = CONNECTIONS
    #: For a connection without a request.
    idle_seconds: float = IDLE_SECONDS
    #: From the first byte of a request to the end of its header.
    header_seconds: float = 10.0
    #: For a body or an answer, in addition to its size at the lowest rate.
    grace_seconds: float = 10.0
    body_rate: int = 16 * KIB
    answer_rate: int = 64 * KIB
    #: For a client that accepts nothing of an answer.
    unread_seconds: float = 10.0
    #: When all answers exceed `answer_bytes`, for one of which a client accepts nothing before it is dropped.
    stalled_seconds: float = 1.0
    #: For reading and discarding what a refused client still sends, so that it receives the answer.
    linger_seconds: float = 10.0
    #: Of all requests that are received, queued or served.
    request_bytes: int = 64 * MIB
    #: Of all answers that clients have not accepted yet.
    answer_bytes: int = 128 * MIB
    drain_seconds: float = 30.0
