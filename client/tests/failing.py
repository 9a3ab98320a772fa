"""Services that fail, each in its way, with the code of contract 9.1 that `run` must name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hostile import answered, refused, secrets, told

#: Seconds that the client waits where a server is slow, and what that takes. For any other answer a client on
#: a busy machine may need longer.
PATIENCE, SLOW = 1.0, 20.0
LONG = 60.0
GOOD = secrets({"API_KEY": "new-value"}, rev=2)
HTML = b"<!doctype html><html><title>Sign in</title></html>"
REDIRECT = "Location: {}/login?next=/"


@dataclass(frozen=True)
class Case:
    """`script` gets the URL of another server, to which nothing may be sent."""

    name: str
    code: int
    script: Callable[[str], object]
    patience: float = LONG

    @property
    def ends_access(self) -> bool:
        """Whether the service itself says that access has ended, so that no older state is kept."""
        return self.name.startswith("ended ")


def _answer(script: object, _other: str) -> object:
    return script


def _redirect(status: int, other: str) -> bytes:
    return answered(status, HTML, REDIRECT.format(other))


def _case(name: str, code: int, script: object) -> Case:
    is_slow = name.startswith(("slow", "a byte at a time"))
    return Case(name, code, partial(_answer, script), PATIENCE if is_slow else LONG)


def _trickle(data: bytes) -> list[bytes | float]:
    """A byte every tenth of a second."""
    return [part for byte in data for part in (bytes([byte]), 0.1)]


def _chunked(*chunks: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in chunks)


BODY = GOOD.partition(b"\r\n\r\n")[2]
CASES = [
    _case("ended 401", 4, refused(401, "UNAUTHENTICATED")),
    _case("ended 403", 4, refused(403, "FORBIDDEN", hint="Ask for a grant.")),
    _case("ended 404", 4, refused(404, "NOT_FOUND")),
    _case("ended 403 with a code of a newer service", 4, refused(403, "NEWER")),
    _case("denied 429", 4, [refused(429, "RATE_LIMITED")]),
    _case("a 403 of something before the service", 4, answered(403, HTML)),
    _case("a 401 that asks for a password", 4, answered(401, b"", "WWW-Authenticate: Basic")),
    _case("a 403 of JSON without a request id", 4, told(403, {"code": "FORBIDDEN", "message": "No."})),
    _case("a 404 of an ingress without its backend", 3, answered(404, b"default backend")),
    _case("a 404 of JSON of another program", 3, told(404, {"message": "no Route matched"})),
    _case("a 429 of HTML", 3, answered(429, HTML)),
    _case("a 409 of HTML", 3, answered(409, HTML)),
    _case("a 422 of nothing", 3, answered(422, b"")),
    _case("a 418 of HTML", 3, answered(418, HTML)),
    _case("conflict 409", 5, refused(409, "CONFLICT")),
    _case("precondition 412", 5, refused(412, "PRECONDITION_FAILED")),
    _case("bad request 400", 6, refused(400, "BAD_REQUEST")),
    _case("too large 413", 6, refused(413, "PAYLOAD_TOO_LARGE")),
    _case("invalid 422", 6, refused(422, "VALIDATION_FAILED", issues=[{"path": "reason", "message": "no"}])),
    _case("a status that nobody knows, 418", 1, refused(418, "TEAPOT")),
    _case("internal 500", 3, refused(500, "INTERNAL")),
    _case("a 500 of HTML", 3, answered(500, HTML)),
    _case("a 500 with secrets in it", 3, answered(500, BODY)),
    _case("not implemented 501", 3, refused(501, "NOT_IMPLEMENTED")),
    _case("bad gateway 502", 3, answered(502, b"")),
    _case("unavailable 503", 3, refused(503, "UNAVAILABLE")),
    _case("a 503 without a length, as of HAProxy", 3, b"HTTP/1.0 503 X\r\n\r\n" + HTML),
    _case("a 404 without a length", 3, b"HTTP/1.0 404 X\r\n\r\n" + HTML),
    _case("a 403 without a length", 4, b"HTTP/1.0 403 X\r\n\r\n" + HTML),
    _case("a 404 that is compressed", 3, answered(404, b"\x1f\x8b", "Content-Encoding: gzip")),
    _case("a 403 that is compressed", 4, answered(403, b"\x1f\x8b", "Content-Encoding: gzip")),
    _case("a 401 cut in the middle", 4, answered(401, HTML, length=len(HTML) + 1)),
    _case("a 401 cut in a chunk", 4, b"HTTP/1.1 401 X\r\nTransfer-Encoding: chunked\r\n\r\n99\r\nab"),
    _case("a 502 larger than anything", 3, answered(502, HTML, length=1 << 40)),
    _case("slow in the body of a 403", 4, [answered(403, HTML)[:-5], SLOW, HTML[-5:]]),
    _case("gateway timeout 504", 3, answered(504, HTML)),
    Case("redirect 301", 1, partial(_redirect, 301)),
    Case("redirect 302", 1, partial(_redirect, 302)),
    Case("redirect 303", 1, partial(_redirect, 303)),
    Case("redirect 307", 1, partial(_redirect, 307)),
    Case("redirect 308", 1, partial(_redirect, 308)),
    _case("redirect to what is no URL", 1, answered(302, b"", "Location: http://[")),
    _case("a 300 of HTML", 1, answered(300, HTML)),
    _case("a 304 that was not asked for", 1, b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    _case("no content 204", 1, b"HTTP/1.1 204 No Content\r\n\r\n"),
    _case("hung up at once", 3, b""),
    _case("cut in the header", 3, GOOD[:30]),
    _case("cut after the header", 3, GOOD.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"),
    _case("cut in the middle", 3, GOOD[:-12]),
    _case("cut one byte before the end", 3, GOOD[:-1]),
    _case("cut between chunks", 3, _chunked(BODY[:10])),
    _case("cut in a chunk", 3, _chunked(BODY)[:-9]),
    _case("without a length", 1, b"HTTP/1.0 200 OK\r\n\r\n" + BODY),
    _case("whole JSON shorter than its length", 3, answered(200, BODY, length=len(BODY) + 1)),
    _case("slow to answer", 3, [SLOW, GOOD]),
    _case("slow in the header", 3, [GOOD[:20], SLOW, GOOD[20:]]),
    _case("slow in the body", 3, [GOOD[:-5], SLOW, GOOD[-5:]]),
    _case("a byte at a time", 3, _trickle(GOOD)),
    _case("no HTTP", 1, b"220 mail.example.com ESMTP\r\n"),
    _case("a login page with 200", 1, answered(200, HTML)),
    _case("JSON that is no object", 1, answered(200, b"[]")),
    _case("JSON without secrets", 1, answered(200, b'{"rev": 1}')),
    _case("JSON nested without end", 1, answered(200, b"[" * 200_000)),
    _case("bytes that are no UTF-8", 1, answered(200, b'{"rev": 1, "secrets": {"A": "\xff"}}')),
    _case("compressed", 1, answered(200, BODY, "Content-Encoding: gzip")),
    _case("larger than anything", 1, answered(200, b"", length=1 << 40)),
    _case("a header without end", 1, b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n"),
    _case("a thousand headers", 1, b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1_000 + b"\r\n"),
    _case("an interim answer and no more", 3, b"HTTP/1.1 100 Continue\r\n\r\n"),
    _case("a value with NUL", 6, secrets({"API_KEY": "a\0b"})),
    _case("a key that is none", 6, secrets({"API KEY": "x"})),
]
