"""Query strings and urlencoded forms: each parameter once, UTF-8, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from secretsvc.kernel.errors import BadRequest, ValidationFailed

MAX_PARAMETERS = 100


def parse_query(environ: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a request. Raises `BadRequest`, or `ValidationFailed` for one given twice."""
    raw = environ.get("QUERY_STRING", "")
    # WSGI hands over bytes in the guise of Latin-1.
    return parse_urlencoded(raw.encode("latin-1"), MAX_PARAMETERS, "query") if raw else {}


def parse_urlencoded(raw: bytes, most: int, kind: str) -> dict[str, str]:
    """At most `most` parameters by name; an error calls them a `kind`. Raises as `parse_query`."""
    try:
        pairs = parse_qsl(raw.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=most)
    except ValueError:
        raise BadRequest(f"The {kind} is malformed.") from None
    return once(pairs)


def once(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """The pairs by name. Raises `ValidationFailed` for a name given twice."""
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise ValidationFailed.at(name, "Given twice.")
        values[name] = value
    return values
