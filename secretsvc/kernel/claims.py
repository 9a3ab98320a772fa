"""What settings say of a token's claims: which there must be, and how they make a subject (contract 6.3)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

_ABSENT = object()
_REFERENCE = re.compile(r"\{([^{}]*)\}")


class ClaimGivenTwice(ValueError):
    """A token has a claim by its whole name and by its path (contract 17.5)."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """`claim=value`: what a claim must say.

    Any of `values`, or, for texts and integers, anything that begins with one of `prefixes`.
    """

    name: str
    values: frozenset[str]
    prefixes: tuple[str, ...] = ()

    def holds(self, claims: Mapping[str, object]) -> bool:
        """Whether the claim, or a member of it if it is an array, says one of the values.

        `true` and `false` are for booleans too. Raises `ClaimGivenTwice`.
        """
        found = _claim(claims, self.name)
        return any(self._equals(one) for one in (found if isinstance(found, list) else [found]))

    def _equals(self, found: object) -> bool:
        if isinstance(found, bool):
            return ("true" if found else "false") in self.values
        if not isinstance(found, str | int):
            return False
        text = str(found)
        return text in self.values or text.startswith(self.prefixes)


@dataclass(frozen=True, slots=True)
class SubjectTemplate:
    """A text with claims in it: each with the literal text that follows, behind the text that leads."""

    lead: str
    parts: tuple[tuple[str, str], ...]

    def fill(self, claims: Mapping[str, object]) -> str:
        """The text with the claims in place. Two different sets of them never make the same.

        Raises ValueError for a claim that is absent, empty, no text, or holds a control character or the
        text that follows it, and `ClaimGivenTwice`.
        """
        return self.lead + "".join(_text(claims, name, after) + after for name, after in self.parts)


def _text(claims: Mapping[str, object], name: str, after: str) -> str:
    text = _claim(claims, name)
    if not isinstance(text, str) or not text:
        raise ValueError
    if any(unicodedata.category(char) == "Cc" for char in text):
        raise ValueError
    # With what follows, so that no end of the claim can be taken for its beginning: `a:` before `::`.
    if after and (text + after).index(after) < len(text):
        raise ValueError
    return text


def _claim(claims: Mapping[str, object], name: str) -> object:
    """The claim of that whole name, or the claim `b` of the object `a` for `a/b`.

    Raises `ClaimGivenTwice` for a token that has both: an issuer may let others choose one of the two.
    """
    whole = claims.get(name, _ABSENT)
    if "/" not in name:
        return whole
    nested: object = claims
    for part in name.split("/"):
        nested = nested.get(part, _ABSENT) if isinstance(nested, Mapping) else _ABSENT
    if whole is not _ABSENT and nested is not _ABSENT:
        raise ClaimGivenTwice
    return nested if whole is _ABSENT else whole


def subject_template(raw: str) -> SubjectTemplate:
    """Text with `{claim}` or `{object/claim}` in it, at least one. Raises ValueError.

    Two of them need text between them, or nobody could tell where the first one ends.
    """
    lead, *rest = _REFERENCE.split(raw.strip())
    names, after = rest[0::2], rest[1::2]
    if not names or any("{" in text or "}" in text for text in (lead, *after)):
        raise ValueError
    if not all(names) or not all(after[:-1]):
        raise ValueError
    return SubjectTemplate(lead, tuple(zip(names, after, strict=True)))


def requirements(raw: str) -> tuple[Requirement, ...]:
    """Comma-separated `claim=value`; none at all is spelled `*`. Raises ValueError.

    A value is one text or several between `|`, each with at most one `*`, which is its end and stands for
    any rest (contract 17.5).
    """
    if raw.strip() == "*":
        return ()
    return tuple(_requirement(part) for part in raw.split(","))


def _requirement(text: str) -> Requirement:
    name, _, value = text.partition("=")
    alternatives = [one.strip() for one in value.split("|")]
    prefixes = tuple(one[:-1] for one in alternatives if one.endswith("*"))
    values = frozenset(one for one in alternatives if not one.endswith("*"))
    # An empty prefix would hold for every text: the requirement would require nothing.
    if not name.strip() or not all((*values, *prefixes)) or any("*" in one for one in (*values, *prefixes)):
        raise ValueError
    return Requirement(name.strip(), values, prefixes)
