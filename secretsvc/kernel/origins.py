"""Origins of the web (RFC 6454) in one form in which they can be compared."""

from __future__ import annotations

import re
from typing import NamedTuple

PORTS = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?", re.IGNORECASE | re.ASCII)


class Origin(NamedTuple):
    """A scheme and a host in lower case, and the port, which is the scheme's own where none was named."""

    scheme: str
    host: str
    port: int


def parse_origin(text: str) -> Origin:
    """The origin that a text is, whole and with nothing behind it. Raises ValueError.

    Only `http` and `https` have origins here: `null`, and whatever else has none, raise too.
    """
    scheme, _, authority = text.partition("://")
    if scheme.lower() not in PORTS:
        raise ValueError
    return at_authority(scheme.lower(), authority)


def at_authority(scheme: str, authority: str) -> Origin:
    """The origin of a scheme at `host` or `host:port`. Raises ValueError."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise ValueError
    host, port = found.groups()
    number = PORTS[scheme] if port is None else int(port)
    if number > 65_535:
        raise ValueError
    return Origin(scheme, host.lower(), number)
