"""Where a request comes from, as far as proxies that are trusted say so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

#: How the server calls a peer on a Unix socket; there only this machine is.
UNIX_PEER = "localhost"
LOOPBACK = "127.0.0.1"
# An address may carry a zone, which is any text.
_PLAIN = re.compile(r"[0-9A-Fa-f.:]{2,45}")


def networks(raw: str) -> tuple[Network, ...]:
    """Comma-separated networks or single addresses; may be empty. Raises `ValueError`."""
    return tuple(ip_network(part.strip()) for part in raw.split(",") if part.strip())


def resolve_client_address(peer: str, forwarded: str, trusted: Sequence[Network]) -> str | None:
    """The address that a request came from, None where no proxy is trusted or the peer has no address.

    `forwarded` is `X-Forwarded-For`. Each proxy appends whom it serves, so it is read from the right, for as
    long as who wrote an entry is trusted; a malformed one ends that.
    """
    found = _address(LOOPBACK if peer == UNIX_PEER else peer) if trusted else None
    if found is None:
        return None
    rest = forwarded
    while rest and any(found in network for network in trusted):
        rest, _, entry = rest.rpartition(",")
        named = _address(entry.strip(" \t"))
        if named is None:
            break
        found = named
    return str(found)


def _address(text: str) -> Address | None:
    """The address that a text is; one of IPv4 in the form of IPv6 is of IPv4."""
    if not _PLAIN.fullmatch(text):
        return None
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
