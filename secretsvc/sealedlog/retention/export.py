"""The sealed log as a static copy, continued where the last export stopped (contract 7.3)."""

from __future__ import annotations

from itertools import islice

from sqlalchemy import Connection

from secretsvc.sealedlog.retention.boundaries import CLOSED, first_of
from secretsvc.sealedlog.retention.files import CHECKPOINT, KEY, LEVELS, Files, detail_path, note_path
from secretsvc.sealedlog.retention.prune import pruned_of
from secretsvc.sealedlog.rules.key_replacement import notes_of
from secretsvc.sealedlog.rules.log_reader import Sealed, head_of, sealed_from
from secretsvc.transparency.key_succession import Signers, read_replacement
from secretsvc.transparency.merkle import leaf_hash, root_of
from secretsvc.transparency.signed_note import Checkpoint, Signatory, read_checkpoint
from secretsvc.transparency.tiles import WIDTH, Tile, bundled, tiles_of


def export_log(connection: Connection, signers: Signers, files: Files) -> Checkpoint | None:
    """Bring an export up to the newest checkpoint and return that; None where nothing is sealed.

    What was pruned must be in the export already. Raises ValueError where it is not, where the database does
    not hold what was sealed, where the folder holds another log or is closed: then the checkpoint in the
    folder stays what it was.
    """
    if files.read(CLOSED) is not None:
        raise ValueError(f"{files.folder} is closed: export into the folder that goes on from it")
    head = head_of(connection)
    if head is None:
        return None
    checkpoint = _read("newest checkpoint", head.checkpoint, signers)
    done, first = _exported(files, signers), first_of(files, signers)
    if done < first:
        raise ValueError(f"{files.folder} is incomplete: begin it again, by --after")
    if done > checkpoint.size:
        raise ValueError(f"the export has {done} entries, the database {checkpoint.size}")
    pruned = pruned_of(connection).position
    if done < pruned:
        raise ValueError(f"index {done} to {pruned - 1} are pruned: go on with an export that has them")
    kept, rows = _kept(files, done), sealed_from(connection, done, checkpoint.size)
    for tile in tiles_of(checkpoint.size, done):
        _write_entries(files, tile, kept, [*islice(rows, tile.width - len(kept))])
        kept = []
    write_levels(files, checkpoint.size, done, first)
    if files.root(checkpoint.size, checkpoint.size) != checkpoint.root:
        raise ValueError("the tree is not that of the checkpoint: the log was changed, or the export was")
    files.write(KEY, f"{signers.newest.text}\n".encode())
    for note in notes_of(connection):
        files.write(note_path(read_replacement(note).old), note.encode())
    files.sync()
    files.write(CHECKPOINT, head.checkpoint.encode())
    files.sync()
    return checkpoint


def _kept(files: Files, done: int) -> list[bytes]:
    """The entries of the bundle that is not full yet: their records may be pruned."""
    tile = Tile(done // WIDTH, done % WIDTH)
    entries = [*files.entries(tile)] if tile.width else []
    if len(entries) != tile.width:
        raise ValueError(f"{tile.path(None)} is missing or too short")
    return entries


def _exported(files: Files, signatory: Signatory) -> int:
    """How many entries the export has already."""
    found = files.text(CHECKPOINT)
    return _read("checkpoint of the export", found, signatory).size if found else 0


def _read(which: str, note: str, signatory: Signatory) -> Checkpoint:
    try:
        return read_checkpoint(note, signatory)
    except ValueError as error:
        raise ValueError(f"the {which} is {error}") from None


def _write_entries(files: Files, tile: Tile, kept: list[bytes], sealed: list[Sealed]) -> None:
    entries, hashes = [*kept], [leaf_hash(one) for one in kept]
    for index, entry in enumerate(sealed, tile.number * WIDTH + len(kept)):
        leaf = entry.leaf
        if entry.position != index or leaf is None or leaf_hash(leaf.data) != entry.leaf_hash:
            raise ValueError(f"index {index}: the record is not the one that was sealed")
        if leaf.beside is not None:
            files.write(detail_path(index), leaf.beside)
        entries.append(leaf.data)
        hashes.append(entry.leaf_hash)
    if len(entries) != tile.width:
        raise ValueError(f"index {tile.number * WIDTH + len(entries)}: the record is missing")
    files.write(tile.path(None), bundled(entries))
    files.write(tile.path(0), b"".join(hashes))


def write_levels(files: Files, size: int, done: int, first: int) -> None:
    """Write the hashes above the lowest level that a tree of `size` has beyond those of `done`.

    The first entry of the folder is `first`: hashes of entries before it alone are there already.
    """
    level = 1
    while size >> LEVELS * level:
        for tile in tiles_of(size >> LEVELS * level, done >> LEVELS * level):
            _write_tile(files, level, tile, done, first)
        level += 1


def _write_tile(files: Files, level: int, tile: Tile, done: int, first: int) -> None:
    """Write a tile that is new or has become longer: each hash is that of a full tile below."""
    start = tile.number * WIDTH
    begun = max(0, (first >> LEVELS * level) - start)
    had = Tile(tile.number, min(WIDTH, (done >> LEVELS * level) - start))
    kept = files.hashes(level, had)[:begun] if begun else []
    below = range(start + begun, start + tile.width)
    hashes = [root_of(files.hashes(level - 1, Tile(number, WIDTH))) for number in below]
    files.write(tile.path(level), b"".join([*kept, *hashes]))
