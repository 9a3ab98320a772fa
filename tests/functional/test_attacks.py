"""What an attacker sends to the server: hidden requests, other hosts, half requests, long texts."""

from __future__ import annotations

import configparser
import gc
import importlib
import json
import pkgutil
import re
import socket
import time
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from server import exchange, served
from service import API, HEADER
from waiting import PATIENCE, least_seconds

import secretsvc

HOST = "localhost"
PROJECTS = f"{API}/projects"
CREATE = b'{"slug":"smuggled","name":"S"}'

Send = Callable[..., list[tuple[int, dict[str, str], bytes]]]


@pytest.fixture
def port(service, admin, here) -> Iterator[int]:
    """The server under the settings of the deployment."""
    ini = configparser.RawConfigParser()
    ini.read(here / "production.ini")
    options = dict(ini["server:main"])
    assert options.pop("use") == "egg:secretsvc#server"
    assert options.pop("get listen") == "listen"
    assert options.pop("listen") == "127.0.0.1:6543"
    with served(service.app, **options) as port:
        yield port


@pytest.fixture
def send(port, admin) -> Send:
    """Raw requests on one connection, the administrator's; all the answers to them."""

    def send(line: str, *lines: str, body: bytes = b"", host: str = HOST, then: bytes = b""):
        head = [line, f"Host: {host}", f"{HEADER}: {admin.token}", *lines, "", ""]
        return answers(exchange(port, "\r\n".join(head).encode("latin-1") + body + then))

    return send


def answers(raw: bytes) -> list[tuple[int, dict[str, str], bytes]]:
    found = []
    while raw:
        head, _, rest = raw.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        length = int(headers.get("content-length", 0))
        found.append((int(status.split()[1]), headers, rest[:length]))
        raw = rest[length:]
    return found


SMUGGLED = b"DELETE /api/v1/projects/shop HTTP/1.1\r\nHost: localhost\r\n"
AMBIGUOUS = [
    (["Content-Length: 5", "Transfer-Encoding: chunked"], b"0\r\n\r\n"),
    (["Transfer-Encoding: chunked", "Content-Length: 5"], b"0\r\n\r\n"),
    (["Content-Length: 0", "Transfer-Encoding:chunked"], b"0\r\n\r\n"),
    (["Content-Length: 5", "Transfer-Encoding: chunked, chunked"], b"0\r\n\r\n"),
    (["Content-Length: 5", "Transfer-Encoding: Chunked"], b"0\r\n\r\n"),
    (["Content-Length: 5", "Content-Length: 0"], b"12345"),
    (["Content-Length: 0, 5"], b""),
    (["Transfer-Encoding: chunked"], b"0x0\r\n\r\n"),
    (["Transfer-Encoding: chunked"], b"-0\r\n\r\n"),
    (["Transfer-Encoding: chunked"], b"1\n0\r\n\r\n"),
    (["Transfer-Encoding : chunked"], b"0\r\n\r\n"),
    (["Content-Length : 0"], b""),
    (["Content-Length: 0\x0b"], b""),
    (["X: y\rContent-Length: 0"], b""),
    (["X: y\nContent-Length: 0"], b""),
]


def test_nothing_behind_a_request_of_doubtful_length_is_served(send, admin):
    smuggled = SMUGGLED + f"{HEADER}: {admin.token}\r\n\r\n".encode()
    for lines, body in AMBIGUOUS:
        found = send(f"POST {PROJECTS} HTTP/1.1", *lines, body=body, then=smuggled)
        assert [status for status, _, _ in found] in ([400], [501]), lines
        ((_, headers, answer),) = found
        assert headers["connection"] == "close"
        assert json.loads(answer)["request_id"] == headers["x-request-id"]
    admin.get("/projects/shop")


def test_requests_of_certain_length_may_follow_each_other(send, admin):
    second = f"GET {PROJECTS} HTTP/1.1\r\nHost: h\r\n{HEADER}: {admin.token}\r\n\r\n".encode()
    lines = ["Content-Type: application/json", "Transfer-Encoding: chunked"]
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(CREATE), CREATE)
    found = send(f"POST {PROJECTS} HTTP/1.1", *lines, body=chunked, then=second)
    assert [status for status, _, _ in found] == [201, 200]


TARGETS = [f"{PROJECTS}/shop", "/", "*", "localhost:80", "http://evil.example/x"]


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "FOO", "PUT", "OPTIONS"])
def test_no_other_method_is_served_whatever_its_target(send, method):
    for target in TARGETS:
        ((status, headers, body),) = send(f"{method} {target} HTTP/1.1")
        assert status == 404, target
        assert HEADER.lower() not in body.decode().lower()
        assert "allow" not in headers


def test_a_target_that_is_no_path_is_not_found(send):
    assert [send(f"GET {target} HTTP/1.1")[0][0] for target in ("*", "localhost:80", "a/b")] == [404] * 3


OVERRIDES = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X_HTTP_Method_Override"]


def test_no_header_turns_a_method_into_another(send, admin):
    for name in OVERRIDES:
        ((status, _, _),) = send(f"POST {PROJECTS}/shop HTTP/1.1", f"{name}: DELETE", "Content-Length: 0")
        assert status == 404, name
    admin.get("/projects/shop")


