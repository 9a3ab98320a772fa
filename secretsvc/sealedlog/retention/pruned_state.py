"""The state that pruned records led to, signed and kept in the export, for replays to go on from (7.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, exists, select

from secretsvc.audit.models import audit_record
from secretsvc.sealedlog.models import audit_seal
from secretsvc.sealedlog.replay.replay import State
from secretsvc.sealedlog.replay.snapshots import ADOPTED, Snapshot, find_snapshot, open_state, sign_state
from secretsvc.sealedlog.replay.unexplained_rows import Replay
from secretsvc.sealedlog.retention.boundaries import first_of
from secretsvc.sealedlog.retention.files import Files, detail_path
from secretsvc.sealedlog.retention.prune import PruneRecord, pruned_of
from secretsvc.sealedlog.rules.leaves import BY_DIGEST, Leaf
from secretsvc.sealedlog.rules.log_reader import Sealed
from secretsvc.transparency.signed_note import Signatory
from secretsvc.transparency.tiles import WIDTH, Tile, tiles_of

OTHER_TIME = "the state that a replay begins with is of another time"


class KeptState(NamedTuple):
    """The state that the first `size` records of the log lead to, as JSON."""

    size: int
    content: bytes


def led_to(files: Files, signatory: Signatory, begin: Snapshot | None, size: int, total: int) -> KeptState:
    """Return the state that the first `size` records lead to, by an export of `total` entries.

    `begin` is what a replay of the database begins with; if that has more records, it is returned instead.
    Raises ValueError for an export that cannot be replayed.
    """
    start = _start(files, signatory, begin)
    if start is not None and start.size >= size:
        return KeptState(start.size, start.state.to_json())
    return KeptState(size, _replayed(files, start, size, total).to_json())


def keep_state(files: Files, origin: str, key: bytes, kept: KeptState) -> None:
    """Write a state into an export, signed."""
    json, note = _paths(kept.size)
    files.write(json, kept.content)
    files.write(note, sign_state(origin, key, kept.size, kept.content).encode())
    files.sync()


def copy_states(files: Files, source: Files, size: int, least: int) -> None:
    """Copy from one export to another the state of `size` records, and those of `least` records or more."""
    for kept in (one for one in _sizes(source) if one == size or one >= least):
        for path in _paths(kept):
            files.write(path, source.read(path) or b"")


def _start(files: Files, signatory: Signatory, begin: Snapshot | None) -> Snapshot | None:
    """Return the later of what a replay of the database and one of the folder begin with."""
    first = first_of(files, signatory)
    if first <= (0 if begin is None else begin.size):
        return begin
    json, note = _paths(first)
    kept = open_state(files.text(note), signatory, files.read(json) or b"")
    if kept.size != first:
        raise ValueError(OTHER_TIME)
    # The record of what was adopted may be yet to come.
    return kept._replace(digest=None if begin is None else begin.digest)


def beginning(
    connection: Connection, signatory: Signatory, files: Files | None, prunings: Sequence[PruneRecord]
) -> tuple[bool, Snapshot | None]:
    """Whether the log can be replayed without what is pruned of it, and what such a replay begins with.

    Where records are gone it cannot without an export that has the state which one of the `prunings` has
    kept. Raises ValueError for one that is not signed, or is of fewer or more records.
    """
    begin, pruned = find_snapshot(connection, signatory), pruned_of(connection).position
    if (0 if begin is None else begin.size) >= pruned:
        return True, begin
    for size in (one.pruning.size for one in prunings if one.pruning.size >= pruned):
        json, note = _paths(size)
        if files is None or not (files.text(note) or files.text(json)):
            continue
        kept = open_state(files.text(note), signatory, files.read(json) or b"")
        if kept.size != size:
            raise ValueError(OTHER_TIME)
        # The record of what was adopted is yet to come, or is pruned, or about to be.
        adopted = begin.digest if begin is not None and _is_told(connection, size) else None
        return True, kept._replace(digest=adopted)
    return False, None


def _sizes(files: Files) -> list[int]:
    """Return the sizes of the states that an export has, the smallest first."""
    names = [one.stem for one in files.folder.glob(_paths("*")[1])]
    return sorted(int(one) for one in names if one.isdecimal())


def kept_state_content(files: Files, size: int) -> bytes | None:
    """Return the JSON of the state of that many records; None where an export has none."""
    return files.read(_paths(size)[0])


def wrong_states(files: Files, signatory: Signatory) -> Iterator[str]:
    """States in an export that are not as they were signed; each is one line."""
    json, note = _paths("*")
    for found in sorted(files.folder.glob(note)):
        path = str(found.relative_to(files.folder))
        try:
            kept = open_state(files.text(path), signatory, files.read(json.replace("*", found.stem)) or b"")
        except ValueError as error:
            yield f"{path}: {error}"
        else:
            if str(kept.size) != found.stem:
                yield f"{path}: the state that it has is another"


def _is_told(connection: Connection, first: int) -> bool:
    """Whether the records from that index on, or those that wait, tell of what was adopted."""
    before = select(audit_seal.c.position).where(
        audit_seal.c.record_id == audit_record.c.id, audit_seal.c.position < first
    )
    told = select(audit_record.c.id).where(audit_record.c.action == ADOPTED, ~exists(before))
    found: bool = connection.execute(select(exists(told))).scalar_one()
    return found


def _replayed(files: Files, begin: Snapshot | None, size: int, total: int) -> State:
    replay, following = Replay(begin), 0 if begin is None else begin.size
    for tile in tiles_of(size, following):
        whole = Tile(tile.number, min(WIDTH, total - tile.number * WIDTH))
        for index, entry in enumerate(files.entries(whole), tile.number * WIDTH):
            if not following <= index < size:
                continue
            beside = files.read(detail_path(index)) if BY_DIGEST in entry else None
            for problem in replay.meet(Sealed(index, b"", Leaf(entry, beside))):
                raise ValueError(f"the export cannot be replayed: {problem}")
            following = index + 1
        if following < min(size, (tile.number + 1) * WIDTH):
            # Another process may have put an older checkpoint there meanwhile.
            raise ValueError(f"index {following}: its entry is missing in the export")
    return replay.state


def _paths(size: int | str) -> tuple[str, str]:
    return f"state/{size}.json", f"state/{size}.note"
