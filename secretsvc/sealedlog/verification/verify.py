"""Whether a log is what was sealed: of an export, offline, or of the database; each problem is one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

import orjson
from sqlalchemy import Connection

from secretsvc.audit.models import audit_key, audit_record
from secretsvc.kernel.crypto import KeyRing
from secretsvc.sealedlog.models import audit_seal, audit_unsealed
from secretsvc.sealedlog.replay.comparison import COMPARED
from secretsvc.sealedlog.replay.unexplained_rows import Replay
from secretsvc.sealedlog.retention.boundaries import BEGIN, CLOSED, boundary_of, first_of
from secretsvc.sealedlog.retention.exported import indexes_of, wrong_hash
from secretsvc.sealedlog.retention.files import CHECKPOINT, LEVELS, Files, detail_path
from secretsvc.sealedlog.retention.prune import Pruned, PruneRecord, pruned_of, prunings_of
from secretsvc.sealedlog.retention.pruned_state import beginning, kept_state_content, wrong_states
from secretsvc.sealedlog.rules.heads import NotSignedLast, frontier_of
from secretsvc.sealedlog.rules.ids import malformed_ids
from secretsvc.sealedlog.rules.key_replacement import wrong_signers
from secretsvc.sealedlog.rules.leaves import is_bare_digest
from secretsvc.sealedlog.rules.log_reader import (
    Sealed,
    count_beyond,
    head_of,
    left_out,
    sealed_from,
    wrongly_listed,
)
from secretsvc.sealedlog.verification.columns import wrong_columns
from secretsvc.transparency.key_succession import Signers
from secretsvc.transparency.merkle import Frontier, leaf_hash, root_of
from secretsvc.transparency.signed_note import Checkpoint, Signatory, other_log, read_checkpoint
from secretsvc.transparency.tiles import WIDTH, Tile, tiles_of

#: Where the log is, beside the tables that it is compared with.
LOG = (audit_record, audit_key, audit_seal, audit_unsealed)
CHANGED = "index {} to {}: something in there is not what the checkpoint has that ends there"
PRUNED_OTHERWISE = "index 0 to {}: what is pruned is not what the record of the pruning tells of"
EARLIER = "name the folder before it, too"
UNSIGNED = "the checkpoint is not signed by this key, or is none of this log"


def verify_files(files: Files, signers: Signers, older: Sequence[Checkpoint]) -> Iterator[str]:
    """Yield what is wrong with the folder of an export, the lowest index first."""
    head = _head(files.text(CHECKPOINT), signers)
    if head is None:
        yield _unsigned(files.text(CHECKPOINT), signers)
        return
    try:
        ends = [one for name in (BEGIN, CLOSED) if (one := boundary_of(files, name, signers)) is not None]
        first = first_of(files, signers)
    except ValueError as error:
        yield str(error)
        return
    yield from _wrong_tiles(files, first, head.size)
    # The notes on replaced keys are written before the checkpoint, and may be ahead of it.
    both = [one for one in signers.heads if first <= one.size <= head.size]
    heads = [Checkpoint(signers.name, one.size, one.root) for one in ends]
    yield from _wrong_roots(files, [*older, *both, *heads, head], head.size, first)
    yield from wrong_states(files, signers)
    for one in ends:
        if sha256(kept_state_content(files, one.size) or b"").digest() != one.state:
            yield f"index {one.size}: the state that was kept where the export begins or ends is another"


def _wrong_tiles(files: Files, first: int, size: int) -> Iterator[str]:
    for tile in tiles_of(size, first):
        yield from _wrong_entries(files, tile)
    level = 1
    while size >> LEVELS * level:
        for tile in tiles_of(size >> LEVELS * level, first >> LEVELS * level):
            yield from _wrong_hashes(files, level, tile, first >> LEVELS * level)
        level += 1


def _wrong_entries(files: Files, tile: Tile) -> Iterator[str]:
    hashes, entries = files.hashes(0, tile), [*files.entries(tile)]
    for at in range(tile.width):
        index = tile.number * WIDTH + at
        if at >= len(hashes):
            yield f"index {index}: its hash is missing"
        elif at >= len(entries):
            yield f"index {index}: its entry is missing"
        elif leaf_hash(entries[at]) != hashes[at]:
            yield f"index {index}: the entry is not the one that was sealed"
        elif not _has_detail(files, index, entries[at]):
            yield f"index {index}: the detail beside the entry is missing, or not the one that was sealed"
    yield from _surplus(files, None, tile)
    yield from _surplus(files, 0, tile)


def _has_detail(files: Files, index: int, entry: bytes) -> bool:
    """True where the entry holds its detail itself, also where it is none of ours."""
    try:
        fields = orjson.loads(entry)
    except orjson.JSONDecodeError:
        return True
    detail = fields.get("detail") if isinstance(fields, dict) else None
    if not isinstance(detail, dict) or [*detail] != ["sha256"]:
        return True
    beside = files.read(detail_path(index))
    return beside is not None and sha256(beside).hexdigest() == detail["sha256"]


def _wrong_hashes(files: Files, level: int, tile: Tile, first: int) -> Iterator[str]:
    """Compare the hashes from the `first` of their level on: of others, the tiles below are elsewhere."""
    hashes = files.hashes(level, tile)
    for at in range(max(0, first - tile.number * WIDTH), tile.width):
        number = tile.number * WIDTH + at
        below = root_of(files.hashes(level - 1, Tile(number, WIDTH)))
        if at >= len(hashes) or hashes[at] != below:
            first = number << LEVELS * level
            yield f"index {first} to {first + (1 << LEVELS * level) - 1}: a hash in there was changed"
    yield from _surplus(files, level, tile)


def _surplus(files: Files, level: int | None, tile: Tile) -> Iterator[str]:
    """A reader takes each file whole, and would take what is behind the rest for sealed."""
    if files.has_surplus(level, tile):
        index = (tile.number * WIDTH + tile.width) << LEVELS * (level or 0)
        yield f"index {index}: {tile.path(level)} holds more than was sealed"


def _wrong_roots(files: Files, wanted: Sequence[Checkpoint], total: int, first: int) -> Iterator[str]:
    good = 0
    for one in sorted(wanted, key=lambda checkpoint: checkpoint.size):
        if one.size < first:
            yield f"the export begins at index {first}, and a checkpoint has {one.size} entries: {EARLIER}"
            continue
        if one.size > total:
            yield from _missing(total, one.size)
            continue
        try:
            found = files.root(one.size, total)
        except ValueError as error:
            yield str(error)
            continue
        if found == one.root:
            good = one.size
        else:
            yield CHANGED.format(good, one.size - 1)


def verify_database(
    connection: Connection,
    signers: Signers,
    older: Sequence[Checkpoint],
    files: Files | None,
    ring: KeyRing | None,
) -> Iterator[str]:
    """Yield what is wrong with the log in the database, and with both it and the folder of an export.

    Without an export, a record that was changed together with its hash is named by the checkpoints around
    it. What is pruned is explained by sealed records of prunings that the log's key has signed, and their
    digests must be those of the hashes that stayed. The log is replayed, too, unless `is_replayed` denies
    it. Without a ring, descriptions are not compared. The connection must read one state of the database.
    """
    stored = head_of(connection)
    head = None if stored is None else _head(stored.checkpoint, signers)
    if head is None:
        yield "nothing is sealed" if stored is None else _unsigned(stored.checkpoint, signers)
        return
    exported = None if files is None else _head(files.text(CHECKPOINT), signers)
    compared = range(0) if files is None else indexes_of(files, signers)
    if files is not None and exported is None:
        yield f"of the export {_unsigned(files.text(CHECKPOINT), signers)}"
    prunings = _sealed_prunings(connection, signers)
    try:
        can, begin = beginning(connection, signers, files, prunings)
    except ValueError as error:
        can, begin = False, None
        yield str(error)
    replay = Replay(begin) if can else None
    tree = _Tree([*older, *signers.heads, head, *([exported] if exported is not None else [])], prunings)
    for entry in sealed_from(connection, 0, head.size):
        yield from tree.meet(entry)
        if files is not None:
            yield from wrong_hash(entry, files, compared)
        yield from () if replay is None else replay.meet(entry)
    yield from tree.end()
    yield from _wrong_end_of_pruning(pruned_of(connection), tree.gone, prunings)
    yield from _beside_the_log(connection, head.size, signers, tree.gone)
    yield from () if replay is None else replay.compare(connection, ring)


def is_replayed(connection: Connection, signers: Signers, files: Files | None) -> bool:
    """Whether `verify_database` compares the tables with what the log leads to.

    It cannot where records are pruned and the state that they led to is not in the export; a wrong one is a
    problem that it tells of.
    """
    try:
        return beginning(connection, signers, files, _sealed_prunings(connection, signers))[0]
    except ValueError:
        return True


class _Tree:
    """Meets the positions of the log one after the other, and holds their tree against checkpoints.

    `gone` is how many records are missing from the first on that a pruning explains.
    """

    def __init__(self, checkpoints: Sequence[Checkpoint], prunings: Sequence[PruneRecord]) -> None:
        self.gone = 0
        self._checkpoints = checkpoints
        self._pruned = {one.pruning.size: one.pruning.digest for one in prunings}
        self._frontier = Frontier()
        self._good = 0

    def meet(self, entry: Sealed) -> Iterator[str]:
        """What is wrong with a position, and with what lies before it."""
        yield from _missing(self._frontier.size, entry.position)
        while self._frontier.size < entry.position:
            self._frontier.append(b"")
        if entry.leaf is None and entry.position == self.gone < max(self._pruned, default=0):
            self.gone += 1
        elif entry.leaf is None:
            yield f"index {entry.position}: the record is missing"
        elif leaf_hash(entry.leaf.data) != entry.leaf_hash:
            yield f"index {entry.position}: the record is not the one that was sealed"
        elif is_bare_digest(entry.leaf):
            yield f"index {entry.position}: its detail is a digest, and of what cannot be told"
        self._frontier.append(entry.leaf_hash)
        pruned = self._pruned.get(self._frontier.size)
        if pruned is not None and self._frontier.root().hex() != pruned:
            yield PRUNED_OTHERWISE.format(self._frontier.size - 1)
        for one in self._checkpoints:
            if one.size == self._frontier.size and one.root != self._frontier.root():
                yield CHANGED.format(self._good, one.size - 1)
            elif one.size == self._frontier.size:
                self._good = one.size

    def end(self) -> Iterator[str]:
        """What a checkpoint has beyond the last position that was met."""
        yield from _missing(self._frontier.size, max(one.size for one in self._checkpoints))


def _missing(first: int, end: int) -> Iterator[str]:
    if first < end:
        yield f"index {first}: it is missing, and all up to {end - 1}, which a checkpoint has"


def _sealed_prunings(connection: Connection, signers: Signers) -> list[PruneRecord]:
    """What explains that records are missing, the pruning of the fewest first."""
    return [one for one in prunings_of(connection, signers) if one.position is not None]


def _wrong_end_of_pruning(stored: Pruned, gone: int, prunings: Sequence[PruneRecord]) -> Iterator[str]:
    """What the database says of its prunings otherwise than the records that are gone, and the log."""
    if stored.position != gone:
        yield f"the first {gone} records are pruned, and the database says that {stored.position} are"
    dates = {one.pruning.before for one in prunings if one.pruning.size >= gone}
    if stored.complete_since is not None and stored.complete_since not in dates:
        yield f"no pruning that the log tells of is from before {stored.complete_since}, as the database says"


def _beside_the_log(connection: Connection, size: int, signers: Signers, pruned: int) -> Iterator[str]:
    yield from malformed_ids(connection, [*LOG, *COMPARED])
    yield from wrong_columns(connection, pruned, size)
    try:
        frontier_of(connection, signers.newest)
    except NotSignedLast as error:
        yield str(error)
    beyond = count_beyond(connection, size)
    if beyond:
        yield f"index {size}: {beyond} records are sealed that the checkpoint does not have"
    for found in left_out(connection):
        yield f"record {found} is neither sealed nor waits to be"
    yield from wrongly_listed(connection)
    yield from wrong_signers(connection, signers, pruned)


def _unsigned(note: str, signatory: Signatory) -> str:
    if not note:
        return "the checkpoint is missing"
    return f"{UNSIGNED}{other_log(note, signatory.name)}"


def _head(note: str, signatory: Signatory) -> Checkpoint | None:
    try:
        return read_checkpoint(note, signatory)
    except ValueError:
        return None
