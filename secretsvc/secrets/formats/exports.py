"""Export formats: keys and values to the bytes of a file (contract 5.8).

What a format cannot carry is refused before anything is recorded, for every such key at once.
"""

from __future__ import annotations

import io
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping

import orjson

from secretsvc.kernel.errors import Issue, refuse

#: Values by key to the bytes of a file. Raises ValidationFailed for what the format cannot carry.
Writer = Callable[[Mapping[str, str]], bytes]
#: The same, of a file that names what it holds.
NamedWriter = Callable[[Mapping[str, str], str], bytes]

_BARE = re.compile(r"[A-Za-z0-9_@%+=:,./-]*")
# Between single quotes python-dotenv reads two backslashes as one. Files are read with any newline as `\n`.
_NOT_SINGLE_QUOTED = re.compile(r"['\r]|\\\\|\\\Z")
# What one reader or another reads otherwise between double quotes.
_NOT_DOUBLE_QUOTED = re.compile(r'["\r\\$`]')
# Where a quote follows a backslash, godotenv refuses the file: without quotes a comment ends the value.
_TAIL = re.compile(r"(?!\s)[^\r\n'\"`#$]*\\")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\r": r"\r"})
_QUOTE = r"'\''"
_NOT_IN_DOCKER = re.compile(r"[\n\0]|\r\Z")
#: Names to which bash, dash, ksh93 or mksh do not give any text: they refuse it, ignore it, or take it for
#: arithmetic, which runs what is in it.
UNSETTABLE = re.compile(
    "BASHOPTS|BASHPID|BASH_(?:ALIASES|ARGC|ARGV|CMDS|COMMAND|LINENO|MONOSECONDS|SOURCE|SUBSHELL|VERSINFO)"
    "|COLUMNS|DIRSTACK|EPOCHREALTIME|EPOCHSECONDS|EUID|FUNCNAME|GROUPS|HISTCMD|HISTSIZE|JOBMAX"
    "|KSH(?:EGID|GID|UID|_VERSION)"
    "|LINENO|LINES|MAILCHECK|OPTIND|PGRP|PIPESTATUS|PPID|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|TMOUT|UID"
    "|USER_ID|_"
)
#: The longest key of a Secret's `data`.
KUBERNETES_KEY_LENGTH = 253


def write_env(values: Mapping[str, str]) -> str:
    """One dotenv binding a key, sorted, each ended by a line feed; `read_env` reads back the same values.

    So does python-dotenv with `interpolate=False`: its syntax has no way to write a `${` that it would
    not expand. Other readers agree wherever a value can be written as all of them read it.
    """
    return "".join(_env_lines(values))


def encode_env(values: Mapping[str, str]) -> bytes:
    """As `write_env`, in UTF-8."""
    return _encoded(_env_lines(values))


def encode_json(values: Mapping[str, str]) -> bytes:
    """One JSON object."""
    return orjson.dumps(values)


def encode_shell(values: Mapping[str, str]) -> bytes:
    """Lines that any POSIX shell may source: nothing in them is run or expanded.

    Raises ValidationFailed for NUL, and for keys of `UNSETTABLE`.
    """
    _refuse_where(
        values,
        "A shell cannot hold it.",
        lambda key, value: UNSETTABLE.fullmatch(key) is not None or "\0" in value,
    )
    quoted = ((key, values[key].replace("'", _QUOTE)) for key in sorted(values))
    return _encoded(f"export {key}='{value}'\n" for key, value in quoted)


def encode_docker(values: Mapping[str, str]) -> bytes:
    """Lines for `--env-file`, which takes what follows `=` as it is.

    Raises ValidationFailed for a newline, NUL, and a carriage return at the end.
    """
    _refuse_where(values, "One line cannot hold it.", lambda _, value: bool(_NOT_IN_DOCKER.search(value)))
    return _encoded(f"{key}={values[key]}\n" for key in sorted(values))


def encode_kubernetes(values: Mapping[str, str], name: str) -> bytes:
    """The manifest of a Secret with that name. Raises ValidationFailed for keys that are too long for one."""
    _refuse_where(
        values, "The key is too long for a Secret.", lambda key, _: len(key) > KUBERNETES_KEY_LENGTH
    )
    head = f'apiVersion: v1\nkind: Secret\nmetadata:\n  name: "{name}"\ntype: Opaque\n'
    # Quoted, because without them `NO` is a boolean.
    data = (f'  "{key}": "{b64encode(values[key].encode()).decode()}"\n' for key in sorted(values))
    return _encoded(iter((head, "data:\n", *data) if values else (head, "data: {}\n")))


def _encoded(lines: Iterator[str]) -> bytes:
    """The lines in UTF-8, with no second copy in memory beside them."""
    written = io.BytesIO()
    for line in lines:
        written.write(line.encode())
    return written.getvalue()


def _refuse_where(values: Mapping[str, str], message: str, is_refused: Callable[[str, str], bool]) -> None:
    refuse(Issue(f"secrets.{key}", message) for key in sorted(values) if is_refused(key, values[key]))


def _env_lines(values: Mapping[str, str]) -> Iterator[str]:
    return (f"{key}={_quoted(values[key])}\n" for key in sorted(values))


def _quoted(value: str) -> str:
    """The form that most readers of dotenv read alike, and python-dotenv reads as the value."""
    if _BARE.fullmatch(value):
        return value
    if not _NOT_SINGLE_QUOTED.search(value):
        return f"'{value}'"
    if not _NOT_DOUBLE_QUOTED.search(value):
        return f'"{value}"'
    if _TAIL.fullmatch(value):
        return f"{value} #"
    return f'"{value.translate(_ESCAPES)}"'
