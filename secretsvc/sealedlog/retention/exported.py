"""The hashes of an export against those of the database."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from secretsvc.sealedlog.retention.boundaries import first_of
from secretsvc.sealedlog.retention.files import CHECKPOINT, Files
from secretsvc.sealedlog.rules.log_reader import Sealed, sealed_from
from secretsvc.transparency.signed_note import Signatory, read_checkpoint
from secretsvc.transparency.tiles import WIDTH, Tile


def compare_hashes(connection: Connection, signatory: Signatory, files: Files) -> Iterator[str]:
    """Yield a line for each hash in the database that is not the one in the folder of an export."""
    indexes = indexes_of(files, signatory)
    for entry in sealed_from(connection, indexes.start, indexes.stop):
        yield from wrong_hash(entry, files, indexes)


def indexes_of(files: Files, signatory: Signatory) -> range:
    """Return the indexes of a folder's entries; none where its notes are not signed."""
    try:
        return range(first_of(files, signatory), read_checkpoint(files.text(CHECKPOINT), signatory).size)
    except ValueError:
        return range(0)


def wrong_hash(entry: Sealed, files: Files, indexes: range) -> Iterator[str]:
    """Yield a line if an export with these indexes has another hash of the entry."""
    if entry.position in indexes:
        number, at = divmod(entry.position, WIDTH)
        tile = Tile(number, min(WIDTH, indexes.stop - number * WIDTH))
        if [entry.leaf_hash] != files.hashes(0, tile)[at : at + 1]:
            yield f"index {entry.position}: the hash is not the one that was exported"
