"""The grammars of names that clients choose. Matching is of the whole text, and its length comes first.

Each pattern can read a text in one way only, so that no input makes it slow.
"""

from __future__ import annotations

import re

SLUG_LENGTH = 64
SECRET_KEY_LENGTH = 256
# Python counts the separators among white space, ECMAScript does not.
NO_NUL = "^[^\\u0000]*$"
NOT_BLANK = "^[^\\u0000]*[^\\s\\u0000\\u001c-\\u001f\\u0085\\ufeff][^\\u0000]*$"
# What kernel.display_names refuses, up to 16 bits: beyond, JSON Schema has no spelling for all readers.
_UNSEEN = (
    "@\\ufe6b\\uff20\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2"
    "\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff\\ufff9-\\ufffb"
)
PLAIN_NAME = f"^[^{_UNSEEN}]*[^\\s{_UNSEEN}][^{_UNSEEN}]*$"
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
SECRET_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_slug(text: str) -> bool:
    """Whether it is lower-case ASCII alphanumerics with single interior hyphens, at most 64 characters."""
    return len(text) <= SLUG_LENGTH and SLUG.fullmatch(text) is not None


def is_secret_key(text: str) -> bool:
    """Whether it is a POSIX environment variable name in ASCII, at most 256 characters."""
    return len(text) <= SECRET_KEY_LENGTH and SECRET_KEY.fullmatch(text) is not None
