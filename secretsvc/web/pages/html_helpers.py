"""Small parts of pages that templates write in one word: icons, and what stands for a name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True, slots=True)
class Icon:
    """A symbol of the sprite, unseen by those who listen: what it says stands beside it or in a label.

    `kind` are further classes.
    """

    sprite: str
    name: str
    kind: str = ""

    def __html__(self) -> str:
        kinds = f"i {self.kind}".rstrip()
        return f'<svg class="{kinds}" aria-hidden="true"><use href="{self.sprite}#{self.name}"/></svg>'


@dataclass(frozen=True, slots=True)
class BreakableText:
    """A text that, where it has no room in one line, breaks before its "@" rather than within a word."""

    text: str

    def __html__(self) -> str:
        return escape(self.text).replace("@", "<wbr>@")


def initials(name: str) -> str:
    """At most two letters that stand for a name, without a subject behind it, or an address's local part."""
    words = re.findall(r"\w+", re.split(r"@| \(", name)[0].replace("_", " "))
    letters = [word[0] for word in words[:2]] or ["?"]
    return "".join(letters).upper()


def database(dialect: str) -> str:
    """What people call a database."""
    return {"sqlite": "SQLite", "postgresql": "PostgreSQL"}.get(dialect, dialect)


def enumeration(names: Sequence[str], total: int | None = None) -> str:
    """One or more names in a sentence: "a, b and c", or "a, b and 12 more" where the total is greater."""
    more = (total or 0) - len(names)
    parts = [*names, f"{more:,} more"] if more > 0 else names
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: "1 key", "1,204 keys"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
