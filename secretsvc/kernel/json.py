"""JSON read without a second interpretation: what a lax reader forgives, two readers take differently."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NoReturn

Pairs = list[tuple[str, object]]


def unique_members(pairs: Pairs) -> dict[str, object]:
    """An object as a dictionary. Raises ValueError for a member that is given twice."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("duplicate member")
    return members


def parse_json(
    text: str,
    *,
    members: Callable[[Pairs], object] = unique_members,
    number: Callable[[str], object] | None = None,
) -> object:
    """A JSON document; NaN, Infinity and a byte order mark are none.

    `members` makes an object of its members as they were written, `number` what stands for a number of its
    text. Raises ValueError, JSONDecodeError where it knows the line, and RecursionError where the nesting is
    deeper than the interpreter's stack. A lone surrogate, an infinite float (`1e999`) and depth are left to
    whoever asks.
    """
    return json.loads(
        text, object_pairs_hook=members, parse_int=number, parse_float=number, parse_constant=_refuse
    )


def _refuse(_constant: str) -> NoReturn:
    raise ValueError("not a JSON number")
