from __future__ import annotations

import json
import logging
import re
import socket
import uuid
from collections.abc import Callable, Iterable, Iterator

import pytest
from server import served
from waiting import PATIENCE

from secretsvc.web.headers import API_CONTENT_SECURITY_POLICY, SECURITY_HEADERS, new_request_id, request_id

MARKER = b"eyJhbGciOiJSUzI1NiJ9-marker"
LIMIT = 100_000

Send = Callable[[bytes], tuple[int, dict[str, str], bytes]]


def application(environ: dict[str, object], start_response: Callable[..., object]) -> Iterable[bytes]:
    if environ["PATH_INFO"] == "/crash":
        raise RuntimeError(MARKER.decode())
    start_response("200 OK", [("Content-Length", "4")])
    return [b"fine"]


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with served(application, max_request_body_size=LIMIT) as port:
        yield "127.0.0.1", port


@pytest.fixture
def send(address: tuple[str, int]) -> Send:
    def send(raw: bytes) -> tuple[int, dict[str, str], bytes]:
        with socket.create_connection(address, timeout=PATIENCE) as connection:
            connection.sendall(raw)
            answer = b""
            # The server may close before it has read all: what it said until then is the answer.
            try:
                while piece := connection.recv(65536):
                    answer += piece
            except ConnectionResetError:
                pass
        head, _, body = answer.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        return int(status.split()[1]), dict(line.split(": ", 1) for line in lines), body

    return send


def request(*lines: bytes, line: bytes = b"GET / HTTP/1.1", body: bytes = b"") -> bytes:
    return b"\r\n".join([line, b"Host: h", *lines, b"", b""]) + body


