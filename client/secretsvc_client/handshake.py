"""TLS on a connection, and an early answer if the server speaks HTTP without it."""

from __future__ import annotations

import socket
import ssl
from typing import cast

from secretsvc_client.errors import Unreachable
from secretsvc_client.origins import Origin
from secretsvc_client.timed_socket import Deadline

#: Seconds of silence in a TLS handshake after which the client looks for HTTP without TLS.
_SILENCE = 1.0


def secured(
    plain: socket.socket, origin: Origin, deadline: Deadline, *, is_tunnel: bool = False
) -> ssl.SSLSocket:
    """Return the socket after the TLS handshake; raise `OSError` and `Unreachable`.

    `is_tunnel` says that the other side of the socket is a proxy, which no probe may ask.
    """
    # Not the default context: that one logs the keys of connections where SSLKEYLOGFILE says so.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_default_certs()
    made = context.wrap_socket(plain, server_hostname=origin.host, do_handshake_on_connect=False)
    try:
        if is_tunnel:
            made.settimeout(deadline.left())
            made.do_handshake()
        else:
            _shake_hands(made, origin, deadline)
    except BaseException:
        made.close()
        raise
    return made


def _shake_hands(secured: ssl.SSLSocket, origin: Origin, deadline: Deadline) -> None:
    """Do the TLS handshake; find out early whether a silent server speaks HTTP without TLS."""
    try:
        secured.settimeout(min(_SILENCE, deadline.left()))
        secured.do_handshake()
        return
    except (TimeoutError, socket.timeout):
        if _speaks_http(secured.getpeername(), secured.family, deadline):
            raise no_tls(origin) from None
    secured.settimeout(deadline.left())
    secured.do_handshake()


def _speaks_http(address: object, family: int, deadline: Deadline) -> bool:
    """Whether a server answers a request without TLS, which carries no credential."""
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.settimeout(min(_SILENCE, deadline.left()))
            probe.connect(cast("tuple[str, int]", address))
            probe.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
            return probe.recv(5) == b"HTTP/"
    except OSError:
        return False


def no_tls(origin: Origin) -> Unreachable:
    """Return the failure of a server without TLS."""
    return Unreachable(f"{origin.authority} does not speak TLS", "Does the URL begin with http?")
