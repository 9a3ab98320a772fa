"""What about a value looks like a mistake, in words that show nothing of it."""

from __future__ import annotations

import re
import unicodedata

_PLACEHOLDER = re.compile(
    r"change[-_ ]?me|to[-_ ]?do|tbd|fix[-_ ]?me|x{3,}|\.{3}|placeholder|dummy|example|"
    r"insert[-_ ].*|your[-_ ].*|<[^<>]*>|\$\{[^{}]*\}|\{\{[^{}]*\}\}",
    re.IGNORECASE,
)
#: They change the direction in which the text after them is shown.
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def doubts(value: str) -> list[str]:
    """What to ask about a value before it is written; nothing for most."""
    found = []
    beginning = value[: len(value) - len(value.lstrip())]
    if beginning:
        found.append("begins with a line break" if beginning.strip(" \t") else "begins with a space")
    # The last line of a key or a certificate is meant to have an end.
    ending = value[len(value.rstrip()) :]
    if ending and not ("-----END" in value and ending in ("\n", "\r\n")):
        found.append("ends with a line break" if ending.strip(" \t") else "ends with a space")
    kinds = {one for one in set(value) if not (one.isascii() and one.isprintable())}
    if turns(value):
        found.append("turns the direction of text")
    if {"Zs", "Zl", "Zp"}.intersection(map(unicodedata.category, kinds)):
        found.append("has a space that is no plain space")
    if any(map(_is_invisible, kinds)):
        found.append("has invisible characters")
    if _PLACEHOLDER.fullmatch(value.strip()):
        found.append("looks like a placeholder")
    return found


def turns(value: str) -> bool:
    """Whether its characters may be seen in another order than they stand in."""
    return _TURNING.search(value) is not None


def _is_invisible(one: str) -> bool:
    if one in "\t\n\r" or _TURNING.match(one):
        return False
    return unicodedata.category(one) in ("Cc", "Cf", "Co", "Cn")
