"""Sources of an issuer's keys: a file, or HTTP without redirects, with a size limit and a deadline."""

from __future__ import annotations

import io
import os
import re
import socket
import ssl
import time
from base64 import b64encode
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.error import HTTPError
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass, url2pathname

MAX_BYTES = 262_144
MAX_TOKEN = 16_384
# RFC 6750, 2.1.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
# Some hosts answer 403 to a library's default User-Agent.
HEADERS = {"User-Agent": "secretsvc", "Accept": "application/jwk-set+json, application/json"}


class KeySource(Protocol):
    """A source of a JWKS document."""

    # Whether `read` is quick enough for a thread that serves a request.
    local: bool

    def changed(self) -> bool:
        """Return whether the document is known to differ from the last one read."""

    def read(self) -> bytes:
        """Return the document. Raises OSError, HTTPException or ValueError."""


class UnreadableFile(OSError):
    """The file of a setting is absent or malformed; `code` is the end of the setting's name."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Credentials:
    """Files for a fetch, read at each one, so that a replaced file needs no restart.

    `ca_file` replaces the system's trusted authorities; `token_file` contains a bearer token to send.
    """

    ca_file: Path | None = None
    token_file: Path | None = None

    def context(self, scheme: str) -> ssl.SSLContext | None:
        """Return how a server is verified; None for plain HTTP. Raises `UnreadableFile`."""
        if scheme != "https" and self.ca_file is None:
            return None
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError:
            raise UnreadableFile("CA_FILE") from None

    def headers(self) -> dict[str, str]:
        """Return the header with the token. Raises `UnreadableFile`, also for a malformed token."""
        if self.token_file is None:
            return {}
        try:
            with self.token_file.open(encoding="ascii") as file:
                token = file.read(MAX_TOKEN + 1).strip()
        except (OSError, ValueError):
            raise UnreadableFile("TOKEN_FILE") from None
        if len(token) > MAX_TOKEN or not _TOKEN.fullmatch(token):
            raise UnreadableFile("TOKEN_FILE")
        return {"Authorization": f"Bearer {token}"}


NO_CREDENTIALS = Credentials()


def key_source(url: str, deadline: float, credentials: Credentials = NO_CREDENTIALS) -> KeySource:
    """Return the source for an `https:`, `http:` or `file:` URL; a whole fetch takes `deadline` seconds."""
    if urlsplit(url).scheme == "file":
        return FileSource(url2pathname(urlsplit(url).path))
    return HttpSource(url, deadline, credentials)


class FileSource:
    """A file; it has changed when its time, size or inode differs from the last read."""

    local = True

    def __init__(self, path: str) -> None:
        self._path = path
        self._read_stamp: tuple[int, int, int] | None = None

    def changed(self) -> bool:
        """Return whether the file has changed: one `stat`."""
        return self._stamp() != self._read_stamp

    def read(self) -> bytes:
        """Return the content. Raises OSError or, over the size limit, ValueError."""
        # Before the content: a write in between then counts as a change.
        self._read_stamp = self._stamp()
        with open(self._path, "rb") as file:
            return _limited(file.read(MAX_BYTES + 1))

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino


class HttpSource:
    """A URL, fetched without redirects, with a size limit and one deadline for the whole fetch."""

    local = False

    def __init__(self, url: str, deadline: float, credentials: Credentials = NO_CREDENTIALS) -> None:
        self._url, self._deadline, self._credentials = url, deadline, credentials

    def changed(self) -> bool:
        """Return False: only a fetch could find out."""
        return False

    def read(self) -> bytes:
        """Return the body.

        Raises OSError (TimeoutError at the deadline, `UnreadableFile`), HTTPException or ValueError.
        """
        ends = time.monotonic() + self._deadline
        url = urlsplit(self._url)
        context = self._credentials.context(url.scheme)
        headers = HEADERS | {"Host": url.netloc.rpartition("@")[2]} | self._credentials.headers()
        with closing(_connection(url, ends)) as connection:
            connection.connect()
            if url.scheme == "https" and context is not None:
                # The socket's timeout limits a whole handshake.
                connection.sock.settimeout(_left(ends))
                connection.sock = context.wrap_socket(connection.sock, server_hostname=url.hostname)
            target = url._replace(scheme="", netloc="", fragment="").geturl()
            connection.request("GET", target, headers=headers)
            # `connection.getresponse` would close the socket before the body is read.
            response = _response(ends, connection.sock, method="GET")
            response.begin()
            if not 200 <= response.status < 300:
                raise HTTPError(self._url, response.status, response.reason, response.headers, None)
            return _limited(response.read(MAX_BYTES + 1))


def _limited(body: bytes) -> bytes:
    if len(body) > MAX_BYTES:
        raise ValueError("too large")
    return body


def _left(ends: float) -> float:
    """Return the seconds until `ends`. Raises `TimeoutError` after it."""
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _connection(url: SplitResult, ends: float) -> HTTPConnection:
    """Return a connection to the host of a URL, without TLS, through the proxy of the environment."""
    host, port = str(url.hostname), url.port or (443 if url.scheme == "https" else 80)
    # Plain http is only for loopback, and must not leave the machine through a proxy.
    proxy = getproxies().get("https") if url.scheme == "https" and not proxy_bypass(url.netloc) else None
    if proxy is None:
        connection = HTTPConnection(host, port, timeout=_left(ends))
    else:
        via = urlsplit(proxy if "//" in proxy else f"//{proxy}")
        connection = HTTPConnection(str(via.hostname), via.port, timeout=_left(ends))
        connection.set_tunnel(host, port, _proxy_credentials(via))
        # Typed as a class, but any function that returns a response will do.
        connection.response_class = cast(Any, partial(_response, ends))
    return connection


def _proxy_credentials(via: SplitResult) -> dict[str, str]:
    if via.username is None:
        return {}
    pair = f"{unquote(via.username)}:{unquote(via.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}


def _response(ends: float, connected: socket.socket, **options: Any) -> HTTPResponse:
    return HTTPResponse(cast(socket.socket, _Received(connected, ends)), **options)


class _Received(io.RawIOBase):
    """The bytes that a socket receives until the deadline.

    A socket's own timeout starts again with each byte: a slow peer could keep the thread for ever.
    """

    def __init__(self, connected: socket.socket, ends: float) -> None:
        self._socket, self._ends = connected, ends

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return a reader, as `HTTPResponse` expects it of a socket."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._socket.settimeout(_left(self._ends))
        return self._socket.recv_into(buffer)
