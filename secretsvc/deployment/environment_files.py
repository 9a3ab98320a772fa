"""Environment files of systemd (`EnvironmentFile=`), read by its rules and without a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BLANK = re.compile(r"\s*")
_COMMENT = re.compile(r"[#;][^\r\n]*")
_KEY = re.compile(r"[^=\r\n]*=?")
#: One part of a value: in single quotes, in double quotes, or as it stands, up to the end of its line.
_PART = re.compile(
    r"""
    [ \t]* (?: '(?P<single>[^']*)(?:'|\Z) | "(?P<double>(?:\\.|[^"\\])*)(?:"|\Z)
    | (?P<bare>(?:\\.|[^\\\r\n])+?) [ \t]*(?=[\r\n]|\Z) )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
#: What a backslash escapes within double quotes; before anything else it stays.
_ESCAPED_IN_QUOTES = '"\\`$'


class EnvironmentFile(NamedTuple):
    """The variables of a file, and the numbers of the lines that systemd ignores."""

    variables: dict[str, str]
    ignored: tuple[int, ...]


def read_environment(text: str) -> EnvironmentFile:
    """Return what the text of an environment file sets. The last of several values of a name counts."""
    variables: dict[str, str] = {}
    ignored = []
    for line, name, value in _assignments(text):
        if value is None or not _NAME.fullmatch(name):
            ignored.append(line)
        else:
            variables[name] = value
    return EnvironmentFile(variables, tuple(ignored))


def _assignments(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Each line's number, what is before its `=`, and its value; None where it has no `=`."""
    at = _end(_BLANK, text, 0)
    while at < len(text):
        comment = _COMMENT.match(text, at)
        if comment is None:
            line = text.count("\n", 0, at) + 1
            key, value = text[at : _end(_KEY, text, at)], None
            at += len(key)
            if key.endswith("="):
                value, at = _value(text, at)
            yield line, key.rstrip("=").rstrip(), value
        else:
            at = comment.end()
        at = _end(_BLANK, text, at)


def _value(text: str, at: int) -> tuple[str, int]:
    """The value that begins there, and where it ends."""
    value = ""
    while (part := _PART.match(text, at)) is not None:
        at = part.end()
        if part["bare"] is not None:
            return value + _ESCAPE.sub(lambda found: found[1].strip("\n"), part["bare"]), at
        quoted = part["single"] or ""
        value += quoted + _ESCAPE.sub(_unescaped, part["double"] or "")
    return value, at


def _unescaped(found: re.Match[str]) -> str:
    if found[1] == "\n":
        return ""
    return found[1] if found[1] in _ESCAPED_IN_QUOTES else found[0]


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return at if found is None else found.end()
