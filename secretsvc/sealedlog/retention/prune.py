"""Retention: what was exported is noted, and the oldest records go, as far as the database lets them (7.5).

The positions of records and the hashes of their leaves stay, so that checkpoints and proofs hold as before.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import NamedTuple

import orjson
from sqlalchemy import Connection, bindparam, delete, func, insert, select, text, update

from secretsvc.audit.models import audit_key, audit_record
from secretsvc.sealedlog.models import ONLY, PRUNE, audit_export, audit_pruned, audit_seal
from secretsvc.transparency.key_succession import Signers
from secretsvc.transparency.signed_note import Checkpoint, Verifier, sign

_NUMBER = "(0|[1-9][0-9]{0,18})"
#: What is signed of a pruning; another field makes another number behind its name.
_SAID = re.compile(rf"([^ \n]+) pruning/1\n{_NUMBER}\n([0-9a-f]{{64}})\n{_NUMBER}\n{_NUMBER}\n")
#: Rows that one transaction removes at most; the database allows no more.
BATCH_ROWS = 1000
#: So many positions are looked at together where the end of a pruning is sought.
_STRETCH = 10_000


class Pruned(NamedTuple):
    """Records below `position` are gone; the log is whole since a time, in milliseconds, None for ever."""

    position: int
    complete_since: int | None


@dataclass(frozen=True, slots=True)
class Pruning:
    """What a record of a pruning says: the first `size` records of the log are gone, or are about to go.

    `count` of them by this one, all from before `before`, in milliseconds. `digest` is the hash of the tree
    of these `size`, in hex digits: that of the export that has them.
    """

    before: int
    count: int
    size: int
    digest: str


def pruned_of(connection: Connection) -> Pruned:
    """How far the log is pruned."""
    found = connection.execute(select(audit_pruned.c.position, audit_pruned.c.complete_since)).first()
    return Pruned(0, None) if found is None else Pruned(*found)


class PruneRecord(NamedTuple):
    """A pruning that the log's key has signed, and the position of its record, None until that is sealed."""

    pruning: Pruning
    position: int | None


def signed(origin: str, key: bytes, pruning: Pruning) -> dict[str, object]:
    """The detail of a pruning's record: a `note` has all of it under the log's key (C2SP signed-note)."""
    return {**asdict(pruning), "note": sign(origin, key, _said(origin, pruning))}


def prunings_of(connection: Connection, signers: Signers) -> list[PruneRecord]:
    """The prunings that are recorded, the one of the fewest records first.

    A record whose note the key of its time has not signed explains nothing, and is left aside: whoever
    writes to the database alone can add one.
    """
    found = []
    for detail, index in connection.execute(_RECORDED):
        pruning = _read(detail, signers.signer_of(index))
        if pruning is not None and (index is None or pruning.size <= index):
            found.append(PruneRecord(pruning, index))
    return sorted(found, key=lambda one: one.pruning.size)


def _read(detail: str | None, verifier: Verifier) -> Pruning | None:
    """What the note in a detail says; None where there is none that the key has signed."""
    try:
        body = verifier.has_signed(orjson.loads(detail or "")["note"])
    except (AttributeError, KeyError, TypeError, orjson.JSONDecodeError):
        return None
    found = _SAID.fullmatch(body or "")
    if found is None or found[1] != verifier.name:
        return None
    return Pruning(before=int(found[4]), count=int(found[5]), size=int(found[2]), digest=found[3])


def _said(origin: str, pruning: Pruning) -> str:
    # No origin holds a space: it never passes for a checkpoint.
    told = (pruning.size, pruning.digest, pruning.before, pruning.count)
    return f"{origin} pruning/1\n" + "".join(f"{one}\n" for one in told)


def record_exported_size(connection: Connection, checkpoint: Checkpoint, now: int) -> None:
    """Tells the database what was exported, unless it knows of more; `now` is in milliseconds."""
    known = connection.execute(select(audit_export.c.size)).scalar()
    row = {"size": checkpoint.size, "root": checkpoint.root, "exported_at": now}
    if known is None:
        connection.execute(insert(audit_export), {"id": ONLY, **row})
    elif known <= checkpoint.size:
        connection.execute(update(audit_export).values(row))


def end_of(connection: Connection, before: int, size: int) -> int:
    """The first index from the pruned part on whose record is not from before that time; `size` at most."""
    first = pruned_of(connection).position
    while first < size:
        end = min(first + _STRETCH, size)
        found = connection.execute(_LATER, {"first": first, "end": end, "before": before}).scalar()
        if found is not None:
            return int(found)
        first = end
    return size


def prune_some(connection: Connection, pruning: Pruning, most: int) -> int:
    """Removes the next records of a pruning, at most so many rows, in one transaction; where it ended.

    Raises `sqlalchemy.exc.DBAPIError` for what is not exported, not older, or not this role's to remove.
    """
    # On PostgreSQL by the function that alone may; on SQLite the triggers have the same rule.
    asked = {"up_to": pruning.size, "before": pruning.before, "most": min(most, BATCH_ROWS)}
    if connection.dialect.name == "postgresql":
        ending: int = connection.execute(_BY_THE_OWNER, asked).scalar_one()
        return ending
    at = pruned_of(connection)
    first, since = at.position, max(pruning.before, at.complete_since or 0)
    if at.complete_since is None:
        connection.execute(insert(audit_pruned), {"id": ONLY, "position": 0, "complete_since": since})
    last = connection.execute(_LAST, {"first": first, **asked}).scalar()
    if last is None:
        return first
    end = int(last) + 1
    connection.execute(update(audit_pruned).values(position=end, complete_since=since))
    for statement in (_DELETE_KEYS, _DELETE_RECORDS):
        connection.execute(statement, {"first": first, "end": end})
    return end


_RECORDED = (
    select(audit_record.c.detail, audit_seal.c.position)
    .join_from(audit_record, audit_seal, audit_seal.c.record_id == audit_record.c.id, isouter=True)
    .where(audit_record.c.action == PRUNE)
)
_position = audit_seal.c.position
_LATER = (
    select(func.min(_position))
    .join_from(audit_seal, audit_record, audit_record.c.id == audit_seal.c.record_id)
    .where(_position >= bindparam("first"), _position < bindparam("end"))
    .where(audit_record.c.created_at >= bindparam("before"))
)
_BY_THE_OWNER = text(
    "SELECT audit_prune(CAST(:up_to AS bigint), CAST(:before AS bigint), CAST(:most AS integer))"
)
# As the function of migration 0014 has it.
_LAST = text(
    """
    SELECT max(position) FROM (
        SELECT position, position - :first AS others,
        sum(1 + (SELECT count(*) FROM audit_key WHERE record_id = audit_seal.record_id))
        OVER (ORDER BY position) AS total
        FROM audit_seal WHERE position >= :first AND position < min(:up_to, :first + :most)
    ) WHERE total <= :most OR others = 0
    """
)
_GONE = select(audit_seal.c.record_id).where(_position >= bindparam("first"), _position < bindparam("end"))
_DELETE_KEYS = delete(audit_key).where(audit_key.c.record_id.in_(_GONE))
_DELETE_RECORDS = delete(audit_record).where(audit_record.c.id.in_(_GONE))
