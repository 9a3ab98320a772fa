"""What a write would do, as reviews show it: a row for each key, its values only where they are revealed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyramid.events import BeforeRender
from pyramid.renderers import get_renderer

from secretsvc.secrets.queries.plan import ADDED, CHANGED, REMOVED
from secretsvc.secrets.write.write import WriteOutcome
from secretsvc.web.config import ServiceConfigurator
from secretsvc.web.pages.directives import is_template

DESCRIBED, SAME = "described", "same"
#: For each kind: the sign, its class, and what it is called where nothing more is known.
KINDS = {
    ADDED: ("+", "add", "new"),
    CHANGED: ("~", "mod", "new value"),
    REMOVED: ("\u2212", "del", "deleted, can be rolled back"),
    DESCRIBED: ("~", "mod", "description only"),
    SAME: ("=", "", "same as before, not written"),
}
#: What a tally calls the kinds, in its order.
TALLIED = {ADDED: "new", CHANGED: "changed", DESCRIBED: "described", REMOVED: "deleted"}


@dataclass(frozen=True, slots=True)
class Side:
    """One of two values: what it has in common with the other stands around what differs.

    `absent` is said instead of a value that is not there, or that cannot be read.
    """

    label: str
    before: str = ""
    differing: str = ""
    after: str = ""
    absent: str = ""

    def __repr__(self) -> str:
        return f"Side({self.label!r})"


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """What happens to one key; `version` is the one that is made, 0 where none is.

    `word` says more than the kind does, `note` is a second line, `warnings` are about the new value, and
    `values` the old and the new one where they were asked for.
    """

    key: str
    kind: str
    version: int = 0
    word: str = ""
    note: str = ""
    warnings: Sequence[str] = ()
    values: tuple[Side, Side] | None = None

    @property
    def sign(self) -> tuple[str, str]:
        """The sign and the class of it."""
        return KINDS[self.kind][:2]

    @property
    def what(self) -> str:
        """What happens, in words."""
        return self.word or KINDS[self.kind][2]

    @property
    def versions(self) -> str:
        """From which version to which: "v2 → v3"."""
        if self.kind == CHANGED:
            return f"v{self.version - 1} → v{self.version}"
        version = self.version - 1 if self.kind == REMOVED else self.version
        return f"v{version}" if version else ""


def change_rows(written: WriteOutcome) -> list[ChangeRow]:
    """A row for each key that a write, be it a dry run, changes: by kind, then by key."""
    rows = [ChangeRow(one.key, one.kind, one.version) for one in written.changes]
    rows += [ChangeRow(key, DESCRIBED) for key in written.described]
    return in_order(rows)


def in_order(rows: Iterable[ChangeRow]) -> list[ChangeRow]:
    """What is new first, what is deleted and what stays last."""
    kinds = [*TALLIED, SAME]
    return sorted(rows, key=lambda row: (kinds.index(row.kind), row.key))


def tally(rows: Iterable[ChangeRow]) -> str:
    """How many of each kind: "3 new, 2 changed, 1 deleted"."""
    return counts_text(Counter(row.kind for row in rows))


def counts_text(counts: Mapping[str, int]) -> str:
    """The same of numbers by kind."""
    return ", ".join(f"{counts[kind]:,} {word}" for kind, word in TALLIED.items() if counts.get(kind))


def add_macros(event: BeforeRender) -> None:
    """Add the macros of reviews, as `changes`, to every template's names."""
    if is_template(event):
        event["changes"] = get_renderer("secretsvc.secrets:templates/changes.pt").implementation().macros


def includeme(config: ServiceConfigurator) -> None:
    """Makes the macros known to every template."""
    config.add_subscriber(add_macros, BeforeRender)
