"""Query strings: each parameter once, UTF-8, nothing else."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from secretsvc.kernel.errors import BadRequest, ValidationFailed


def parse_query(environ: dict[str, Any]) -> dict[str, str]:
    """The parameters of a request. Raises `BadRequest`, or `ValidationFailed` for one given twice."""
    raw = environ.get("QUERY_STRING", "")
    if not raw:
        return {}
    try:
        # WSGI hands over bytes in the guise of Latin-1.
        text = raw.encode("latin-1").decode("utf-8")
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise BadRequest("The query is malformed.") from None
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise ValidationFailed.at(name, "Given twice.")
        values[name] = value
    return values
