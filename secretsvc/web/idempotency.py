"""`Idempotency-Key`: what a client asks to be done once (contract 8.2)."""

from __future__ import annotations

import re

import orjson

from secretsvc.kernel.errors import BadRequest
from secretsvc.kernel.use_case import IdempotencyKey
from secretsvc.web.request import ServiceRequest

HEADER, REPLAYED = "Idempotency-Key", "Idempotency-Replayed"
GRAMMAR = r"[A-Za-z0-9._-]{1,64}"
_KEY = re.compile(GRAMMAR)
#: The header as a parameter of an operation.
PARAMETER = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": (
        "For 24 hours the same key with the same input gives the first success again, with"
        f" `{REPLAYED}: true`; other input is a 409. Dry runs ignore it."
    ),
    "schema": {"type": "string", "pattern": f"^{GRAMMAR}$"},
}


def asked_once(request: ServiceRequest) -> IdempotencyKey | None:
    """What the request asks to be done once, None without the header.

    Equal is what has the same body, defaults filled in, and the same `If-Match`. Raises `BadRequest` for a
    malformed key.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if _KEY.fullmatch(key) is None:
        raise BadRequest(f"{HEADER} takes 1 to 64 letters, digits, dots, underscores and hyphens.")
    asked = [request.environ.get("HTTP_IF_MATCH"), request.body_values]
    return IdempotencyKey(key, orjson.dumps(asked, option=orjson.OPT_SORT_KEYS))
