"""A relay between the client and the service, as a load balancer is one, whose answers a test chooses."""

from __future__ import annotations

import socket
from collections.abc import Callable
from urllib.parse import urlsplit

from hostile import SECONDS, Hostile


class Balancer(Hostile):
    """Passes requests to the service at `url`; `instead` and `after` may answer in its place.

    Both get the number of the request, from 0. `instead` answers before the service is asked, or returns
    None; `after` gets the service's answer and returns the one that is sent.
    """

    def __init__(self, url: str) -> None:
        super().__init__(self._passed)
        parts = urlsplit(url)
        self._service = (str(parts.hostname), int(parts.port or 80))
        self.answers: list[bytes] = []
        self.instead: Callable[[int], bytes | None] = lambda _number: None
        self.after: Callable[[int, bytes], bytes] = lambda _number, answer: answer

    def reset(self) -> None:
        """Forget the requests: the next one has the number 0."""
        self.requests.clear()
        self.answers.clear()

    def _passed(self, request: bytes) -> bytes:
        number = len(self.requests) - 1
        answer = self.instead(number)
        if answer is None:
            with socket.create_connection(self._service, SECONDS) as connection:
                connection.sendall(request)
                answer = b""
                while piece := connection.recv(65536):
                    answer += piece
            self.answers.append(answer)
            answer = self.after(number, answer)
        return answer
