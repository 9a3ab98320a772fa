"""`HTTPS_PROXY` and `NO_PROXY`: a tunnel whose two ends are the client and the service (contract 16.10)."""

from __future__ import annotations

import base64
import socket

import pytest
from connect_proxy import OPEN, ConnectProxy
from hostile import Hostile, answered, closed_port, secrets
from tls import authority

from secretsvc_client.errors import WrongUse
from secretsvc_client.origins import origin_of
from secretsvc_client.proxies import Proxy, proxy_of

HOST = "secrets.example.test"
GOOD = secrets({"A": "b"})
RUN = ("run", "--timeout", "60", "--", "true")


@pytest.fixture
def service(tmp_path):
    """A service over TLS under a name that only the proxy knows."""
    with Hostile(GOOD, certificate=authority(tmp_path, "server", HOST)) as server:
        server.trusted = {"SSL_CERT_FILE": str(tmp_path / "server.pem")}
        yield server


@pytest.fixture
def proxy(service):
    with ConnectProxy({f"{HOST}:443": service.port, f"{HOST}:8443": service.port}) as made:
        yield made


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy"])
@pytest.mark.parametrize("port", ["", ":8443"], ids=["usual", "other"])
def test_the_service_is_asked_through_the_proxy_which_sees_nothing(ask, at, service, proxy, name, port):
    done = ask(*RUN, **at(f"https://{HOST}{port}", **{name: proxy.url}, **service.trusted))
    assert done.started[2][b"A"] == b"b", done.err
    assert proxy.targets == [f"{HOST}{port or ':443'}"]
    assert proxy.requests[0].startswith(b"CONNECT ")
    assert b"the-token" not in proxy.requests[0]
    assert b"Authorization: Bearer the-token" in service.requests[0]


def test_the_proxys_credentials_go_to_the_proxy_alone(ask, at, service, proxy):
    url = proxy.url.replace("//", "//us%40er:pa%3Ass@")
    done = ask("run", "--debug", *RUN[1:], **at(f"https://{HOST}", HTTPS_PROXY=url, **service.trusted))
    assert done.started, done.err
    expected = base64.b64encode(b"us@er:pa:ss")
    assert b"Proxy-Authorization: Basic " + expected in proxy.requests[0]
    assert b"roxy" not in service.requests[0]
    assert not any(text in done.err for text in ("us@er", "us%40er", "pa:ss", expected.decode()))


@pytest.mark.parametrize("hosts", [(), ("other.example.test",)], ids=["none", "other"])
def test_the_certificate_is_that_of_the_service(ask, at, tmp_path, hosts):
    certificate = authority(tmp_path, "wrong", *hosts)
    with Hostile(GOOD, certificate=certificate) as wrong, ConnectProxy({f"{HOST}:443": wrong.port}) as proxy:
        given = {"HTTPS_PROXY": proxy.url, "SSL_CERT_FILE": str(certificate)}
        done = ask(*RUN, **at(f"https://{HOST}", **given))
    assert (done.code, done.reason, wrong.requests) == (125, 4, [])
    assert f"the certificate of {HOST} does not fit" in done.err


def test_this_machine_is_asked_without_a_proxy(ask, at, service, proxy):
    trusted = {"HTTPS_PROXY": proxy.url, **service.trusted}
    assert ask(*RUN, **at(service, **trusted)).started
    with Hostile(GOOD) as plain:
        assert ask(*RUN, **at(plain, HTTPS_PROXY=proxy.url)).started
    assert proxy.requests == []


