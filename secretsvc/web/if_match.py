"""`If-Match` and `expected_rev`, which mean the same (specification, "Concurrency")."""

from __future__ import annotations

import re

from secretsvc.kernel.errors import BadRequest
from secretsvc.web.request import ServiceRequest

_REVISION = re.compile(r'(?:W/)?"(0|[1-9][0-9]{0,18})"')


def expected_revision(request: ServiceRequest, in_body: int | None) -> int | None:
    """The revision that the client expects, None for any.

    `*` guards on existence only, which every write does. Raises `BadRequest` for a list, for anything
    else, and where header and body disagree.
    """
    header = request.environ.get("HTTP_IF_MATCH")
    if header is None or header.strip() == "*":
        return in_body
    match = _REVISION.fullmatch(header.strip())
    if match is None:
        raise BadRequest("If-Match takes `*` or one quoted revision.")
    in_header = int(match.group(1))
    if in_body is not None and in_body != in_header:
        raise BadRequest("If-Match and expected_rev disagree.")
    return in_header


def refuse_precondition(request: ServiceRequest) -> None:
    """For writes that do not evaluate `If-Match`: ignoring it would be worse than refusing it."""
    if "HTTP_IF_MATCH" in request.environ:
        raise BadRequest("If-Match is not supported here.")
