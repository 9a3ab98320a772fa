"""A proxy of HTTP that opens tunnels, to servers of this machine by names that no resolver knows."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from hostile import SECONDS, Hostile, _request, answered

OPEN = b"HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n"


class ConnectProxy(Hostile):
    """A context manager; `routes` are the ports by `host:port`, `instead` an answer in place of a tunnel."""

    def __init__(self, routes: dict[str, int], instead: list[bytes | float] | None = None) -> None:
        super().__init__()
        self.routes, self.instead = routes, instead

    @property
    def targets(self) -> list[str]:
        return [request.split(b" ")[1].decode() for request in self.requests]

    def _answer(self, plain: socket.socket) -> None:
        with suppress(OSError), plain:
            plain.settimeout(SECONDS)
            self.requests.append(_request(plain))
            for part in self.instead or []:
                if isinstance(part, bytes):
                    plain.sendall(part)
                else:
                    self._wait(part)
            if self.instead is None:
                self._tunnel(plain)

    def _tunnel(self, plain: socket.socket) -> None:
        port = self.routes.get(self.targets[-1])
        if port is None or not self.requests[-1].startswith(b"CONNECT "):
            plain.sendall(answered(502, b"no route"))
            return
        with socket.create_connection(("127.0.0.1", port), SECONDS) as service:
            plain.sendall(OPEN)
            back = threading.Thread(target=_pump, args=(service, plain), daemon=True)
            back.start()
            _pump(plain, service)
            back.join(SECONDS)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)
