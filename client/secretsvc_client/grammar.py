"""The names of the specification, and what of an untrusted text may be shown."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote

from secretsvc_client.errors import WrongUse

#: A POSIX environment variable name.
KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
SLUG = re.compile(r"(?=.{1,64}\Z)[a-z0-9]+(?:-[a-z0-9]+)*")
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
#: Control characters, those that turn the direction of text, line and paragraph ends, lone surrogates.
_UNSEEN = {"Cc", "Cf", "Zl", "Zp", "Cs"}


def is_key(text: str) -> bool:
    """Whether it is the name of a secret, and so of an environment variable."""
    return KEY.fullmatch(text) is not None


def checked_key(text: str) -> str:
    """The key; raises `WrongUse` without repeating a text that may hold a value after a `=`."""
    if not is_key(text):
        shown = "what stands before the `=`" if "=" in text else printable(text)
        raise WrongUse(
            f"{shown} is no key by itself",
            "A key is the name of an environment variable; a value is never an argument.",
        )
    return text


def checked_slug(text: str, kind: str) -> str:
    """The slug of a project or an environment; raises `WrongUse`."""
    if SLUG.fullmatch(text) is None:
        raise WrongUse(
            f"{printable(text)} is no {kind}'s name in addresses",
            "Take lower-case letters and digits, with single hyphens between them.",
        )
    return text


def printable(text: object, *, lines: bool = False) -> str:
    """The text with everything escaped that a terminal might obey; `lines` lets line feeds and tabs be."""
    kept = "\n\t" if lines else ""
    return "".join(
        one if one in kept or unicodedata.category(one) not in _UNSEEN else _escaped(one) for one in str(text)
    )


def segment(text: str) -> str:
    """The text as one segment of a path."""
    return quote(text, safe="")


def _escaped(character: str) -> str:
    number = ord(character)
    return (
        f"\\x{number:02x}"
        if number < 0x100
        else f"\\u{number:04x}"
        if number < 0x10000
        else f"\\U{number:08x}"
    )
