"""Where one folder of an export ends and the next begins: a note that both folders have.

The note is signed by the key of the log (C2SP signed-note).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from secretsvc.sealedlog.retention.files import Files
from secretsvc.transparency.signed_note import Checkpoint, Signatory, sign
from secretsvc.transparency.tiles import WIDTH

#: The names of the note's file: in the folder that ends, and in the one that begins there.
CLOSED, BEGIN = "closed", "begin"
_HASH = "([A-Za-z0-9+/]{43}=)"
#: The text that is signed; another field makes another number behind its name.
_SAID = re.compile(rf"([^ \n]+) closed/1\n([1-9][0-9]{{0,18}})\n{_HASH}\n{_HASH}\n")


class Boundary(NamedTuple):
    """The first `size` records of a log: the hash of their tree, and the SHA-256 of the state they lead to.

    `size` is a multiple of 256, so that no file of entries has records of both sides.
    """

    size: int
    root: bytes
    state: bytes


def sign_boundary(origin: str, key: bytes, boundary: Boundary) -> str:
    """Return the note."""
    # No origin holds a space: it never passes for a checkpoint.
    root, state = (base64.b64encode(one).decode() for one in (boundary.root, boundary.state))
    return sign(origin, key, f"{origin} closed/1\n{boundary.size}\n{root}\n{state}\n")


def boundary_of(files: Files, name: str, signatory: Signatory) -> Boundary | None:
    """Return what the note `CLOSED` or `BEGIN` of a folder says; None where there is none.

    Raises ValueError for a note that is not signed.
    """
    if files.read(name) is None:
        return None
    found = _SAID.fullmatch(signatory.has_signed(files.text(name)) or "")
    if found is None or found[1] != signatory.name or int(found[2]) % WIDTH:
        raise ValueError(f"{files.folder / name} is not signed by this key")
    return Boundary(int(found[2]), base64.b64decode(found[3]), base64.b64decode(found[4]))


def first_of(files: Files, signatory: Signatory) -> int:
    """Return the index of the first record of a folder. Raises ValueError as `boundary_of`."""
    begin = boundary_of(files, BEGIN, signatory)
    return 0 if begin is None else begin.size


def folder_of(folders: Sequence[Files], signatory: Signatory, index: int) -> Files:
    """Return the last of the folders, the oldest first, that begins at the index or before it.

    Raises ValueError where there is none, and as `boundary_of`.
    """
    firsts = [first_of(one, signatory) for one in folders]
    found = [folder for folder, first in zip(folders, firsts, strict=True) if first <= index]
    if not found:
        [folder, *_], [first, *_] = folders, firsts
        raise ValueError(
            f"index {index} to {first - 1} are in the export before {folder.folder}: name that, too, in front"
        )
    return found[-1]


def wrong_order(folders: Sequence[Files]) -> Iterator[str]:
    """Yield a line for each folder that does not begin where the one before it was closed.

    It compares the notes, and does not verify them.
    """
    for before, after in pairwise(folders):
        note = before.text(CLOSED)
        if not note:
            yield f"{before.folder} is not closed, so that {after.folder} does not go on from it"
        elif note != after.text(BEGIN):
            yield f"{after.folder} does not begin where {before.folder} was closed"


def by_folder(
    folders: Sequence[Files], signatory: Signatory, checkpoints: Sequence[Checkpoint]
) -> list[list[Checkpoint]]:
    """Return for each folder, the oldest first, the checkpoints that it can be verified with.

    A checkpoint from before all of them is given to the first. Raises ValueError as `boundary_of`.
    """
    firsts = [0, *(first_of(one, signatory) for one in folders[1:])]
    ends = [*firsts[1:], None]
    return [
        [one for one in checkpoints if first <= one.size and (end is None or one.size < end)]
        for first, end in zip(firsts, ends, strict=True)
    ]
