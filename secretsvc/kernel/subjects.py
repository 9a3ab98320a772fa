"""Subjects: the one normal form in which people and service tokens are compared, stored and searched."""

from __future__ import annotations

import unicodedata

MAX_LENGTH = 320
# Spaces, controls, format characters, surrogates, private and unassigned code points.
_FORBIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})


def exact_subject(raw: object) -> str:
    """A service token's `common_name`, as it is. Raises ValueError for what no subject may hold.

    U+0020 may stand between other characters (contract 3.20).
    """
    if not isinstance(raw, str) or not 1 <= len(raw) <= MAX_LENGTH or raw != raw.strip(" "):
        raise ValueError
    if any(unicodedata.category(char) in _FORBIDDEN for char in raw if char != " "):
        raise ValueError
    # Full-width letters, the Kelvin sign and their like would otherwise be a second spelling of a name.
    if unicodedata.normalize("NFKC", raw) != raw:
        raise ValueError
    return raw


def email_subject(raw: object) -> str:
    """An e-mail address, lower-cased. Raises ValueError.

    Lower-casing happens here and nowhere else: databases and Python disagree outside ASCII.
    """
    text = exact_subject(raw)
    local, at, domain = text.partition("@")
    if not (local and at and domain) or "@" in domain or " " in text:
        raise ValueError
    # U+0130 lower-cases to an ASCII "i" and a combining dot: it must not come near another's name.
    if any(ord(char) > 127 and any(ord(low) < 128 for low in char.lower()) for char in text):
        raise ValueError
    return text.lower()