REFUSALS = {
    "407": ([answered(407, b"", 'Proxy-Authenticate: Basic realm="x"')], "407 from the proxy"),
    "403": ([answered(403, b"<html>no")], "403 from the proxy"),
    "redirect": ([answered(302, b"", "Location: https://login.example/")], "302 from the proxy"),
    "hung up": ([], "gave no whole answer"),
    "cut": ([OPEN[:-2]], "gave no whole answer"),
    "no HTTP": ([b"220 mail.example.com ESMTP\r\n\r\n"], "is no proxy of HTTP"),
    "a header without end": ([b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000], "gave no whole answer"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_proxy_that_opens_no_tunnel_is_an_outage(ask, at, name):
    answer, said = REFUSALS[name]
    with ConnectProxy({}, answer) as proxy:
        url = proxy.url.replace("//", "//user:canary@")
        done = ask(*RUN, **at(f"https://{HOST}", HTTPS_PROXY=url))
    assert (done.code, done.reason, done.started) == (125, 3, None), done.err
    assert said in done.err
    assert f"127.0.0.1:{proxy.port}" in done.err
    assert "canary" not in done.err
    assert done.err.count("\n") == 1


def test_a_proxy_that_is_slow_has_the_deadline_of_the_request(ask, at):
    with ConnectProxy({}, [OPEN[:10], 20.0]) as proxy:
        done = ask("run", "--timeout", "0.3", "--", "true", **at(f"https://{HOST}", HTTPS_PROXY=proxy.url))
    assert (done.reason, "no whole answer within 0.3 s" in done.err) == (3, True)


def test_a_proxy_that_is_not_there_is_named(ask, at):
    port = closed_port()
    done = ask(*RUN, **at(f"https://{HOST}", HTTPS_PROXY=f"user:canary@127.0.0.1:{port}"))
    assert (done.code, done.reason) == (125, 3)
    assert f"{HOST} cannot be reached through the proxy 127.0.0.1:{port}: " in done.err
    assert "canary" not in done.err


def test_a_server_behind_a_proxy_is_not_probed_without_tls(ask, at, monkeypatch):
    monkeypatch.setattr("secretsvc_client.handshake._SILENCE", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with ConnectProxy({f"{HOST}:443": silent.getsockname()[1]}) as proxy:
            given = at(f"https://{HOST}", HTTPS_PROXY=proxy.url)
            done = ask("run", "--timeout", "0.3", "--", "true", **given)
            silent.accept()[0].close()
        assert (done.reason, len(proxy.requests)) == (3, 1)


@pytest.mark.parametrize(
    "url",
    [
        "https://user:canary@proxy.example:3128",
        "socks5://user:canary@proxy.example",
        "http://user:canary@",
        "http://user:canary@proxy.example:x",
        "http://user:canary@proxy.example/path",
        "http://user:canary@proxy.example:3128\r\nX: y",
        "http://user:canary@pr\u00f6xy.example",
        "http://[user:canary",
    ],
    ids=range(8),
)
def test_a_malformed_proxy_is_wrong_use_and_not_shown(ask, at, url):
    done = ask("list", **at(f"https://{HOST}", HTTPS_PROXY=url))
    assert done.code == 2
    assert "HTTPS_PROXY is not of the form" in done.err
    assert "canary" not in done.err


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://proxy.example:3128", "proxy.example", 3128),
        ("http://proxy.example:3128/", "proxy.example", 3128),
        ("proxy.example:3128", "proxy.example", 3128),
        ("HTTP://proxy.example", "proxy.example", 80),
        ("http://[::1]:3128", "::1", 3128),
    ],
)
def test_a_proxy_has_a_host_and_a_port(url, host, port):
    assert proxy_of(origin_of(f"https://{HOST}"), {"HTTPS_PROXY": url}) == Proxy(host, port)


@pytest.mark.parametrize(
    ("url", "listed", "is_direct"),
    [
        ("https://a.example", "", False),
        ("https://a.example", "*", True),
        ("https://a.example", "a.example", True),
        ("https://A.example.", "a.EXAMPLE", True),
        ("https://a.example", "a.example.", True),
        ("https://a.example", "x, a.example ,y", True),
        ("https://a.example", "x a.example", True),
        ("https://b.a.example", "a.example", False),
        ("https://b.a.example", ".a.example", True),
        ("https://a.example", ".a.example", False),
        ("https://ba.example", ".a.example", False),
        ("https://a.example", "example", False),
        ("https://a.example", "a.example:443", True),
        ("https://a.example:8443", "a.example:443", False),
        ("https://a.example:8443", ".example:8443", True),
        ("https://a.example", "a.example:99999", False),
        ("https://10.1.2.3", "10.0.0.0/8", True),
        ("https://10.1.2.3", "10.1.2.3/8", True),
        ("https://11.1.2.3", "10.0.0.0/8", False),
        ("https://10.1.2.3", "10.1.2.3", True),
        ("https://10.1.2.3:8443", "10.0.0.0/8:8443", True),
        ("https://10.1.2.3", "10.0.0.0/8:8443", False),
        ("https://[fd00::1]", "fd00::/8", True),
        ("https://[fd00::1]", "fd00:0::1", True),
        ("https://[fd00::1]:8443", "[fd00::1]:8443", True),
        ("https://[fd00::1]:8443", "[fd00::1]:443", False),
        ("https://[fd00::1]", "10.0.0.0/8", False),
        ("https://a.example", "10.0.0.0/8, /, :, ::, []", False),
        ("https://localhost", "", True),
        ("https://127.0.0.2", "", True),
        ("https://[::1]", "", True),
        ("http://127.0.0.1", "", True),
        ("https://[::ffff:127.0.0.1]", "", True),
        ("https://127.1", "", True),
        ("https://a.localhost", "", True),
        ("https://[::ffff:10.0.0.1]", "", False),
        ("https://a.example:8443", "*:8443", True),
        ("https://a.example", "*:8443", False),
    ],
)
@pytest.mark.parametrize("name", ["NO_PROXY", "no_proxy"])
def test_what_is_asked_without_a_proxy(url, listed, is_direct, name):
    found = proxy_of(origin_of(url), {"HTTPS_PROXY": "http://proxy.example", name: listed})
    assert (found is None) is is_direct


def test_an_empty_variable_is_no_proxy_and_no_repr_shows_a_password():
    origin = origin_of("https://a.example")
    assert proxy_of(origin, {"HTTPS_PROXY": "", "https_proxy": ""}) is None
    assert "canary" not in repr(proxy_of(origin, {"HTTPS_PROXY": "http://user:canary@proxy.example"}))
    with pytest.raises(WrongUse):
        proxy_of(origin, {"HTTPS_PROXY": "ftp://proxy.example"})
