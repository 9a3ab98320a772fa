"""Whose word is taken for where a request came from (contract 1, `TRUSTED_PROXIES`)."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from secretsvc.kernel.addresses import networks, resolve_client_address

PROXIES = networks("10.0.0.0/8, 127.0.0.1, fd00::/8")
INSIDE, OUTSIDE = ["10.0.0.1", "10.9.9.9", "127.0.0.1", "fd00::1"], ["192.0.2.1", "2001:db8::1", "127.0.0.2"]
MALFORMED = [
    "",
    " ",
    "x",
    "10.0.0.1:80",
    "[fd00::1]",
    "10.0.0.1/8",
    "fd00::1%secret",
    "010.0.0.1",
    "unknown",
    "٣.1.1.1",
]
hops = st.sampled_from(INSIDE + OUTSIDE + MALFORMED) | st.ip_addresses().map(str) | st.text(max_size=9)


@pytest.mark.parametrize(
    ("peer", "forwarded", "found"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        ("192.0.2.1", "10.0.0.1", "192.0.2.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "192.0.2.1", "192.0.2.1"),
        ("10.0.0.1", "198.51.100.1, 192.0.2.1,\t10.9.9.9", "192.0.2.1"),
        ("10.0.0.1", "10.0.0.2, 10.0.0.3", "10.0.0.2"),
        ("10.0.0.1", "192.0.2.1, x", "10.0.0.1"),
        ("10.0.0.1", "192.0.2.1, x, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", "192.0.2.1,", "10.0.0.1"),
        ("::ffff:10.0.0.1", "2001:DB8:0::1", "2001:db8::1"),
        ("localhost", "192.0.2.1", "192.0.2.1"),
        ("localhost", "", "127.0.0.1"),
        ("", "192.0.2.1", None),
        ("x", "192.0.2.1", None),
    ],
)
def test_hops_are_followed_from_the_right_for_as_long_as_they_are_trusted(peer, forwarded, found):
    assert resolve_client_address(peer, forwarded, PROXIES) == found


@given(hops, st.lists(hops))
def test_nobody_is_named_where_no_proxy_is_trusted(peer, entries):
    assert resolve_client_address(peer, ",".join(entries), ()) is None


@given(st.ip_addresses(), st.lists(hops, max_size=6))
@example(ip_address("10.0.0.1"), ["fd00::", "10.0.0.1", "10.0.0.1"])
def test_what_is_found_was_named_by_somebody_trusted(peer, entries):
    found = resolve_client_address(str(peer), ",".join(entries), PROXIES)
    assert found is not None
    chain = [str(peer), *reversed(",".join(entries).split(","))]
    named = [known(entry) for entry in chain]
    assert any(one == ip_address(found) and is_last_word(named, at) for at, one in enumerate(named))


def is_last_word(named, position):
    """Whether all before it are trusted, and it was not, or whoever is further on is no address."""
    ends = not is_trusted(named[position]) or position + 1 == len(named) or named[position + 1] is None
    return ends and all(is_trusted(one) for one in named[:position])


@given(st.ip_addresses(), st.lists(hops), st.lists(hops))
def test_a_client_that_is_not_trusted_cannot_change_what_is_found(client, forged, others):
    if is_trusted(known(str(client))):
        return
    for entries in (forged, others):
        forwarded = ",".join([*entries, str(client), "10.0.0.2"])
        assert resolve_client_address("10.0.0.1", forwarded, PROXIES) == str(known(str(client)))


@given(st.text())
def test_networks_are_read_or_refused(raw):
    try:
        read = networks(raw)
    except ValueError:
        return
    assert read == tuple(ip_network(part.strip()) for part in raw.split(",") if part.strip())


def known(entry):
    if not entry.isascii() or "%" in entry:
        return None
    try:
        address = ip_address(entry.strip(" \t"))
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_trusted(address):
    return address is not None and any(address in network for network in PROXIES)
