"""The proxy that the environment names for https, and a tunnel through it (contract 16.10)."""

from __future__ import annotations

import re
import socket
from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from secretsvc_client.errors import Unreachable, WrongUse
from secretsvc_client.origins import Origin, is_loopback
from secretsvc_client.timed_socket import Deadline

#: Bytes of a proxy's answer to CONNECT.
_LARGEST_HEAD = 65_536
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})[ \r]")
_PORT = re.compile(r"(.*):([0-9]{1,5})")


class Proxy(NamedTuple):
    """A proxy of HTTP; `credentials` go to it and nowhere else."""

    host: str
    port: int
    credentials: str | None = None

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __repr__(self) -> str:
        return f"Proxy({self})"

    def open_tunnel(self, connected: socket.socket, origin: Origin, deadline: Deadline) -> None:
        """Ask the connected proxy for a tunnel to the origin; raise `Unreachable` and `OSError`."""
        target = f"[{origin.host}]" if ":" in origin.host else origin.host
        target = f"{target}:{origin.port}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if self.credentials is not None:
            lines.append(f"Proxy-Authorization: Basic {self.credentials}")
        connected.settimeout(deadline.left())
        connected.sendall("\r\n".join([*lines, "", ""]).encode())
        status = self._status(connected, deadline)
        if status == 407:
            raise Unreachable(
                f"407 from the proxy {self}: it asks for a user and a password",
                "Write user and password into HTTPS_PROXY: http://user:password@proxy.example.com:3128",
            )
        if not 200 <= status < 300:
            raise Unreachable(
                f"{status} from the proxy {self}: it opens no tunnel to {target}",
                "If the service is reached without a proxy, name its host in NO_PROXY.",
            )

    def _status(self, connected: socket.socket, deadline: Deadline) -> int:
        """Return the status of the answer; leave the bytes after its header unread."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            connected.settimeout(deadline.left())
            piece = connected.recv(1)
            if not piece or len(head) == _LARGEST_HEAD:
                raise Unreachable(f"the proxy {self} gave no whole answer", "Look at HTTPS_PROXY.")
            head += piece
        found = _STATUS_LINE.match(head)
        if found is None:
            raise Unreachable(f"what answers at {self} is no proxy of HTTP", "Look at HTTPS_PROXY.")
        return int(found[1])


def proxy_of(origin: Origin, environ: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for an origin, if there is one; raise `WrongUse` for a malformed one.

    There is none for http, for this machine, and for what `NO_PROXY` names.
    """
    url = environ.get("HTTPS_PROXY") or environ.get("https_proxy")
    if not url or origin.scheme != "https" or _is_this_machine(origin.host):
        return None
    listed = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if any(_matches(entry, origin) for entry in re.split(r"[\s,]+", listed.lower()) if entry):
        return None
    return _parsed(url)


def _is_this_machine(host: str) -> bool:
    """Whether a host is loopback in any spelling, a name below `localhost` included (RFC 6761)."""
    if host == "localhost" or host.endswith(".localhost") or is_loopback(host.removeprefix("::ffff:")):
        return True
    try:
        # Also 127.1 and 2130706433, which resolvers take for addresses.
        return socket.inet_aton(host)[0] == 127
    except OSError:
        return False


def _parsed(url: str) -> Proxy:
    """Read the proxy of a URL, or of host and port alone."""
    url = url.strip()
    parts = urlsplit("")
    try:
        if url.isascii() and url.isprintable() and " " not in url:
            parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme != "http" or parts.path not in ("", "/") or parts.query or parts.fragment:
        # The URL may hold a password.
        raise WrongUse("HTTPS_PROXY is not of the form http://proxy.example.com:3128")
    credentials = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        credentials = b64encode(pair.encode("utf-8", "surrogateescape")).decode()
    return Proxy(host, port or 80, credentials)


def _matches(entry: str, origin: Origin) -> bool:
    """Whether an entry of `NO_PROXY` names the origin: `*`, host, `.suffix` or network, maybe with a port."""
    host, port = entry, ""
    found = _PORT.fullmatch(entry)
    # More than one colon is an IPv6 address, whose port stands behind its brackets.
    if found and (":" not in found[1] or found[1].endswith("]")):
        host, port = found[1], found[2]
    if port and int(port) != origin.port:
        return False
    host = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    host = host[:-1] if host.endswith(".") else host
    if host == "*":
        return True
    if host.startswith("."):
        return origin.host.endswith(host)
    return host == origin.host or _is_within(origin.host, host)


def _is_within(host: str, network: str) -> bool:
    """Whether a host that is an address, not a name, is in a network or is an address of another spelling."""
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
