"""Two states of keys and values beside each other (contract 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from secretsvc.kernel.schema_annotations import Ordinal, SecretKey, one_of
from secretsvc.secrets.queries.contents import Entry, EnvironmentContents

SAME, DIFFERS, HERE, THERE, UNREADABLE = "same", "differs", "here", "there", "unreadable"
ComparedKind = Annotated[str, one_of(SAME, DIFFERS, HERE, THERE, UNREADABLE)]


@dataclass(frozen=True, slots=True)
class Compared:
    """A key of either side; a version is None where the key is absent."""

    key: SecretKey
    kind: ComparedKind
    version: Ordinal | None
    with_version: Ordinal | None


def pairs_to_decrypt(here: EnvironmentContents, there: EnvironmentContents) -> list[tuple[Entry, Entry]]:
    """The versions on both sides that only their values can tell apart."""
    keys = here.entries.keys() & there.entries.keys()
    pairs = [(here.entries[key], there.entries[key]) for key in keys]
    return [(one, other) for one, other in pairs if one[:3] != other[:3]]


def compare(
    here: EnvironmentContents,
    there: EnvironmentContents,
    here_marks: Mapping[str, bytes | None],
    there_marks: Mapping[str, bytes | None],
) -> list[Compared]:
    """Every key of either side, sorted.

    The marks are those of what is in doubt by key, None of what cannot be opened. What is not in doubt is the
    same version of the same environment, opened or not.
    """
    found = []
    for key in sorted(here.entries.keys() | there.entries.keys()):
        one, other = here.entries.get(key), there.entries.get(key)
        if one is None or other is None:
            kind = HERE if other is None else THERE
        elif key not in here_marks:
            kind = SAME
        elif here_marks[key] is None or there_marks[key] is None:
            kind = UNREADABLE
        else:
            kind = SAME if here_marks[key] == there_marks[key] else DIFFERS
        version, with_version = (side.version if side is not None else None for side in (one, other))
        found.append(Compared(key, kind, version, with_version))
    return found
