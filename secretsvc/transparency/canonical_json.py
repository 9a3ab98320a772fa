"""Canonical JSON (RFC 8785) of what audit records hold, so that everybody hashes the same bytes."""

from __future__ import annotations

import orjson

MAX_INTEGER = 2**53 - 1


def canonical(value: object) -> bytes:
    """The one text of null, booleans, texts, integers up to 2^53-1, lists and objects of these.

    Raises ValueError for anything else: a float, a larger integer, a lone surrogate, nesting past 250 levels.
    """
    try:
        # Its texts and integers are those of RFC 8785, and members stay in the order of the dictionary.
        return orjson.dumps(_ordered(value))
    except (orjson.JSONEncodeError, RecursionError):
        raise ValueError("no canonical JSON") from None


def _ordered(value: object) -> object:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise ValueError("an integer that JSON readers round")
        return value
    if isinstance(value, dict):
        return {name: _ordered(value[name]) for name in _sorted(value)}
    if isinstance(value, list):
        return [_ordered(one) for one in value]
    raise ValueError(f"no canonical JSON of {type(value).__name__}")


def _sorted(names: dict[str, object]) -> list[str]:
    """By UTF-16, as JavaScript sorts: what lies beyond the basic plane comes before U+E000."""
    try:
        # Of ASCII every order is the same.
        by = None if "".join(names).isascii() else _utf16
        return sorted(names, key=by)
    except TypeError:
        raise ValueError("a member without a name") from None


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be")
