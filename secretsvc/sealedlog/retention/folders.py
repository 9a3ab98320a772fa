"""An export is closed, and goes on in another folder: pruning and verifying then need not read all of it."""

from __future__ import annotations

from hashlib import sha256

from secretsvc.sealedlog.replay.snapshots import Snapshot
from secretsvc.sealedlog.retention.boundaries import (
    BEGIN,
    CLOSED,
    Boundary,
    boundary_of,
    first_of,
    sign_boundary,
)
from secretsvc.sealedlog.retention.export import write_levels
from secretsvc.sealedlog.retention.files import CHECKPOINT, LEVELS, Files, detail_path
from secretsvc.sealedlog.retention.pruned_state import copy_states, keep_state, led_to
from secretsvc.sealedlog.rules.leaves import BY_DIGEST
from secretsvc.transparency.key_succession import Signers
from secretsvc.transparency.signed_note import Checkpoint, read_checkpoint
from secretsvc.transparency.tiles import WIDTH, Tile, tiles_of


def close_folder(
    files: Files, signers: Signers, key: bytes, begin: Snapshot | None, head: Checkpoint
) -> Boundary:
    """Close the folder of an export that has `head` and was verified.

    It ends behind the last full file of entries. `begin` is what a replay of the database begins with.
    Raises ValueError where the folder has no such file, and as `led_to`.
    """
    size = head.size // WIDTH * WIDTH
    first = first_of(files, signers)
    if size <= first or (begin is not None and size < begin.size):
        least = max(first + 1, 0 if begin is None else begin.size)
        enough = -(-least // WIDTH) * WIDTH
        raise ValueError(f"{files.folder} has {head.size} entries: it can be closed once it has {enough}")
    kept = led_to(files, signers, begin, size, head.size)
    keep_state(files, signers.name, key, kept)
    boundary = Boundary(size, files.root(size, head.size), sha256(kept.content).digest())
    files.write(CLOSED, sign_boundary(signers.name, key, boundary).encode())
    files.sync()
    return boundary


def begin_folder(files: Files, closed: Files, signers: Signers, pruned: int) -> None:
    """Begin a folder where another was closed; a no-op where that was done.

    It gets the entries behind the boundary, the states that verifications of a log without its first `pruned`
    records can need, and the hashes to the left of the boundary from which roots are computed. Raises
    ValueError where the other is not closed or is damaged, and where the folder has something else.
    """
    boundary, note = boundary_of(closed, CLOSED, signers), closed.text(CLOSED)
    if boundary is None:
        raise ValueError(f"{closed.folder} is not closed: use `audit export --close` first")
    begun = files.text(BEGIN)
    if begun not in ("", note) or (files.text(CHECKPOINT) and not begun):
        raise ValueError(f"{files.folder} is another export: name a new folder")
    if files.text(CHECKPOINT):
        return
    size, total = boundary.size, read_checkpoint(closed.text(CHECKPOINT), signers).size
    if closed.root(size, total) != boundary.root:
        raise ValueError(f"{closed.folder} is damaged: its tree is not that of its note")
    files.write(BEGIN, note.encode())
    copy_states(files, closed, size, pruned)
    _copy_edge(files, closed, size, total)
    for tile in tiles_of(total, size):
        _copy_entries(files, closed, tile)
    write_levels(files, total, size, size)
    files.sync()
    files.write(CHECKPOINT, closed.text(CHECKPOINT).encode())
    files.sync()


def _copy_edge(files: Files, closed: Files, size: int, total: int) -> None:
    """Copy the hashes of the tree of `size` in tiles that are not full: the roots of its subtrees."""
    level = 1
    while size >> LEVELS * level:
        number, width = divmod(size >> LEVELS * level, WIDTH)
        if width:
            whole = Tile(number, min(WIDTH, (total >> LEVELS * level) - number * WIDTH))
            files.write(Tile(number, width).path(level), b"".join(closed.hashes(level, whole)[:width]))
        level += 1


def _copy_entries(files: Files, closed: Files, tile: Tile) -> None:
    for path in (tile.path(None), tile.path(0)):
        content = closed.read(path)
        if content is None:
            raise ValueError(f"{closed.folder / path} is missing")
        files.write(path, content)
    for index, entry in enumerate(closed.entries(tile), tile.number * WIDTH):
        beside = closed.read(detail_path(index)) if BY_DIGEST in entry else None
        if beside is not None:
            files.write(detail_path(index), beside)
