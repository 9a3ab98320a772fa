"""What settings say of a token's claims: which there must be, and how they make a subject (contract 6.3)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

#: A claim, and the claims of the objects in it, from the outside in: `a/b`.
Path = tuple[str, ...]
_ABSENT = object()
_REFERENCE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Requirement:
    """`claim=value`: what a claim must say."""

    path: Path
    value: str

    def holds(self, claims: Mapping[str, object]) -> bool:
        """For an equal text, `true` and `false` for booleans, or an array with such a member."""
        found = _claim(claims, self.path)
        return any(self._equals(one) for one in (found if isinstance(found, list) else [found]))

    def _equals(self, found: object) -> bool:
        if isinstance(found, bool):
            return self.value == ("true" if found else "false")
        return isinstance(found, str) and found == self.value


@dataclass(frozen=True, slots=True)
class SubjectTemplate:
    """A text with claims in it: each with the literal text that follows, behind the text that leads."""

    lead: str
    parts: tuple[tuple[Path, str], ...]

    def fill(self, claims: Mapping[str, object]) -> str:
        """The text with the claims in place. Two different sets of them never make the same.

        Raises ValueError for a claim that is absent, empty, no text, or holds a control character or the
        text that follows it.
        """
        return self.lead + "".join(_text(claims, path, after) + after for path, after in self.parts)


def _text(claims: Mapping[str, object], path: Path, after: str) -> str:
    text = _claim(claims, path)
    if not isinstance(text, str) or not text:
        raise ValueError
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise ValueError
    # With what follows, so that no end of the claim can be taken for its beginning: `a:` before `::`.
    if after and (text + after).index(after) < len(text):
        raise ValueError
    return text


def _claim(claims: Mapping[str, object], path: Path) -> object:
    found: object = claims
    for name in path:
        found = found.get(name, _ABSENT) if isinstance(found, Mapping) else _ABSENT
    return found


def _path(text: str) -> Path:
    names = tuple(text.split("/"))
    if not all(names):
        raise ValueError
    return names


def subject_template(raw: str) -> SubjectTemplate:
    """Text with `{claim}` or `{object/claim}` in it, at least one. Raises ValueError.

    Two of them need text between them, or nobody could tell where the first one ends.
    """
    lead, *rest = _REFERENCE.split(raw.strip())
    paths, after = rest[0::2], rest[1::2]
    if not paths or any("{" in text or "}" in text for text in (lead, *after)) or not all(after[:-1]):
        raise ValueError
    return SubjectTemplate(lead, tuple(zip(map(_path, paths), after, strict=True)))


def requirements(raw: str) -> tuple[Requirement, ...]:
    """Comma-separated `claim=value`; none at all is spelled `*`. Raises ValueError."""
    if raw.strip() == "*":
        return ()
    pairs = [part.strip().partition("=") for part in raw.split(",")]
    if not all(name.strip() and sign and value.strip() for name, sign, value in pairs):
        raise ValueError
    return tuple(Requirement(_path(name.strip()), value.strip()) for name, _, value in pairs)
