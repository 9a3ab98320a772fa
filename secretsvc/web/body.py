"""The strict body parser: one JSON object, UTF-8, no duplicate members, nothing that a store cannot hold."""

from __future__ import annotations

import math

from secretsvc.kernel.errors import BadRequest, ValidationFailed
from secretsvc.kernel.json import parse_json

MAX_DEPTH = 32


def parse_object(raw: bytes, content_type: str, content_encoding: str) -> dict[str, object]:
    """The members of a JSON body.

    Raises `BadRequest` for what is no such body, `ValidationFailed` for a lone surrogate (contract 2).
    """
    _check_content_type(content_type)
    if content_encoding.strip().lower() not in ("", "identity"):
        raise BadRequest("The body must not be encoded.")
    document = _document(raw)
    if not isinstance(document, dict):
        raise BadRequest("The body must be a JSON object.")
    _walk(document, "", 1)
    return document


def _document(raw: bytes) -> object:
    try:
        return parse_json(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise BadRequest("The body is not JSON.") from None


def _check_content_type(content_type: str) -> None:
    media, *parameters = (part.strip().lower() for part in content_type.split(";"))
    if media != "application/json":
        raise BadRequest("The body must be application/json.")
    for parameter in filter(None, parameters):
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip().strip('"') not in ("utf-8", "utf8"):
            raise BadRequest("The body must be UTF-8.")


def _walk(value: object, path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BadRequest("The body is nested too deeply.")
    if isinstance(value, dict):
        for name, member in value.items():
            _check_text(name, path)
            _walk(member, f"{path}.{name}" if path else name, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _walk(item, path, depth + 1)
    elif isinstance(value, str):
        _check_text(value, path)
    elif isinstance(value, float) and not math.isfinite(value):
        raise BadRequest("The body is not JSON.")


def _check_text(text: str, path: str) -> None:
    # Most text is ASCII, and CPython knows that without looking.
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValidationFailed.at(path, "Text must not hold a lone surrogate.") from None
