"""What the server answers before or after the application: malformed and oversized requests, crashes.

Waitress would write them as plain text, without a request id, and quote the offending line, which may
be an assertion. Here they have the error envelope, the headers, and constant texts (contract 3.14).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from waitress.parser import HTTPRequestParser, ParsingError, TransferEncodingNotImplemented
from waitress.task import ErrorTask

from secretsvc.kernel.errors import BadRequest, Internal, NotSupported, PayloadTooLarge
from secretsvc.web.headers import PAGE_CONTENT_SECURITY_POLICY, error_answer, request_id

_NOT_SUPPORTED = (NotSupported.code, NotSupported.default_message)
_TOO_LARGE = (PayloadTooLarge.code, PayloadTooLarge.default_message)

# A line that begins with white space continues the header before it (RFC 9112, 5.2). Not every server agrees.
_FOLDED_CODING = re.compile(rb"\r\ntransfer-encoding[ \t]*:[^\r]*\r\n[ \t]", re.IGNORECASE)
# RFC 9110, 7.2, less the comma, which is what two hosts are joined by, and future kinds of address.
_HOST = re.compile(
    r"(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+;=-]|%[0-9A-Fa-f]{2})+)(?::[0-9]*)?", re.ASCII
)

# The server's own status, ours, and the body's code and message. Contract 4.10: large headers are 413.
ANSWERS: dict[int, tuple[HTTPStatus, tuple[str, str]]] = {
    400: (HTTPStatus.BAD_REQUEST, (BadRequest.code, BadRequest.default_message)),
    413: (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LARGE),
    431: (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LARGE),
    500: (HTTPStatus.INTERNAL_SERVER_ERROR, (Internal.code, Internal.default_message)),
    501: (HTTPStatus.NOT_IMPLEMENTED, _NOT_SUPPORTED),
}


#: Of a form that is too large: nobody has read it, so its page cannot be drawn again.
#: Needs: sent, size, request.
TOO_LARGE_PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>413 This form is too large to be sent · secretsvc</title>
  <link rel="stylesheet" href="/static/web/secretsvc.css">
  <link rel="icon" href="/static/web/icon.svg">
</head>
<body>
  <main class="lost">
    <p class="code">413</p>
    <h1>This form of {sent:,} bytes is too large to be sent: {size:,} bytes are the most at once.</h1>
    <p>Nothing was changed. Go back in your browser: what you typed is still there. Send less at once, or ask
      the operator to raise the limit.</p>
    <p class="help"><code>PAYLOAD_TOO_LARGE</code> · request <code>{request}</code></p>
  </main>
</body>
</html>
"""


class EnvelopeErrorTask(ErrorTask):  # type: ignore[misc]  # it has no types of its own
    """Answers the parser's error with the envelope, says nothing of its text, closes the connection."""

    def execute(self) -> None:
        """Writes the whole response; a status that is not in the table is answered as a crash."""
        status, (code, message) = ANSWERS.get(self.request.error.code, ANSWERS[500])
        identifier = request_id(self.request.headers.get("X_REQUEST_ID"))
        body, self.response_headers = error_answer(code, message, identifier)
        if self.request.error.code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE and self._is_form():
            body = self._too_large_page(identifier)
            self.response_headers = _as_page(self.response_headers)
        self.status = f"{status.value} {status.phrase}"
        self.content_length = len(body)
        self.set_close_on_finish()
        # The answer to HEAD has no body, or the client would take it for the start of the next one.
        self.write(b"" if getattr(self.request, "command", "") == "HEAD" else body)

    def _is_form(self) -> bool:
        """Whether a browser sent it from one of the pages."""
        sent: Mapping[str, str] = self.request.headers
        path = f"{getattr(self.request, 'path', '')}/"
        return "text/html" in sent.get("ACCEPT", "") and path.startswith("/") and not path.startswith("/api/")

    def _too_large_page(self, identifier: str) -> bytes:
        size = self.channel.adj.body_max_bytes
        # A browser announces how long a form is.
        sent = getattr(self.request, "content_length", 0)
        return TOO_LARGE_PAGE.format(sent=sent, size=size, request=identifier).encode()


def _as_page(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    page = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": PAGE_CONTENT_SECURITY_POLICY,
    }
    return [(name, page.get(name, value)) for name, value in headers]


def _are_clear(codings: Sequence[bytes]) -> bool:
    """Whether none of the listed codings is empty, and `chunked` is there once at most (contract 17.11).

    Waitress skips the empty ones, and another server may not.
    """
    found = [one.strip(b" \t").lower() for one in b",".join(codings).split(b",")]
    return b"" not in found and found.count(b"chunked") < 2


class AnsweringParser(HTTPRequestParser):  # type: ignore[misc]  # it has no types of its own
    """Waitress's parser, but a request that it chokes on is answered, not dropped with a traceback.

    And a request whose end two servers may see in different places is refused (RFC 9112, 6.1 and 6.3):
    waitress would believe one of its two lengths, and serve what follows as a request of its own. So is one
    whose host is missing, unclear or none (RFC 9112, 3.2): two servers may see different ones.
    """

    def parse_header(self, header_plus: bytes) -> None:
        """Raises ParsingError, also for an address or length that the standard library cannot read."""
        if _FOLDED_CODING.search(header_plus):
            raise ParsingError("ambiguous transfer coding")
        fields = [line.partition(b":") for line in header_plus.split(b"\r\n")[1:]]
        names = [name.lower() for name, _, _ in fields]
        codings = [value for name, _, value in fields if name.lower() == b"transfer-encoding"]
        try:
            super().parse_header(header_plus)
        except ValueError:
            raise ParsingError("unreadable number or address") from None
        except TransferEncodingNotImplemented:
            if _are_clear(codings):
                raise
        if codings and not _are_clear(codings):
            raise ParsingError("ambiguous transfer coding")
        if b"transfer-encoding" in names and (b"content-length" in names or not self.chunked):
            raise ParsingError("ambiguous length")
        hosts = names.count(b"host")
        if hosts > 1 or (hosts and not _HOST.fullmatch(self.headers["HOST"])):
            raise ParsingError("unclear host")
        if not hosts and self.version not in ("", "1.0"):
            raise ParsingError("no host")