FORWARDED = [
    "X-Forwarded-For: 203.0.113.9",
    "X-Forwarded-Host: evil.example",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Port: 8443",
    "X-Forwarded-Prefix: /evil",
    "X-Script-Name: /evil",
    "X-Original-URL: /api/v1/projects/shop",
    "X-Rewrite-URL: /api/v1/projects/shop",
    "Forwarded: for=203.0.113.9;host=evil.example;proto=https",
    "X-Real-IP: 203.0.113.9",
]


def test_what_an_intermediary_would_say_has_no_effect(send, admin):
    for line in FORWARDED:
        lines = ["Content-Type: application/json", f"Content-Length: {len(CREATE)}", line]
        ((status, headers, body),) = send(f"POST {PROJECTS} HTTP/1.1", *lines, body=CREATE)
        assert (status, headers["location"]) == (201, f"{PROJECTS}/smuggled"), line
        assert "evil" not in f"{headers}{body!r}"
        admin.delete("/projects/smuggled")
    for host in NO_HOSTS:
        ((status, headers, body),) = send(f"POST {PROJECTS} HTTP/1.1", *lines, body=CREATE, host=host)
        assert status == 400, host
        assert "evil" not in f"{headers}{body!r}"
    admin.get("/projects/smuggled", 404)


def test_a_forwarded_host_does_not_make_another_site_this_one(send, admin):
    for name in ("X-Forwarded-Host", "X-Host", "Forwarded"):
        lines = ["Origin: http://evil.example", f"{name}: evil.example"]
        ((status, _, _),) = send(f"DELETE {PROJECTS}/shop HTTP/1.1", *lines)
        assert status == 403
    admin.get("/projects/shop")


def test_an_assertion_in_a_header_with_underscores_is_none(port, admin):
    name = HEADER.replace("-", "_")
    raw = f"GET {PROJECTS} HTTP/1.1\r\nHost: h\r\n{name}: {admin.token}\r\n\r\n"
    ((status, _, _),) = answers(exchange(port, raw.encode()))
    assert status == 401


HOSTS = ["evil.example", "evil.example:1", "[::1]"]
NO_HOSTS = ["a, evil.example", "", "evil\xff", "evil.example/x?"]


def test_an_evil_host_is_never_repeated(send, admin):
    lines = ["Content-Type: application/json", f"Content-Length: {len(CREATE)}"]
    for host in HOSTS:
        ((status, headers, body),) = send(f"POST {PROJECTS} HTTP/1.1", *lines, body=CREATE, host=host)
        assert (status, headers["location"]) == (201, f"{PROJECTS}/smuggled"), host
        assert "evil" not in f"{headers}{body!r}"
        admin.delete("/projects/smuggled")


def test_no_odd_path_is_redirected(send):
    for target in ("//evil.example/api/v1/projects", "/api/v1/projects/", "/api/v1/../v1/projects"):
        ((status, headers, _),) = send(f"GET {target} HTTP/1.1")
        assert status == 404, target
        assert "location" not in headers


@cache
def patterns() -> dict[str, re.Pattern[str]]:
    """Every compiled pattern that a module of the package holds."""
    found = {}
    for module in pkgutil.walk_packages(secretsvc.__path__, "secretsvc."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                found[f"{module.name}.{name}"] = value
    return found


UNITS = [
    "a",
    "a-",
    "-",
    "_",
    "A_",
    "0",
    " ",
    "\t\n",
    "\r\n",
    "#",
    " #",
    '"',
    "'",
    "\\",
    "a.",
    ".",
    "/",
    "W/",
    "=",
    "a=b\n",
]
SHORT, LONG = 10_000, 100_000


@pytest.mark.slow
@pytest.mark.parametrize("name", patterns())
def test_no_pattern_grows_faster_than_its_text(name):
    pattern = patterns()[name]
    for unit in UNITS:
        for end in ("", "!", "\0", "é"):
            # Ten times the text takes ten times as long, never a hundred times; both are milliseconds.
            short, long = ((unit * length)[:length] + end for length in (SHORT, LONG))
            assert _seconds(pattern, long) < 0.1 or _best(pattern, long) < 40 * _best(pattern, short), unit


def _best(pattern: re.Pattern[str], text: str) -> float:
    return min(_seconds(pattern, text) for _ in range(2))


def _seconds(pattern: re.Pattern[str], text: str) -> float:
    gc.disable()
    try:
        started = time.thread_time()
        pattern.fullmatch(text)
        pattern.match(text)
        return time.thread_time() - started
    finally:
        gc.enable()


HALVES = [
    b"",
    b"G",
    b"GET /api/v1/health HTTP/1.1\r\nHost: h\r\nX: ",
    b"POST /api/v1/projects HTTP/1.1\r\nContent-Length: 99\r\n\r\n{",
]


def test_two_hundred_half_requests_keep_nobody_waiting(port):
    idle = []
    try:
        for number in range(200):
            idle.append(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            idle[-1].sendall(HALVES[number % len(HALVES)])
        healthy = f"GET {API}/health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n".encode()
        raw: list[bytes] = []
        assert least_seconds(lambda: raw.append(exchange(port, healthy)), 1.0) < 1
        assert {answers(one)[0][0] for one in raw} == {200}
    finally:
        for connection in idle:
            connection.close()
