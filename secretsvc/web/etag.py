"""`If-None-Match`: the revisions that a client knows (contract 5.7; RFC 9110, 13.1.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from pyramid.response import Response

from secretsvc.web.request import ServiceRequest

#: An element of a list, which may be empty, with the comma behind it. A tag may hold commas.
_ELEMENT = re.compile(r'[ \t]*(?:(?:W/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(,|\Z)')


def revisions_known(request: ServiceRequest) -> Callable[[int], bool] | None:
    """Tells of a revision whether the request names it, weak or strong; None where it names none.

    A header that is malformed is ignored.
    """
    header = request.environ.get("HTTP_IF_NONE_MATCH", "").strip(" \t")
    if header == "*":
        return lambda _rev: True
    tags = {tag for tag in _tags(header) if tag}
    return (lambda rev: str(rev) in tags) if tags else None


def _tags(header: str) -> Iterator[str]:
    """The opaque part of each tag; none of them all where one is malformed."""
    found, at, comma = [], 0, ","
    while comma:
        element = _ELEMENT.match(header, at)
        if element is None:
            return
        tag, comma = element.groups()
        found.append(tag or "")
        at = element.end()
    yield from found


def set_tag(request: ServiceRequest, rev: int) -> None:
    """Names the revision that the answer shows."""
    request.response.headers["ETag"] = f'"{rev}"'


def not_modified(request: ServiceRequest, rev: int) -> Response:
    """The answer to a client that knows the revision: no body, and nothing that describes one."""
    set_tag(request, rev)
    response = request.response
    response.status_int, response.body = 304, b""
    response.content_type = response.content_length = None
    return response
