"""A relay in front of PostgreSQL that can be slow, fall silent, refuse, or forget its connections."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import make_url

_LOOPBACK = "127.0.0.1"
_CHUNK = 65_536


class Relay:
    """Passes on what clients and a server say to each other, until `close`.

    While it is silent all that is sent is taken, as by the kernel of a machine whose programs are frozen, and
    nothing comes back.
    """

    def __init__(self, url: str) -> None:
        """`url` is that of the database; `self.url` is the one to be used instead."""
        parts = make_url(url)
        self._host = str(parts.host or parts.query["host"])
        self._target_port = parts.port or 5432
        #: Each answer comes so many seconds late.
        self.delay = 0.0
        self._speaking = _set_event()
        self._sockets: list[socket.socket] = []
        self._listener = self._listen(0)
        self.port = int(self._listener.getsockname()[1])
        query = {name: value for name, value in parts.query.items() if name not in ("host", "port")}
        away = parts.set(host=_LOOPBACK, port=self.port, query=query)
        self.url = away.render_as_string(hide_password=False)

    def hush(self) -> None:
        """Falls silent, to who is there and to who comes."""
        self._speaking.clear()

    def speak(self) -> None:
        """Says what was to be said meanwhile, and goes on."""
        self._speaking.set()

    def forget(self) -> None:
        """Is silent for ever to who is there, and serves who comes: a firewall that was restarted."""
        self._speaking.clear()
        self._speaking = _set_event()

    def refuse(self) -> None:
        """As where nobody listens: hangs up on who is there, and refuses who comes."""
        _end(self._listener)
        for one in self._sockets:
            _end(one)
        self._sockets.clear()

    def listen(self) -> None:
        """Ends that."""
        self._listener = self._listen(self.port)

    def close(self) -> None:
        """Ends it all."""
        self._speaking.set()
        self.refuse()

    def _listen(self, port: int) -> socket.socket:
        listener = socket.create_server((_LOOPBACK, port), backlog=128)
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        speaking = self._speaking
        speaking.wait()
        try:
            server = self._reach()
        except OSError:
            _end(client)
            return
        self._sockets += [client, server]
        threading.Thread(target=self._answer, args=(server, client, speaking), daemon=True).start()
        _pass_on(client, server, speaking)

    def _answer(self, server: socket.socket, client: socket.socket, speaking: threading.Event) -> None:
        _pass_on(server, client, speaking, lambda: time.sleep(self.delay))

    def _reach(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._target_port))
        made = socket.socket(socket.AF_UNIX)
        made.connect(f"{self._host}/.s.PGSQL.{self._target_port}")
        return made


@contextmanager
def relayed(url: str) -> Iterator[Relay]:
    """A relay to that database."""
    relay = Relay(url)
    try:
        yield relay
    finally:
        relay.close()


def _set_event() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def _pass_on(
    source: socket.socket, sink: socket.socket, speaking: threading.Event, wait: Callable[[], None] = bool
) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            wait()
            speaking.wait()
            sink.sendall(data)
    _end(source)
    _end(sink)


def _end(one: socket.socket) -> None:
    # Closed alone, it would not wake the thread that waits for it.
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
