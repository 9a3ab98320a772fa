"""What connections may take of the process: time, bytes, and their number."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB
CONNECTIONS, IDLE_SECONDS = 1000, 120.0


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of one process. Seconds, bytes, and bytes in a second."""

    #: Bytes of one request's body, once decoded.
    body_bytes: int
    connections: int = CONNECTIONS
    #: How long a connection without a request stays open.
    idle_seconds: float = IDLE_SECONDS
    #: From the first byte of a request to the end of its header.
    header_seconds: float = 10.0
    #: What a body or an answer is granted on top of its size at the least rate.
    grace_seconds: float = 10.0
    body_rate: int = 16 * KIB
    answer_rate: int = 64 * KIB
    #: How long a client may take nothing of an answer that is ready for it.
    unread_seconds: float = 10.0
    #: An answer of which nothing was read for so long is dropped when all together exceed their bound.
    stalled_seconds: float = 1.0
    #: How long what a refused client goes on sending is read and dropped, so that it meets the answer.
    linger_seconds: float = 10.0
    #: Of all requests that are being received, wait or are under way.
    request_bytes: int = 64 * MIB
    #: Of all answers that were not taken yet.
    answer_bytes: int = 128 * MIB
    drain_seconds: float = 30.0
