"""Query strings and urlencoded forms: each parameter once, UTF-8, nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import parse_qsl, urlencode

from secretsvc.kernel.errors import BadRequest, Issue, ValidationFailed, refuse
from secretsvc.web.schema import Body, Values, validate

MAX_PARAMETERS = 100


def parse_query(environ: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a request. Raises `BadRequest`, or `ValidationFailed` for those given twice."""
    return once(_query_pairs(environ))


def validated_query(schema: Body, environ: Mapping[str, str]) -> Values:
    """The parameters of a request in the schema's types.

    Raises `BadRequest`, or `ValidationFailed` with all issues: parameters given twice come first, and have no
    other issue.
    """
    values, twice = _by_name(_query_pairs(environ))
    if not twice:
        return validate(schema, values)
    repeated = ValidationFailed(issues=twice.values())
    try:
        validate(schema, values)
    except ValidationFailed as error:
        raise repeated.and_also(issue for issue in error.named if issue.path not in twice) from None
    raise repeated


def parse_urlencoded(raw: bytes, most: int, kind: str) -> dict[str, str]:
    """At most `most` parameters by name; an error calls them a `kind`. Raises as `parse_query`."""
    return once(_pairs(raw, most, kind))


def with_query(path: str, query: Mapping[str, str], **changes: object) -> str:
    """Return a path with the parameters of a page, some changed; None removes one, `done` is dropped."""
    merged = {**query, **changes, "done": None}
    kept = {name: value for name, value in merged.items() if value is not None}
    return f"{path}?{urlencode(kept)}" if kept else path


def once(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The pairs by name. Raises `ValidationFailed` for names given twice."""
    values, twice = _by_name(pairs)
    refuse(twice.values())
    return values


def _query_pairs(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    raw = environ.get("QUERY_STRING", "")
    # WSGI hands over bytes in the guise of Latin-1.
    return _pairs(raw.encode("latin-1"), MAX_PARAMETERS, "query") if raw else []


def _pairs(raw: bytes, most: int, kind: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(raw.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=most)
    except ValueError:
        raise BadRequest(f"The {kind} is malformed.") from None


def _by_name(pairs: Iterable[tuple[str, str]]) -> tuple[dict[str, str], dict[str, Issue]]:
    """The first value of each name, and an issue for each name given twice."""
    values: dict[str, str] = {}
    twice: dict[str, Issue] = {}
    for name, value in pairs:
        if name in values:
            twice[name] = Issue(name, "Given twice.")
        else:
            values[name] = value
    return values, twice
