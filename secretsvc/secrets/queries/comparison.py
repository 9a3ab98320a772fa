"""Two states of keys and values beside each other (contract 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from secretsvc.kernel.schema_annotations import Ordinal, SecretKey, one_of
from secretsvc.secrets.queries.contents import Entry, EnvironmentContents

Contents = EnvironmentContents[Entry]

SAME, DIFFERS, HERE, THERE, UNREADABLE = "same", "differs", "here", "there", "unreadable"
ComparedKind = Annotated[str, one_of(SAME, DIFFERS, HERE, THERE, UNREADABLE)]


@dataclass(frozen=True, slots=True)
class Compared:
    """A key of either side; a version is None where the key is absent."""

    key: SecretKey
    kind: ComparedKind
    version: Ordinal | None
    with_version: Ordinal | None


def pairs_to_decrypt(here: Contents, there: Contents) -> list[tuple[Entry, Entry]]:
    """The versions on both sides that only their values can tell apart."""
    keys = here.entries.keys() & there.entries.keys()
    pairs = [(here.entries[key], there.entries[key]) for key in keys]
    return [
        (one, other)
        for one, other in pairs
        if (one.secret_id, one.version) != (other.secret_id, other.version)
    ]


def compare_keys(
    here: Contents,
    there: Contents,
    here_digests: Mapping[str, bytes | None],
    there_digests: Mapping[str, bytes | None],
) -> list[Compared]:
    """Every key of either side, sorted.

    The digests are those of `pairs_to_decrypt` by key, None of what cannot be opened. Every other key has the
    same version on both sides, opened or not.
    """
    found = []
    for key in sorted(here.entries.keys() | there.entries.keys()):
        one, other = here.entries.get(key), there.entries.get(key)
        if one is None or other is None:
            kind = HERE if other is None else THERE
        elif key not in here_digests:
            kind = SAME
        elif here_digests[key] is None or there_digests[key] is None:
            kind = UNREADABLE
        else:
            kind = SAME if here_digests[key] == there_digests[key] else DIFFERS
        version, with_version = (side.version if side is not None else None for side in (one, other))
        found.append(Compared(key, kind, version, with_version))
    return found
