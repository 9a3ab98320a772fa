"""The unverified claims of a refused assertion, for the log (contract 6.5)."""

from __future__ import annotations

from secretsvc.authentication.assertions import MAX_LENGTH
from secretsvc.authentication.jose import segment_object
from secretsvc.kernel.rejections import claimed_facts


def unverified_facts(token: str) -> str:
    """Its `kid`, the names of its claims, its issuer, audience and times, as `facts` writes them.

    No other claim's value, and nothing of what cannot be read.
    """
    if len(token) > MAX_LENGTH or token.count(".") != 2:
        return ""
    header, payload, _ = token.split(".")
    claims = _object(payload)
    times = {name: claims.get(name) for name in ("exp", "nbf", "iat")}
    return claimed_facts(
        {
            "kid": _object(header).get("kid"),
            "claims": list(claims),
            "iss": claims.get("iss"),
            "aud": claims.get("aud"),
            **{name: time for name, time in times.items() if isinstance(time, int | float)},
        }
    )


def _object(segment: str) -> dict[str, object]:
    try:
        return segment_object(segment)
    except (ValueError, RecursionError):
        return {}
