"""An environment in plain Python: what the service should make of any sequence of writes, at any revision.

It keeps every state that there ever was, so that nothing about a state is computed from a history.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hypothesis import strategies as st

KEYS = ("A", "B", "C", "D")


class Entry(NamedTuple):
    """A key in a state: its version and value."""

    version: int
    value: str


class Made(NamedTuple):
    """A revision as `GET …/revisions` tells of it, less who and when."""

    action: str
    reason: str | None
    changes: list[dict[str, Any]]


@dataclass
class Model:
    """An environment. `values` has every version of each key, None for a tombstone."""

    values: dict[str, list[str | None]] = field(default_factory=dict)
    states: list[dict[str, Entry]] = field(default_factory=lambda: [{}])
    revisions: list[Made] = field(default_factory=list)
    descriptions: dict[str, str | None] = field(default_factory=dict)

    @property
    def rev(self) -> int:
        return len(self.revisions)

    @property
    def present(self) -> dict[str, Entry]:
        return self.states[-1]

    def write(
        self,
        action: str,
        values: Mapping[str, str],
        removals: Collection[str] = (),
        descriptions: Mapping[str, str | None] | None = None,
        reason: str | None = None,
    ) -> bool:
        """Applies one; whether it changed anything. A description that is not given is kept by who lives."""
        before, after, changes = self.present, dict(self.present), []
        for key, value in values.items():
            self.values.setdefault(key, []).append(value)
            after[key] = Entry(len(self.values[key]), value)
            changes.append((key, "changed" if key in before else "added"))
            if key in (descriptions or {}) or key not in before:
                self.descriptions[key] = (descriptions or {}).get(key)
        for key in {*removals} & before.keys():
            self.values[key].append(None)
            del after[key]
            changes.append((key, "removed"))
        if not changes:
            return False
        told = [{"key": key, "kind": kind, "version": len(self.values[key])} for key, kind in sorted(changes)]
        self.states.append(after)
        self.revisions.append(Made(action, reason, told))
        return True

    def described(self, key: str) -> str | None:
        """Today's description, as any state shows it: None for a key that is not there."""
        return self.descriptions[key] if key in self.present else None

    def listed(self, rev: int) -> dict[str, tuple[int, str | None]]:
        """The version and the description of each key of a state."""
        return {key: (entry.version, self.described(key)) for key, entry in self.states[rev].items()}

    def exported(self, rev: int) -> dict[str, str]:
        return {key: entry.value for key, entry in self.states[rev].items()}

    def deleted(self) -> dict[str, int]:
        """The deleted keys with their last version that has a value."""
        return {key: len(values) - 1 for key, values in self.values.items() if key not in self.present}


def batch(model: Model, body: Mapping[str, Any]) -> bool:
    values, removals = body["set"], {*body["delete"]} - body["set"].keys()
    if body["mode"] == "replace":
        removals = model.present.keys() - values.keys()
    return model.write("secret.batch", values, removals, body["descriptions"], body["reason"])


def load(model: Model, body: Mapping[str, Any]) -> bool:
    removals = model.present.keys() - body["set"].keys() if body["mode"] == "replace" else ()
    return model.write("secret.import", body["set"], removals, None, body["reason"])


def rename(model: Model, source: str, target: str) -> bool:
    """False where the service must refuse it."""
    if source not in model.present or target in model.present or source == target:
        return False
    value, described = model.present[source].value, {target: model.descriptions[source]}
    return model.write("secret.rename", {target: value}, (source,), described)


def rollback(model: Model, key: str, version: int) -> bool:
    """False where the service must refuse it. What comes back has the description of its deletion."""
    known = model.values.get(key, [])
    value = known[version - 1] if version <= len(known) else None
    if value is None:
        return False
    return model.write("secret.rollback", {key: value}, (), {key: model.descriptions[key]})


keys = st.sampled_from(KEYS)
texts = st.sampled_from(["", "one", "two", "drei ü"])
reasons = st.sampled_from([None, "why"])
modes = st.sampled_from(["merge", "merge", "replace"])
described = st.sampled_from([None, "a note", "another"])


@st.composite
def _batches(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    values = draw(st.dictionaries(keys, texts, max_size=3))
    some = draw(st.sets(st.sampled_from(sorted(values)))) if values else set()
    body = {
        "mode": draw(modes),
        "set": values,
        "descriptions": {key: draw(described) for key in sorted(some)},
        "delete": sorted(draw(st.sets(keys, max_size=2)) - values.keys()),
        "reason": draw(reasons),
    }
    return "batch", body


imports = st.tuples(
    st.just("import"),
    st.fixed_dictionaries(
        {"mode": modes, "set": st.dictionaries(keys, texts, max_size=3), "reason": reasons}
    ),
)
renames = st.tuples(st.just("rename"), st.tuples(keys, keys))
rollbacks = st.tuples(st.just("rollback"), st.tuples(keys, st.integers(1, 5)))
writes = st.one_of(_batches(), _batches(), imports, renames, rollbacks)
#: Sequences of writes, to be applied to the service and to a model.
histories = st.lists(writes, max_size=12)
