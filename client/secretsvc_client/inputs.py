"""The text of a file or of stdin (contract 16.9)."""

from __future__ import annotations

import re
import sys

from secretsvc_client import output
from secretsvc_client.errors import Invalid, WrongUse
from secretsvc_client.grammar import printable

#: Bytes of an input; the service has a limit of its own.
LONGEST = 16 * 1024 * 1024
_BOM = "\ufeff"


def read_text(file: str) -> str:
    """Return the text of a file, or of stdin for `-`, without a byte order mark.

    Raises `WrongUse` for a file that cannot be read, `Invalid` for bytes that are not UTF-8.
    """
    return text_of(_read(file), "the input")


def text_of(raw: bytes, name: str) -> str:
    """Decode UTF-8 without a byte order mark; raise `Invalid`, which calls the text by its name."""
    if _is_utf_16(raw):
        raise Invalid(f"{name} is UTF-16, not UTF-8", "Save or convert it as UTF-8: iconv -f utf-16 -t utf-8")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise Invalid(f"{name} is not UTF-8", "Store a binary value in base64.") from None
    if text.startswith(_BOM):
        output.tell(f"{name} begins with a byte order mark, which is left out")
        return text[len(_BOM) :]
    return text


def without_line_end(text: str) -> str:
    """Remove one final LF or CR LF, which `echo` and PowerShell add to what they send."""
    if text.endswith("\r\n"):
        return text[:-2]
    return text[:-1] if text.endswith("\n") else text


def has_key(content: str, media: str) -> bool:
    """Whether a file to import can name a key; the service judges all else."""
    if media == "json" and content.strip():
        import json

        try:
            return bool(json.loads(content))
        except (ValueError, RecursionError):
            return True
    # A comment ends as the service has it: not at U+2028 or a form feed.
    lines = (line.strip() for line in re.split(r"[\r\n]", content))
    return any(line and not line.startswith("#") for line in lines)


def _read(file: str) -> bytes:
    if file == "-" and sys.stdin is None:
        raise WrongUse("there is no input: stdin is closed")
    try:
        if file == "-":
            raw = sys.stdin.buffer.read(LONGEST + 1)
        else:
            with open(file, "rb") as opened:
                raw = opened.read(LONGEST + 1)
    except OSError as error:
        raise WrongUse(f"{printable(file)} cannot be read: {error.strerror}") from None
    except ValueError:
        raise WrongUse(f"{printable(file)} cannot be the name of a file") from None
    if len(raw) > LONGEST:
        raise Invalid("the input is larger than 16 MiB")
    return raw


def _is_utf_16(raw: bytes) -> bool:
    """Whether it has the mark of UTF-16, or NULs in most of the even or of the odd places and no others."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    if len(raw) < 4 or len(raw) % 2:
        return False
    even, odd = raw[::2].count(0), raw[1::2].count(0)
    return min(even, odd) == 0 and max(even, odd) * 3 >= len(raw)
