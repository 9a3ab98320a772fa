"""Listening sockets, TCP or Unix, bound here or passed by systemd."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from wsgiref.types import WSGIApplication

from waitress.adjustments import Adjustments
from waitress.server import BaseWSGIServer, TcpWSGIServer, UnixWSGIServer
from waitress.task import ThreadedTaskDispatcher

from secretsvc.server.channel import Channel
from secretsvc.server.connections import ConnectionTracker
from secretsvc.web.headers import error_answer, new_request_id

UNIX = "unix:"
RETRY_AFTER_SECONDS = 1
#: The kernel's receive buffer of a connection. By default it is megabytes, which the server would parse long
#: after the client has gone.
RECEIVE_BUFFER_BYTES = 64 * 1024
# systemd's protocol: the first of the descriptors that it passes.
FIRST_PASSED = 3
_NO_DESCRIPTOR = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class _Listener:
    """The base of both listeners: unlike waitress's, close another connection at the limit."""

    channel_class = Channel
    traffic: ConnectionTracker
    accepting: bool
    socket: socket.socket
    adj: Adjustments
    set_socket_options: Callable[[object], None]
    fix_addr: Callable[[object], object]
    _map: object
    ours: bool
    _has_waiting = False

    def readable(self) -> bool:
        """Return whether it listens."""
        return self.accepting

    def handle_accept(self) -> None:
        """Note that a client waits; `accept_waiting` accepts it.

        A connection that is closed to make room leaves its descriptor to the next one. An event of the same
        poll for the closed connection must not be taken for one of the new connection.
        """
        self._has_waiting = True

    def accept_waiting(self) -> None:
        """Accept the clients of the last poll; call it when all events of that poll are handled."""
        if self._has_waiting:
            self._has_waiting = False
            self.accept_all()

    def accept_all(self) -> None:
        """Accept all clients that have connected: no more than the kernel's queue contains."""
        for _ in range(self.adj.backlog + 1):
            if not self._accept_one():
                return

    def _accept_one(self) -> bool:
        """Accept or refuse one client; return whether there was one."""
        try:
            connection, address = self.socket.accept()
        except OSError as error:
            if error.errno in _NO_DESCRIPTOR:
                self.traffic.make_room(short=True)
            return False
        if not self.traffic.make_room():
            _refuse(connection)
            return True
        with suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            self.set_socket_options(connection)
        self.channel_class(self, connection, self.fix_addr(address), self.adj, self._map)
        return True


class TcpListener(_Listener, TcpWSGIServer):  # type: ignore[misc]  # it has no types of its own
    """A listening TCP socket."""


class UnixListener(_Listener, UnixWSGIServer):  # type: ignore[misc]  # it has no types of its own
    """A listening Unix socket. Its clients have no address: waitress calls them `localhost`."""


def _refuse(connection: socket.socket) -> None:
    """Answer `UNAVAILABLE` (contract 8.1) to a connection over the limit, if it can be sent at once."""
    message = "The service has as much to do as it can take."
    body, headers = error_answer("UNAVAILABLE", message, new_request_id())
    headers = [
        ("Content-Length", str(len(body))),
        ("Connection", "close"),
        ("Retry-After", str(RETRY_AFTER_SECONDS)),
        *headers,
    ]
    head = "\r\n".join(["HTTP/1.1 503 Service Unavailable", *(f"{name}: {value}" for name, value in headers)])
    with connection, suppress(OSError):
        connection.setblocking(False)
        connection.send(f"{head}\r\n\r\n".encode() + body)
        connection.shutdown(socket.SHUT_WR)


def listeners(
    application: WSGIApplication,
    traffic: ConnectionTracker,
    dispatcher: ThreadedTaskDispatcher,
    adj: Adjustments,
    map: dict[int, object],
) -> Iterator[BaseWSGIServer]:
    """Return a listener for each socket that systemd passed, else for the Unix socket or addresses of `adj`.

    Raises OSError for an address that cannot be bound.
    """
    shared = {"map": map, "_start": False, "dispatcher": dispatcher, "adj": adj}
    found = systemd_sockets()
    for passed in found:
        kind = UnixListener if passed.family == socket.AF_UNIX else TcpListener
        info = (passed.family, passed.type, passed.proto, passed.getsockname())
        listener = kind(application, _sock=passed, sockinfo=info, bind_socket=False, **shared)
        yield _started(listener, traffic, ours=False)
    if not found and adj.unix_socket:
        yield _started(UnixListener(application, **shared), traffic, ours=True)
    elif not found:
        for info in adj.listen:
            yield _started(TcpListener(application, sockinfo=info, **shared), traffic, ours=True)


def _started(listener: BaseWSGIServer, traffic: ConnectionTracker, *, ours: bool) -> BaseWSGIServer:
    listener.traffic, listener.ours = traffic, ours
    listener.accept_connections()
    return listener


def systemd_sockets() -> list[socket.socket]:
    """Return the sockets that systemd opened for this process (`LISTEN_FDS`); no child inherits them."""
    count = os.environ.pop("LISTEN_FDS", "0")
    if os.environ.pop("LISTEN_PID", "") != str(os.getpid()) or not count.isdecimal():
        return []
    os.environ.pop("LISTEN_FDNAMES", None)
    found = []
    for descriptor in range(FIRST_PASSED, FIRST_PASSED + int(count)):
        os.set_inheritable(descriptor, False)
        found.append(socket.socket(fileno=descriptor))
    return found


def sd_notify(state: str) -> None:
    """Send a state to systemd (`NOTIFY_SOCKET`); a no-op without it."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with (
        suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notifier,
    ):
        notifier.connect(address)
        notifier.sendall(state.encode())
