"""What the audit log says, in words: outcomes, actors, and the details of a record."""

from __future__ import annotations

from typing import NamedTuple

from secretsvc.web.pages import time_format

OUTCOMES = {"success": "done", "denied": "denied"}
KINDS = {"user": "person", "service": "service", None: "the service itself"}
#: How many facts of one record stand on the page; a write can have hundreds.
MAX_FACTS = 100
#: A time among the details, in epoch milliseconds.
ENDS = "expires_at"


class DetailPart(NamedTuple):
    """A part of a record's detail."""

    name: str
    text: str


def detail_parts(detail: object) -> list[DetailPart]:
    """The parts of a detail, at most `MAX_FACTS` and a last one that tells how many are left out."""
    found = _facts(detail)
    if len(found) <= MAX_FACTS:
        return found
    return [*found[:MAX_FACTS], DetailPart("…", f"and {len(found) - MAX_FACTS} more")]


def _facts(detail: object) -> list[DetailPart]:
    if detail is None:
        return []
    if not isinstance(detail, dict):
        return [DetailPart("detail", str(detail))]
    named = {name: value for name, value in detail.items() if value is not None}
    changes = named.pop("changes") if isinstance(named.get("changes"), list) else []
    plain = [DetailPart(_term(name), _text(value, name)) for name, value in named.items()]
    return plain + [_change(change) for change in changes]


def _change(change: object) -> DetailPart:
    if not isinstance(change, dict):
        return DetailPart("change", str(change))
    version = change.get("version")
    text = str(change.get("key"))
    return DetailPart(str(change.get("kind", "change")), f"{text} (version {version})" if version else text)


def _term(name: str) -> str:
    return "ends" if name == ENDS else name.replace("_", " ")


def _text(value: object, name: str = "") -> str:
    if name == ENDS and isinstance(value, int):
        return time_format.exact(value)
    if isinstance(value, dict):
        named = ((inner, "none" if one is None else _text(one, inner)) for inner, one in value.items())
        return ", ".join(f"{_term(inner)} {text}" for inner, text in named)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
