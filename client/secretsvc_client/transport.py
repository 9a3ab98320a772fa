"""One request and its answer: over TLS unless to this machine, within one deadline, of bounded size.

A proxy of the environment gets a tunnel and no request.

Nothing is followed and nothing is sent twice: a redirect is an answer like another.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from secretsvc_client.errors import Failure, Refused, Unreachable, WrongUse
from secretsvc_client.grammar import printable
from secretsvc_client.origins import Origin, is_loopback
from secretsvc_client.timed_socket import Deadline, TimedSocket, too_slow

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from secretsvc_client.proxies import Proxy

#: Bytes of an answer.
LARGEST = 64 * 1024 * 1024
_LARGEST_ERROR = 1024 * 1024
_PIECE = 262_144
_NO_BODY = {204, 304}
#: Python of python.org has no certificates on macOS at first.
_MACOS = " Python of python.org: run Install Certificates.command." if sys.platform == "darwin" else ""


class Answer(NamedTuple):
    """Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def exchange(
    origin: Origin,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes | None,
    seconds: float,
) -> Answer:
    """The answer to one request for `target`, a path with its query.

    Raises `Unreachable` where none came or half of one, `Refused` for a certificate that does not fit, and
    `Failure` for what is no answer of HTTP, has no end that can be told, or is too large.
    """
    from http.client import HTTPException, IncompleteRead, RemoteDisconnected

    try:
        return _exchanged(origin, method, target, headers, body, Deadline(seconds))
    except (RemoteDisconnected, IncompleteRead):
        raise _cut() from None
    except HTTPException as error:
        raise Failure(
            f"what answers is no server of HTTP ({type(error).__name__})", "Look at the URL."
        ) from None
    except (TimeoutError, socket.timeout):
        raise too_slow(seconds) from None
    except OSError as error:
        raise _unreachable(origin, error) from None


def _exchanged(
    origin: Origin,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes | None,
    deadline: Deadline,
) -> Answer:
    from http.client import HTTPConnection

    with _connected(origin, deadline) as connected:
        timed = TimedSocket(connected, deadline)
        connection = HTTPConnection(origin.host, origin.port)
        connection.sock = cast("socket.socket", timed)
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for name, value in {"Host": origin.authority, "Connection": "close", **headers}.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        # A header that ends early looks like a whole one to `http.client`.
        if timed.reader.line == b"":
            raise _cut()
        return _read(response)


def _read(response: HTTPResponse) -> Answer:
    """The whole answer; whether it is whole, its length or its chunks tell."""
    headers = {name.lower(): value for name, value in response.getheaders()}
    if response.status in _NO_BODY:
        return Answer(response.status, headers, b"")
    if response.status >= 300:
        return Answer(response.status, headers, _error_body(response))
    if response.length is None and not response.chunked:
        raise Failure("the answer has no length, so that nobody can tell whether it is whole")
    if headers.get("content-encoding", "identity") != "identity":
        raise Failure("the answer is encoded, which was not asked for")
    expected, pieces, size = response.length, [], 0
    if expected is not None and expected > LARGEST:
        raise _too_large()
    while piece := response.read(_PIECE):
        size += len(piece)
        if size > LARGEST:
            raise _too_large()
        pieces.append(piece)
    if expected is not None and size != expected:
        raise _cut()
    return Answer(response.status, headers, b"".join(pieces))


def _error_body(response: HTTPResponse) -> bytes:
    """Return the body of an error, empty if it cannot be read: its status counts in any case.

    Load balancers send error pages without a length.
    """
    from http.client import HTTPException

    try:
        return response.read(_LARGEST_ERROR)
    except (HTTPException, OSError, Unreachable):
        return b""


def _cut() -> Unreachable:
    return Unreachable("the connection was cut before the answer was whole", "Try again.")


def _too_large() -> Failure:
    return Failure(f"the answer is larger than {LARGEST >> 20} MiB")


def _connected(origin: Origin, deadline: Deadline) -> socket.socket:
    """Return a connection to the first address that accepts it, or a tunnel through the proxy."""
    problem: OSError = OSError("no address")
    proxy = _proxy_of(origin)
    for family, kind, protocol, _name, address in _addresses(proxy or origin, deadline):
        if origin.scheme == "http" and not is_loopback(str(address[0])):
            raise WrongUse(f"{printable(origin.host)} is not this machine: it is asked over https only")
        plain = socket.socket(family, kind, protocol)
        try:
            plain.settimeout(deadline.left())
            plain.connect(address)
            if origin.scheme == "http":
                return plain
            if proxy is not None:
                proxy.open_tunnel(plain, origin, deadline)
            from secretsvc_client.handshake import secured

            return secured(plain, origin, deadline, is_tunnel=proxy is not None)
        except OSError as error:
            plain.close()
            problem = error
        except BaseException:
            plain.close()
            raise
    raise problem


def _proxy_of(origin: Origin) -> Proxy | None:
    """Return the proxy for the origin, whose module is loaded only where the environment names one."""
    if not (os.environ.get("HTTPS_PROXY") or os.environ.get("https_proxy")):
        return None
    from secretsvc_client.proxies import proxy_of

    return proxy_of(origin, os.environ)


_Addresses = Iterable[tuple[int, int, int, str, tuple[object, ...]]]


def _addresses(server: Origin | Proxy, deadline: Deadline) -> _Addresses:
    """Return the resolver's answer; a thread asks for a name, for a resolver knows no deadline."""

    def resolve(flags: int = 0) -> _Addresses:
        return socket.getaddrinfo(server.host, server.port, 0, socket.SOCK_STREAM, 0, flags)

    try:
        return resolve(socket.AI_NUMERICHOST)
    except socket.gaierror:
        return _within(deadline, resolve)


def _within(deadline: Deadline, ask: Callable[[], _Addresses]) -> _Addresses:
    from queue import Empty, SimpleQueue
    from threading import Thread

    answers: SimpleQueue[_Addresses | OSError] = SimpleQueue()

    def run() -> None:
        try:
            answers.put(ask())
        except (OSError, UnicodeError) as error:
            answers.put(error if isinstance(error, OSError) else OSError("no name"))

    Thread(target=run, daemon=True).start()
    try:
        found = answers.get(timeout=deadline.left())
    except Empty:
        raise too_slow(deadline.seconds) from None
    if isinstance(found, OSError):
        raise found
    return found


def _unreachable(origin: Origin, error: OSError) -> Failure:
    # The name of the class, so that the module is not loaded where there is no TLS.
    if type(error).__name__ == "SSLCertVerificationError":
        reason = printable(getattr(error, "verify_message", "") or "it is not trusted")
        return Refused(
            f"the certificate of {origin.host} does not fit: {reason}",
            "For an authority of your own set SSL_CERT_FILE; never send a credential past this." + _MACOS,
        )
    if getattr(error, "reason", None) in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        from secretsvc_client.handshake import no_tls

        return no_tls(origin)
    reason = type(error).__name__ if error.errno is None else printable(error.strerror or error.errno)
    proxy = _proxy_of(origin)
    if proxy is not None:
        return Unreachable(
            f"{origin.authority} cannot be reached through the proxy {proxy}: {reason}",
            "Is HTTPS_PROXY right? If the service is reached without a proxy, name its host in NO_PROXY.",
        )
    return Unreachable(f"{origin.authority} cannot be reached: {reason}", "Is the service running?")
