"""Text that passed through the text area of a page, where browsers rewrite line ends and NUL."""

from __future__ import annotations

import re
from collections.abc import Callable

NUL, REPLACEMENT = "\0", "\ufffd"
#: A text that a page sent, and the stored one that it was made from, to the text that was meant.
Restore = Callable[[str, str], str]

_LINE_END = re.compile(r"\r\n|\r|\n")
#: Characters that a text area rewrites, or that it shows for those.
_AMBIGUOUS = re.compile(r"[\r\n\0\ufffd]")
#: What became of characters that text areas rewrite: line ends were kept, or became line feeds; NUL was lost.
CR_LF_KEPT, CR_KEPT, LINE_FEEDS, NUL_LOST = "CR LF", "CR", "LF", "NUL"


def line_feeds(text: str) -> str:
    """Return the text with a line feed for each CR LF and CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def as_sent(text: str) -> str:
    """Return what is left of a text that a page showed in a text area and sent back."""
    return line_feeds(text).replace(NUL, REPLACEMENT)


def is_exact(text: str) -> bool:
    """Return whether a text comes back from a text area as it was."""
    return as_sent(text) == text


def survives_text_area(text: str) -> bool:
    """Return whether a text means itself, whatever is stored: `with_line_ends` never changes it."""
    return _AMBIGUOUS.search(text) is None


def exactly(typed: str, _stored: str) -> str:
    """Return the text as it is: it came from a file, or in a syntax that names line ends."""
    return typed


def with_nul(typed: str, stored: str) -> str:
    """Return the text with the NUL characters of the stored one, where it is clear which they are."""
    if typed == stored.replace(NUL, REPLACEMENT):
        return stored
    if NUL in stored and REPLACEMENT not in stored:
        return typed.replace(REPLACEMENT, NUL)
    return typed


def with_line_ends(typed: str, stored: str) -> str:
    """Return the text with the line ends and NUL characters of the stored one.

    Text that a page only showed is the stored one. Where it was edited, it keeps line ends that were all of
    one kind. A text that no text area can send is meant as it is.
    """
    if not is_exact(typed):
        return typed
    if typed == as_sent(stored):
        return stored
    kinds = set(_LINE_END.findall(stored))
    text = typed.replace("\n", kinds.pop()) if len(kinds) == 1 else typed
    return with_nul(text, stored)


def outcome(typed: str, stored: str, written: str) -> str | None:
    """Return what became of the characters that text areas rewrite; None for nothing worth a word."""
    if NUL in stored and REPLACEMENT in written and NUL not in written:
        return NUL_LOST
    if "\r" not in stored or not _LINE_END.search(written):
        return None
    if "\r" not in written:
        return LINE_FEEDS
    if written == typed:
        return None
    return CR_LF_KEPT if "\r\n" in written else CR_KEPT
