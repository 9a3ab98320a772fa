"""The server that a URL names, and whether a credential may go there at all."""

from __future__ import annotations

import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from secretsvc_client.errors import WrongUse
from secretsvc_client.grammar import printable


class Origin(NamedTuple):
    """A server: `path` is what stands before `/api/v1`, without a final slash."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """As the `Host` header names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.scheme == "https" else 80
        return host if self.port == usual else f"{host}:{self.port}"

    @property
    def server(self) -> str:
        """Scheme, host and port: the origin that a kept credential belongs to."""
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def origin_of(url: str) -> Origin:
    """The server that a URL names; raises `WrongUse` without repeating what may hold a password."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise WrongUse("the URL of the service cannot be read") from None
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise WrongUse("the URL of the service is not of the form https://secrets.example.com")
    if parts.username is not None or not url.isascii() or not url.isprintable() or " " in url:
        raise WrongUse(
            "the URL of the service holds a user, or characters that no URL has",
            "Write a host of other letters in its ASCII form, xn--….",
        )
    host = _canonical(host)
    if parts.scheme == "http" and not (host == "localhost" or is_loopback(host)):
        raise WrongUse(
            f"{printable(host)} is asked over http", "Only https, but to this machine itself (127.0.0.1)."
        )
    if parts.path.rstrip("/").endswith("/api/v1"):
        raise WrongUse("the URL of the service ends with /api/v1", "Leave /api/v1 out.")
    if port == 0:
        raise WrongUse("the URL of the service names port 0")
    return Origin(
        parts.scheme, host, port or (443 if parts.scheme == "https" else 80), parts.path.rstrip("/")
    )


def server_of(url: object) -> str | None:
    """The origin of a URL as text; None where the URL is not usable."""
    try:
        return origin_of(url).server if isinstance(url, str) else None
    except WrongUse:
        return None


def _canonical(host: str) -> str:
    """One spelling for each host: without the final dot of a name, IPv6 in its short form."""
    if ":" in host:
        try:
            return socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, host))
        except OSError:
            raise WrongUse("the URL of the service holds a malformed address") from None
    host = host[:-1] if host.endswith(".") else host
    if not all(host.split(".")):
        raise WrongUse("the URL of the service holds a host with an empty label")
    return host


def is_loopback(address: str) -> bool:
    """Whether it is an address, not a name, of this machine itself."""
    if address == "::1":
        return True
    try:
        return socket.inet_aton(address)[0] == 127 and address.count(".") == 3
    except OSError:
        return False
