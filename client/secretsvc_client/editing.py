"""Values as a text that people edit, read back to the same values; and the merge of two edits."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from secretsvc_client.errors import WrongUse
from secretsvc_client.grammar import is_key

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
_DECODER = json.JSONDecoder(strict=False)
_LINE = re.compile(r"[ \t]*(?:(?P<key>[^=\n#]*?)[ \t]*=[ \t]*(?P<rest>[^\n]*)" r"|(?P<other>[^\n]*))")
HELP = """\
# A line for each key: KEY=value, to the end of the line. Remove a line to remove its key.
# Between single quotes a value is taken as it stands, over lines too; between double quotes as in JSON.
# Leave the editor with an error (in vi :cq) to write nothing.
"""


def write(values: Mapping[str, str]) -> str:
    """The lines of the values, by key."""
    return "".join(f"{key}={quoted(value)}\n" for key, value in sorted(values.items()))


def quoted(value: str) -> str:
    """A value in the first form that gives it back: bare, between single quotes, as JSON."""
    if not _CONTROL.search(value):
        is_bare = value == value.strip() and "\n" not in value and value[:1] not in ("'", '"')
        if is_bare:
            return value
        if "'" not in value:
            return f"'{value}'"
    # Python's JSON leaves these as they are, and editors break lines there.
    text = json.dumps(value, ensure_ascii=_CONTROL.search(value) is not None)
    return text.replace("\x7f", "\\u007f")


def parse(text: str) -> dict[str, str]:
    """The values of a text; raises `WrongUse` with the number of a line that says nothing sensible."""
    values: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _LINE.match(text, at)
        line = text.count("\n", 0, at) + 1
        if match is None:
            raise WrongUse(f"line {line} cannot be read")
        key, end = match["key"], match.end()
        if key is None:
            if match["other"].strip() and not match["other"].lstrip().startswith("#"):
                raise WrongUse(f"line {line} is neither KEY=value nor a comment")
        else:
            if not is_key(key):
                raise WrongUse(f"line {line} begins with no key")
            if key in values:
                raise WrongUse(f"line {line} names {key} again")
            values[key], end = _value(text, match.start("rest"), match.end(), line)
        at = end + 1
    return values


def _value(text: str, start: int, end: int, line: int) -> tuple[str, int]:
    """The value that begins there, and where its last line ends."""
    mark = text[start : start + 1]
    if mark not in ("'", '"'):
        return text[start:end].strip(), end
    if mark == "'":
        close = text.find("'", start + 1)
        if close < 0:
            raise WrongUse(f"the value of line {line} has no end")
        value, after = text[start + 1 : close], close + 1
    else:
        try:
            found, after = _DECODER.raw_decode(text, start)
        except ValueError:
            raise WrongUse(f"the value of line {line} is no text of JSON") from None
        value = str(found)
    end = text.find("\n", after)
    end = len(text) if end < 0 else end
    if text[after:end].strip():
        raise WrongUse(f"something follows the value of line {line}")
    return value, end


@dataclass
class Merged:
    """Both edits together: `values` has ours of the keys that both changed, which are the `conflicts`."""

    values: dict[str, str] = field(default_factory=dict, repr=False)
    conflicts: list[str] = field(default_factory=list)


def merge(base: Mapping[str, str], ours: Mapping[str, str], theirs: Mapping[str, str]) -> Merged:
    """Two edits of one base."""
    merged = Merged()
    for key in sorted({*base, *ours, *theirs}):
        was, mine, other = base.get(key), ours.get(key), theirs.get(key)
        chosen = other if mine == was else mine
        if chosen is not None:
            merged.values[key] = chosen
        if mine != was and other not in (was, mine):
            merged.conflicts.append(key)
    return merged


def conflict_note(keys: list[str], theirs: Mapping[str, str]) -> str:
    """Comments that say what the others made of the keys."""
    lines = ["# CONFLICT: others wrote these meanwhile. Below stands yours; save it to write it."]
    for key in keys:
        there = f"is {json.dumps(theirs[key])} there" if key in theirs else "was removed there"
        lines.append(f"# {key} {there}")
    return "\n".join(lines) + "\n"