NO_HOSTS = [
    b"",
    b" ",
    b" \t",
    b" h i",
    b" h, h",
    b" h,i",
    b" h:x",
    b" h:80:80",
    b" :80",
    b" http://h",
    b" h/",
    b" user@h",
    b" h?",
    b" h#",
    b" h%2",
    b" h%zz",
    b" [::1",
    b" ::1",
    b" []",
    b" [::1]x",
    b" [" + MARKER + b"]",
    b" h\\i",
    b" <h>",
    b' "h"',
    b" h\x7f",
    b" \xfc.example",
    b" h\xb2",
    b" h:\xb2",
]
MALFORMED = [
    b"nonsense\r\n\r\n",
    b"GET\r\n\r\n",
    b"get /" + MARKER + b" HTTP/1.1\r\n\r\n",
    b"GET / " + MARKER + b"\r\n\r\n",
    b"GET /\n" + MARKER + b" HTTP/1.1\r\n\r\n",
    request(b"A: " + MARKER + b"\rB: c"),
    request(b"A: " + MARKER + b"\nB: c"),
    request(b"A: " + MARKER + b"\0"),
    request(b"Proxy-Access-Jwt-Assertion : " + MARKER),
    request(MARKER),
    b"GET / HTTP/1.1\r\n folded " + MARKER + b"\r\n\r\n",
    request(line=b"GET http://[" + MARKER + b"/ HTTP/1.1"),
    *(
        request(b"Content-Length: " + length, line=b"POST / HTTP/1.1")
        for length in (b"+5", b"1_0", b"-1", b"5, 5", b"0x5", b"\xb2", b"", b"5 5", MARKER, b"9" * 5000)
    ),
    request(b"Content-Length: 5", b"Content-Length: 5", line=b"POST / HTTP/1.1", body=b"12345"),
    request(b"Content-Length: 0", b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.1", body=MARKER),
    request(b"transfer-encoding: chunked", b"content-length: 5", line=b"POST / HTTP/1.1", body=MARKER),
    request(b"Content-Length: 5", b"Transfer-Encoding:", line=b"POST / HTTP/1.1", body=MARKER),
    *(
        request(b"Transfer-Encoding:" + coding, line=b"POST / HTTP/1.1", body=MARKER)
        for coding in (b"", b" ", b"\t", b" ,", b",,")
    ),
    *(
        request(*codings, line=b"POST / HTTP/1.1", body=b"0\r\n\r\n" + MARKER)
        for codings in (
            (b"Transfer-Encoding:", b"Transfer-Encoding: chunked"),
            (b"Transfer-Encoding: chunked", b"transfer-encoding:"),
            (b"Transfer-Encoding: \t", b"X: y", b"TRANSFER-ENCODING: chunked"),
            (b"Transfer-Encoding: ,chunked",),
            (b"Transfer-Encoding: chunked, ",),
            (b"Transfer-Encoding:\r\n chunked",),
            (b"Transfer-Encoding: chunked\r\n ,",),
            (b"transfer-encoding: chunked\r\n\t, chunked",),
            (b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked"),
            (b"Transfer-Encoding: chunked, Chunked",),
        )
    ),
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nX: y\r\n Host: h\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost_: h\r\n\r\n",
    b"GET http://h/ HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.2\r\n\r\n",
    request(b"Host: h"),
    request(b"host: i"),
    request(b"HOST:"),
    request(b"Host: i", line=b"GET / HTTP/1.0"),
    *(
        b"GET / HTTP/" + version + b"\r\nHost:" + host + b"\r\n\r\n"
        for version in (b"1.1", b"1.0")
        for host in NO_HOSTS
    ),
    request(b"Content-Length: 5", b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.0", body=MARKER),
    request(b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.0", body=MARKER),
    request(b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.1", body=MARKER + b"\r\n"),
    request(b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.1", body=b"3\r\nabcdef\r\n"),
]
OVERSIZED = [
    request(b"A: " + MARKER + b"x" * 262_144),
    b"GET /" + b"x" * 262_144 + MARKER,
    request(b"Content-Length: " + str(LIMIT + 1).encode(), line=b"POST / HTTP/1.1", body=MARKER),
    request(b"Content-Length: 99999999999999999999", line=b"POST / HTTP/1.1"),
    request(
        b"Transfer-Encoding: chunked",
        line=b"POST / HTTP/1.1",
        body=b"%x\r\n" % (LIMIT + 1) + b"x" * (LIMIT + 1) + b"\r\n0\r\n\r\n",
    ),
]
NOT_IMPLEMENTED = [
    request(b"Transfer-Encoding: " + coding, line=b"POST / HTTP/1.1")
    for coding in (b"xchunked", b"identity", b"gzip, chunked", MARKER, b"chunked, x")
]
CASES = [
    *((400, "BAD_REQUEST", raw) for raw in MALFORMED),
    *((413, "PAYLOAD_TOO_LARGE", raw) for raw in OVERSIZED),
    *((501, "NOT_IMPLEMENTED", raw) for raw in NOT_IMPLEMENTED),
    (500, "INTERNAL", request(line=b"GET /crash HTTP/1.1")),
]


@pytest.mark.parametrize(
    ("status", "code", "raw"), CASES, ids=[f"{status}-{raw[:60]!r}" for status, _, raw in CASES]
)
def test_what_the_server_refuses_by_itself_is_answered_like_everything_else(
    send: Send, status: int, code: str, raw: bytes
) -> None:
    answered, headers, body = send(raw)
    assert answered == status
    envelope = json.loads(body)
    assert set(envelope) == {"code", "message", "request_id"}
    assert envelope["code"] == code
    assert headers["X-Request-Id"] == envelope["request_id"]
    assert uuid.UUID(envelope["request_id"]).version == 7
    assert headers["Content-Type"] == "application/json; charset=utf-8"
    assert headers["Connection"] == "close"
    assert dict(SECURITY_HEADERS).items() <= headers.items()
    assert headers["Content-Security-Policy"] == API_CONTENT_SECURITY_POLICY
    assert "Server" not in headers
    assert MARKER.decode() not in f"{headers}{body!r}"


def test_a_sound_request_reaches_the_application(send: Send) -> None:
    status, headers, body = send(request(b"Connection: close"))
    assert (status, body) == (200, b"fine")
    assert "Server" not in headers


@pytest.mark.parametrize(
    "host",
    [
        b"h",
        b"localhost:6543",
        b"secrets.example.com",
        b"secrets.example.com.",
        b"secrets.example.com:",
        b"SECRETS.example.com:443",
        b"xn--bcher-kva.example",
        b"a_b.example",
        b"127.0.0.1:80",
        b"[::1]",
        b"[::ffff:127.0.0.1]:6543",
        b"h%2Di",
        b"\th ",
    ],
)
def test_any_host_of_the_grammar_is_served(send: Send, host: bytes) -> None:
    raw = b"GET / HTTP/1.1\r\nhOsT:" + host + b"\r\nConnection: close\r\n\r\n"
    assert send(raw)[0] == 200


@pytest.mark.parametrize(
    "raw",
    [b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.0\r\nHost: h\r\n\r\n", b"GET /\r\n\r\n"],
)
def test_before_http_1_1_there_need_be_no_host(send: Send, raw: bytes) -> None:
    assert send(raw)[2] == b"fine"


def test_a_header_that_is_folded_is_joined(send: Send) -> None:
    """RFC 9112, 5.2 lets a server do that, or refuse it."""
    refused = request(b"X-Request-Id:", b" mine.1", b"Transfer-Encoding: x", line=b"POST / HTTP/1.1")
    assert send(refused)[1]["X-Request-Id"] == "mine.1"
    assert send(request(b"X: a", b"\tb", b"Connection: close"))[2] == b"fine"


def test_the_clients_own_request_id_is_kept_where_it_could_be_read(send: Send) -> None:
    refused = request(b"X-Request-Id: mine.1", b"Transfer-Encoding: x", line=b"POST / HTTP/1.1")
    _, headers, body = send(refused)
    assert headers["X-Request-Id"] == "mine.1"
    assert json.loads(body)["request_id"] == "mine.1"


@pytest.mark.parametrize("offered", [b"a b", b"a, b", b"x" * 65, b"\xe9", b"<script>"])
def test_a_request_id_outside_its_pattern_is_replaced(send: Send, offered: bytes) -> None:
    _, headers, _ = send(request(b"X-Request-Id: " + offered, b"Transfer-Encoding: x"))
    assert uuid.UUID(headers["X-Request-Id"]).version == 7


def test_a_refused_head_request_has_headers_and_no_body(send: Send) -> None:
    status, headers, body = send(request(b"Transfer-Encoding: x", line=b"HEAD / HTTP/1.1"))
    assert (status, body) == (501, b"")
    assert int(headers["Content-Length"]) > 0


@pytest.mark.parametrize(
    "refused",
    [
        request(b"Content-Length: +5", line=b"POST / HTTP/1.1"),
        request(
            b"Content-Length: 5", b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.1", body=b"0\r\n\r\n"
        ),
        request(b"Connection: keep-alive", b"Transfer-Encoding: chunked", line=b"POST / HTTP/1.0"),
    ],
)
def test_the_connection_is_closed_and_nothing_behind_a_refused_request_is_served(
    send: Send, refused: bytes
) -> None:
    _, _, body = send(refused + request())
    assert b"fine" not in body
    assert body.count(b"request_id") == 1


@pytest.mark.parametrize("raw", MALFORMED)
def test_a_malformed_request_leaves_no_trace_of_its_text_in_the_log(
    send: Send, raw: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        send(raw)
    assert MARKER.decode() not in caplog.text


@pytest.mark.parametrize("offered", ["a", "A-b_c.9", "x" * 64])
def test_a_request_id_within_its_pattern_is_kept(offered: str) -> None:
    assert request_id(offered) == offered


@pytest.mark.parametrize("offered", [None, "", "a\n", "\na", "x" * 65, "é", "１", "a b", "a\0"])
def test_any_other_request_id_gives_a_fresh_uuid(offered: str | None) -> None:
    assert request_id(offered) != offered
    assert uuid.UUID(request_id(offered)).version == 7


def test_fresh_request_ids_differ_and_fit_their_own_pattern() -> None:
    ids = {new_request_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(request_id(fresh) == fresh for fresh in ids)
    assert all(re.fullmatch(r"[0-9a-f-]{36}", fresh) for fresh in ids)
