"""Three environments in plain Python, and every value that each identity was given or wrote."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from hypothesis import strategies as st
from reference_model import KEYS, keys, modes

PEOPLE, ENVIRONMENTS = range(10), range(3)
ROOT, ROBOT = 0, 9
READER, WRITER = 1, 2


class Value(NamedTuple):
    """A text, and which value it is: the same text written anew is another."""

    text: str
    number: int


@dataclass
class Environment:
    """An environment: every version of each key, None for a tombstone, and the versions of each revision."""

    versions: dict[str, list[Value | None]] = field(default_factory=lambda: defaultdict(list))
    states: list[dict[str, int]] = field(default_factory=lambda: [{}])

    @property
    def present(self) -> dict[str, int]:
        return self.states[-1]

    def value(self, key: str, version: int) -> Value | None:
        """None for a tombstone and for what never was."""
        known = self.versions.get(key, [])
        return known[version - 1] if 0 < version <= len(known) else None

    def values(self, rev: int) -> dict[str, Value]:
        found = {key: self.value(key, version) for key, version in self.states[rev].items()}
        return {key: one for key, one in found.items() if one is not None}


class Model:
    """What happened; each method is a request of `who` and says whether the service must let it pass."""

    def __init__(self) -> None:
        self.environments = [Environment() for _ in ENVIRONMENTS]
        self.roles: dict[tuple[int, int], int] = defaultdict(int)
        self.now = 0
        self._numbers = count()
        #: When each identity last met a value, and where it did.
        self.met: dict[int, dict[int, int]] = defaultdict(dict)
        self.where: dict[int, set[tuple[int, str, int]]] = defaultdict(set)

    def may(self, who: int, at: int, role: int) -> bool:
        return who == ROOT or self.roles[who, at] >= role

    def grant(self, who: int, at: int, role: int) -> None:
        self.roles[who, at] = role

    def replace(self, _who: int, at: int) -> None:
        """By root: another environment instead, under the same slug, where all hold what they first held."""
        self.environments[at] = Environment()
        self.roles |= {(who, at): role for who, role in FIRST_ROLES.items()}
        for where in self.where.values():
            where -= {one for one in where if one[0] == at}

    def reveal(self, who: int, at: int, key: str, version: int | None) -> bool:
        environment = self.environments[at]
        value = environment.value(key, version if version is not None else environment.present.get(key, 0))
        if not self.may(who, at, READER) or value is None:
            return False
        self._meet(who, at, key, value)
        return True

    def export(self, who: int, at: int, rev: int | None) -> bool:
        environment = self.environments[at]
        rev = len(environment.states) - 1 if rev is None else rev
        if not self.may(who, at, READER) or rev >= len(environment.states):
            return False
        for key, value in environment.values(rev).items():
            self._meet(who, at, key, value)
        return True

    def batch(self, who: int, at: int, values: Mapping[str, str], delete: list[str]) -> bool:
        if not self.may(who, at, WRITER):
            return False
        fresh = {key: Value(text, next(self._numbers)) for key, text in values.items()}
        self._write(who, at, fresh, [key for key in delete if key not in values])
        return True

    def rename(self, who: int, at: int, source: str, target: str) -> bool:
        environment = self.environments[at]
        if not self.may(who, at, WRITER) or source == target:
            return False
        if source not in environment.present or target in environment.present:
            return False
        self._write(who, at, {target: environment.values(-1)[source]}, [source])
        return True

    def rollback(self, who: int, at: int, key: str, version: int) -> bool:
        value = self.environments[at].value(key, version)
        if not self.may(who, at, WRITER) or value is None:
            return False
        self._write(who, at, {key: value}, [])
        return True

    def restore(self, who: int, at: int, rev: int) -> bool:
        environment = self.environments[at]
        if not self.may(who, at, WRITER) or rev >= len(environment.states):
            return False
        then = environment.values(rev)
        self._write(
            who, at, self._otherwise(at, then), [key for key in environment.present if key not in then]
        )
        return True

    def copy(
        self, who: int, at: int, source: int, named: list[str] | None, rev: int | None, mode: str
    ) -> bool:
        environment = self.environments[source]
        if not self.may(who, at, WRITER) or not self.may(who, source, READER):
            return False
        if (source == at and rev is None) or (rev or 0) >= len(environment.states):
            return False
        taken = environment.values(-1 if rev is None else rev)
        if named is not None:
            if mode == "replace" or not named or {*named} - taken.keys():
                return False
            taken = {key: taken[key] for key in named}
        written = self._otherwise(at, taken)
        for key, value in written.items():
            self._meet(who, source, key, value)
        gone = [key for key in self.environments[at].present if key not in taken] if mode == "replace" else []
        self._write(who, at, written, gone)
        return True

    def exposure(self, who: int) -> list[tuple[Any, ...]]:
        """Environment, key, version, the last time, and whether it is in force, sorted."""
        found = []
        for at, environment in enumerate(self.environments):
            for key, versions in environment.versions.items():
                newest = {value.number: version for version, value in enumerate(versions, 1) if value}
                for number, version in newest.items():
                    current = environment.present.get(key) == version
                    here = (at, key, number) in self.where[who]
                    if here or (current and number in self.met[who]):
                        found.append((at, key, version, self.met[who][number], current))
        return sorted(found)

    def _otherwise(self, at: int, taken: Mapping[str, Value]) -> dict[str, Value]:
        present = {key: one.text for key, one in self.environments[at].values(-1).items()}
        return {key: value for key, value in taken.items() if present.get(key) != value.text}

    def _write(self, who: int, at: int, values: Mapping[str, Value], removals: list[str]) -> None:
        environment = self.environments[at]
        after = dict(environment.present)
        for key, value in values.items():
            environment.versions[key].append(value)
            after[key] = len(environment.versions[key])
            self._meet(who, at, key, value)
        for key in {*removals} & after.keys():
            environment.versions[key].append(None)
            del after[key]
        if values or after != environment.present:
            environment.states.append(after)

    def _meet(self, who: int, at: int, key: str, value: Value) -> None:
        self.met[who][value.number] = self.now
        self.where[who].add((at, key, value.number))


#: What each holds to begin with, everywhere.
FIRST_ROLES = {who: WRITER if who < 4 else READER for who in PEOPLE if who != ROOT}

some = st.sampled_from(["one", "two"])
revs = st.integers(0, 6)
people, environments = st.sampled_from([*PEOPLE, 1, 2, 3, 1, 2, 3]), st.sampled_from(ENVIRONMENTS)
few = st.sampled_from([*KEYS, "A", "A", "B"])


def _asked(verb: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(verb), st.tuples(*arguments))


verbs = st.one_of(
    _asked("reveal", few, st.none() | st.integers(1, 4)),
    _asked("export", st.none()),
    _asked("export", revs),
    _asked("batch", st.dictionaries(few, some, min_size=1, max_size=2), st.lists(few, max_size=1)),
    _asked("copy", environments, st.none() | st.lists(few, max_size=2, unique=True), st.none() | revs, modes),
    _asked("copy", environments, st.none(), st.none(), modes),
    _asked("rollback", few, st.integers(1, 3)),
    _asked("rename", few, few),
    _asked("restore", revs),
    _asked("grant", st.sampled_from([0, READER, WRITER, WRITER])),
    _asked("replace"),
)
#: Steps: who, where, the verb, and what is asked.
steps = st.tuples(people, environments, verbs)
#: What root writes first, and the steps.
stories = st.tuples(
    st.lists(st.dictionaries(keys, some, min_size=2), min_size=3, max_size=3),
    st.lists(steps, min_size=20, max_size=40),
)
