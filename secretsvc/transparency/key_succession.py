"""Which keys sign a log, one after the other: each replacement is a note that both have signed.

The note is the checkpoint of the log as it was then, with two lines more that name the keys. Whoever knows
one of them learns the other: the old key vouches for its successor, and the new one says up to which number
of records its predecessor counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from secretsvc.transparency.signed_note import Checkpoint, Verifier, checkpoint_of, read_verifier

_OLD, _NEW = "replaced ", "by "


class Replacement(NamedTuple):
    """A key and the one that came after it; `at` is the head of the log then."""

    at: Checkpoint
    old: Verifier
    new: Verifier

    @property
    def body(self) -> str:
        """The text that both sign: to others a checkpoint with extension lines (C2SP tlog-checkpoint)."""
        return f"{self.at.body}{_OLD}{self.old.text}\n{_NEW}{self.new.text}\n"


def read_replacement(note: str) -> Replacement:
    """What both keys have signed. Raises ValueError for everything else."""
    found = _parsed(note.rpartition("\n\n")[0] + "\n")
    if found is None or not found.body == found.old.has_signed(note) == found.new.has_signed(note):
        raise ValueError("not a note on the replacement of a key that both keys have signed")
    return found


def _parsed(text: str) -> Replacement | None:
    origin, size, root, old, new, *_ = [*text.split("\n"), "", "", "", "", ""]
    at = checkpoint_of(f"{origin}\n{size}\n{root}\n")
    try:
        keys = [read_verifier(old.removeprefix(_OLD)), read_verifier(new.removeprefix(_NEW))]
    except ValueError:
        return None
    if at is None or any(one.name != at.origin for one in keys):
        return None
    return Replacement(at, *keys)


class Signers:
    """The keys of a log, as far as notes lead from one that is trusted to those before and after it.

    A former key counts for texts that have in their second line, as checkpoints do, a number of records that
    is not beyond its replacement; the newest for every text.
    """

    def __init__(self, trusted: Verifier, notes: Iterable[Replacement] = ()) -> None:
        """Raises ValueError where two keys are said to follow one, or to come before one."""
        after, before = dict[Verifier, Replacement](), dict[Verifier, Replacement]()
        for note in notes:
            if after.setdefault(note.old, note) != note or before.setdefault(note.new, note) != note:
                raise ValueError(f"two notes differ in what was replaced by what: one has {note.old.text}")
        first, newest = trusted, trusted
        earlier, later = list[Replacement](), list[Replacement]()
        while found := before.pop(first, None):
            earlier.append(found)
            first = found.old
        while found := after.pop(newest, None):
            later.append(found)
            newest = found.new
        #: In their order.
        self.replacements = (*reversed(earlier), *later)
        self.newest = newest

    @property
    def name(self) -> str:
        """That of all of them."""
        return self.newest.name

    @property
    def heads(self) -> list[Checkpoint]:
        """Those that two keys have signed."""
        return [one.at for one in self.replacements]

    def signer_of(self, index: int | None) -> Verifier:
        """The key that signed when the record of that index was sealed; None is one that is yet to be."""
        for one in self.replacements:
            if index is not None and index < one.at.size:
                return one.old
        return self.newest

    def has_signed(self, note: str) -> str | None:
        """The text of a note that one of them has signed and counts for, else None."""
        for one in self.replacements:
            text = one.old.has_signed(note)
            if text is not None and _size(text) in range(one.at.size + 1):
                return text
        return self.newest.has_signed(note)


def _size(text: str) -> int:
    """The number of records in a text's second line; -1 where there is none."""
    line = [*text.split("\n"), ""][1]
    return int(line) if re.fullmatch("[0-9]{1,19}", line) else -1
