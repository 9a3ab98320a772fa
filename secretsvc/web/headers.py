"""Headers that every response carries, whoever writes it: the application or the server itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import uuid_utils
from webob import Response

REQUEST_ID_HEADER = "X-Request-Id"
SECURITY_HEADERS: tuple[tuple[str, str], ...] = (
    ("X-Frame-Options", "DENY"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Strict-Transport-Security", "max-age=63072000; includeSubDomains; preload"),
)
# The default for what is no page: a page replaces it by a policy of its own.
API_CONTENT_SECURITY_POLICY = "default-src 'none'; frame-ancestors 'none'"
PAGE_CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)

_DEFAULTS = (("Content-Security-Policy", API_CONTENT_SECURITY_POLICY), ("Cache-Control", "no-store"))
_FORCED = frozenset(name.lower() for name in (REQUEST_ID_HEADER, *dict(SECURITY_HEADERS)))

_OFFERED = re.compile(r"[A-Za-z0-9._-]{1,64}")


def new_request_id() -> str:
    """A UUIDv7 in its usual text form."""
    return str(uuid_utils.uuid7())


def request_id(offered: str | None) -> str:
    """The client's own id if the specification's pattern allows all of it, else a new one."""
    if offered is not None and _OFFERED.fullmatch(offered):
        return offered
    return new_request_id()


def error_answer(code: str, message: str, identifier: str) -> tuple[bytes, list[tuple[str, str]]]:
    """The envelope of an error that the server answers without the application, and its headers."""
    headers = [
        ("Content-Type", "application/json; charset=utf-8"),
        ("Cache-Control", "no-store"),
        (REQUEST_ID_HEADER, identifier),
        *SECURITY_HEADERS,
        ("Content-Security-Policy", API_CONTENT_SECURITY_POLICY),
    ]
    return json.dumps({"code": code, "message": message, "request_id": identifier}).encode(), headers


def complete(response: Response, identifier: str, more: Mapping[str, str]) -> None:
    """Gives a response the headers of this module and `more`, which replace those that are there.

    All at once: WebOb searches the whole list for each header that is set.
    """
    present = _FORCED.union([name.lower() for name in more])
    kept = [pair for pair in response.headerlist if pair[0].lower() not in present]
    present = present.union([name.lower() for name, _ in kept])
    defaults = [pair for pair in _DEFAULTS if pair[0].lower() not in present]
    own = *SECURITY_HEADERS, (REQUEST_ID_HEADER, identifier), *more.items()
    response.headerlist = [*kept, *own, *defaults]
