"""An exported log as files: tiles, bundles of entries and a checkpoint, as C2SP's tlog-tiles lays them out.

Beside them are `key`, the verifier key, in `replaced/` a note on each key before it, and in `detail/` the
whole of what entries hold by its digest.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from secretsvc.sealedlog.retention.private_files import make_folder, replace_file, sync_folder
from secretsvc.transparency.key_succession import read_replacement
from secretsvc.transparency.merkle import HASH_BYTES, root_of, tree_hash
from secretsvc.transparency.signed_note import Verifier
from secretsvc.transparency.tiles import WIDTH, Tile, bundled, unbundled

CHECKPOINT, KEY = "checkpoint", "key"
#: A tile holds the hashes of so many levels of the tree: `WIDTH` is 2 to this power.
LEVELS = 8


class Files:
    """The folder of an export. A file is there whole or not at all, whenever a process ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._unsynced: set[Path] = set()

    def write(self, path: str, content: bytes) -> None:
        """Write a file below the folder by `make_folder` and `replace_file`. Raises OSError with its path."""
        target = self.folder / path
        make_folder(target.parent)
        replace_file(target, content)
        above = [one for one in target.parents if one.is_relative_to(self.folder)]
        self._unsynced |= {*above, self.folder.parent}

    def sync(self) -> None:
        """Make the names of all written files survive a power failure, as their contents do already."""
        for folder in sorted(self._unsynced):
            sync_folder(folder)
        self._unsynced.clear()

    def read(self, path: str) -> bytes | None:
        """None where there is no such file."""
        try:
            return (self.folder / path).read_bytes()
        except FileNotFoundError:
            return None

    def text(self, path: str) -> str:
        """Empty where there is no such file; bytes that are no text are replaced."""
        return (self.read(path) or b"").decode(errors="replace")

    def notes(self) -> list[str]:
        """Those on the keys that were replaced. Raises ValueError, with its path, for one that is none."""
        found = {one: self.text(str(one.relative_to(self.folder))) for one in self.folder.glob(note_path())}
        for path, note in sorted(found.items()):
            try:
                read_replacement(note)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from None
        return [found[path] for path in sorted(found)]

    def hashes(self, level: int, tile: Tile) -> list[bytes]:
        """Those of a tile, or of what there is of it. A wider one may stand in for a partial one."""
        found = self.read(tile.path(level)) or self.read(tile._replace(width=WIDTH).path(level)) or b""
        return [found[at : at + HASH_BYTES] for at in range(0, len(found), HASH_BYTES)][: tile.width]

    def has_surplus(self, level: int | None, tile: Tile) -> bool:
        """Whether the file of a tile, or of a bundle, goes on behind what belongs there."""
        found = self.read(tile.path(level)) or b""
        if level is not None:
            return len(found) > tile.width * HASH_BYTES
        return len(found) > len(bundled([*self.entries(tile)][: tile.width]))

    def entries(self, tile: Tile) -> Iterator[bytes]:
        """Those of a bundle, as far as it is whole."""
        bundle = self.read(tile.path(None)) or b""
        try:
            yield from unbundled(bundle)
        except ValueError:
            return

    def root(self, size: int, total: int) -> bytes:
        """The hash of the tree of the first `size` leaves, off the tiles of a tree of `total`.

        Raises ValueError where a tile is missing or too short.
        """
        start, found = 0, []
        for power in range(size.bit_length() - 1, -1, -1):
            if size >> power & 1:
                found.append(self._subtree(start, power, total))
                start += 1 << power
        return tree_hash(found)

    def _subtree(self, start: int, power: int, total: int) -> bytes:
        """Of the leaves from `start` on, 2 to that power of them: hashes of one tile."""
        level = power // LEVELS
        number, at = divmod(start >> LEVELS * level, WIDTH)
        tile = Tile(number, min(WIDTH, (total >> LEVELS * level) - number * WIDTH))
        hashes = self.hashes(level, tile)[at : at + (1 << power % LEVELS)]
        if len(hashes) != 1 << power % LEVELS:
            raise ValueError(f"{tile.path(level)} is missing or too short")
        return root_of(hashes)


def note_path(old: Verifier | None = None) -> str:
    """Where the note is on the replacement of a key; without one, the pattern of all."""
    return f"replaced/{'*' if old is None else old.key_id.hex()}.note"


def detail_path(index: int) -> str:
    """Where the whole detail of an entry is that holds its digest."""
    return f"detail/{index}.json"
