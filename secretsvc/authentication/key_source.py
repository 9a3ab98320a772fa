"""Where an issuer's keys are read from: over HTTP within a deadline, or from a file."""

from __future__ import annotations

import os
import re
import socket
import ssl
import threading
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, cast
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    getproxies,
    url2pathname,
)

MAX_BYTES = 262_144
MAX_TOKEN = 16_384
# RFC 6750, 2.1.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
# Without a name of its own the request is answered 403 by hosts that refuse a library's default.
HEADERS = {"User-Agent": "secretsvc", "Accept": "application/jwk-set+json, application/json"}


class KeySource(Protocol):
    """Where a JWKS document is read from."""

    # Whether `read` is quick enough for the thread that serves a request.
    local: bool

    def changed(self) -> bool:
        """Whether the document is known to differ from the last one read."""

    def read(self) -> bytes:
        """The document. Raises OSError, HTTPException or ValueError."""


class UnreadableFile(OSError):
    """A file that a setting names is not there, or not what it should be; `code` is the setting's end."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Credentials:
    """Files that a fetch needs, read at each: whoever exchanges one need not restart anything.

    `ca_file` replaces the system's trusted authorities; what is in `token_file` is sent as a bearer token.
    """

    ca_file: Path | None = None
    token_file: Path | None = None

    def context(self, scheme: str) -> ssl.SSLContext | None:
        """What a server must prove; None where nobody does. Raises `UnreadableFile`."""
        if scheme != "https" and self.ca_file is None:
            return None
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError:
            raise UnreadableFile("CA_FILE") from None

    def headers(self) -> dict[str, str]:
        """Raises `UnreadableFile`, also for what is no token."""
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
    """The source for an `https:`, `http:` or `file:` URL; `deadline` is the seconds for a whole fetch."""
    if urlsplit(url).scheme == "file":
        return FileSource(url2pathname(urlsplit(url).path))
    return HttpSource(url, deadline, credentials)


class FileSource:
    """A file, which counts as changed when its time, size or inode is another."""

    local = True

    def __init__(self, path: str) -> None:
        self._path = path
        self._read_stamp: tuple[int, int, int] | None = None

    def changed(self) -> bool:
        """Costs one `stat`."""
        return self._stamp() != self._read_stamp

    def read(self) -> bytes:
        """Raises OSError or, over the size limit, ValueError."""
        # Before the content: a write that comes in between is then seen as a change.
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
    """A URL, fetched without redirects, of limited size, and within a deadline for the whole of it."""

    local = False

    def __init__(self, url: str, deadline: float, credentials: Credentials = NO_CREDENTIALS) -> None:
        self._url, self._deadline, self._credentials = url, deadline, credentials

    def changed(self) -> bool:
        """Only a fetch can tell."""
        return False

    def read(self) -> bytes:
        """Raises OSError (TimeoutError at the deadline, `UnreadableFile`), HTTPException or ValueError."""
        context = self._credentials.context(urlsplit(self._url).scheme)
        headers = HEADERS | self._credentials.headers()
        request = Request(self._url, headers=headers)  # noqa: S310 - the opener knows two schemes only
        with _Watchdog(self._deadline) as watchdog:
            try:
                with _opener(watchdog, context).open(request, timeout=self._deadline) as response:
                    body = cast(HTTPResponse, response).read(MAX_BYTES + 1)
            except HTTPError as error:
                error.close()
                raise
        if watchdog.expired:
            raise TimeoutError
        return _limited(body)


def _limited(body: bytes) -> bytes:
    if len(body) > MAX_BYTES:
        raise ValueError("too large")
    return body


class _Watchdog:
    """Shuts connections down at a deadline.

    A socket's own timeout begins anew with each byte, so that a slow enough peer could hold us for ever.
    """

    def __init__(self, seconds: float) -> None:
        self.expired = False
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._timer = threading.Timer(seconds, self._expire)
        self._timer.daemon = True

    def __enter__(self) -> _Watchdog:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            for watched in self._sockets:
                watched.close()
            self._sockets.clear()

    def watch(self, connected: socket.socket) -> None:
        """Takes a duplicate, which stays valid when TLS takes the socket itself over."""
        with self._lock:
            self._sockets.append(connected.dup())

    def _expire(self) -> None:
        with self._lock:
            self.expired = True
            for watched in self._sockets:
                try:
                    watched.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue


class _Connection(HTTPConnection):
    watchdog: _Watchdog

    def connect(self) -> None:
        super().connect()
        self.watchdog.watch(self.sock)


class _TlsConnection(HTTPSConnection, _Connection):
    """By the order of its bases the plain socket is under watch before the TLS handshake begins."""


def _watched(kind: type[_Connection], watchdog: _Watchdog, host: str, **options: Any) -> _Connection:
    connection = kind(host, **options)
    connection.watchdog = watchdog
    return connection


class _Http(HTTPHandler):
    def __init__(self, watchdog: _Watchdog) -> None:
        super().__init__()
        self._watchdog = watchdog

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(_watched, _Connection, self._watchdog), req)


class _Https(HTTPSHandler):
    def __init__(self, watchdog: _Watchdog, context: ssl.SSLContext | None) -> None:
        super().__init__()
        self._watchdog, self._trusted = watchdog, context

    def https_open(self, req: Request) -> HTTPResponse:
        connection = partial(_watched, _TlsConnection, self._watchdog)
        return self.do_open(connection, req, context=self._trusted)


def _opener(watchdog: _Watchdog, context: ssl.SSLContext | None) -> OpenerDirector:
    """Without a redirect handler: whoever can redirect would otherwise choose the keys we trust."""
    opener = OpenerDirector()
    # Plain http is for loopback alone, and must not leave the machine through a proxy.
    proxies = {scheme: proxy for scheme, proxy in getproxies().items() if scheme == "https"}
    for handler in (ProxyHandler(proxies), HTTPDefaultErrorHandler(), HTTPErrorProcessor()):
        opener.add_handler(handler)
    opener.add_handler(_Http(watchdog))
    opener.add_handler(_Https(watchdog, context))
    return opener
