"""What is found of records by columns that no leaf has, held against their details, which leaves do have.

These are `key` and `given` of a record, and its rows in `audit_key`: the histories of keys, and exposure,
rest on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import orjson
from sqlalchemy import Connection, bindparam, exists, or_, select

from secretsvc.audit.models import FULL_COPY, FULL_EXPORT, PAST_EXPORT, audit_key, audit_record
from secretsvc.audit.rules.records import SUCCESS
from secretsvc.db.types import FoundRow
from secretsvc.sealedlog.models import audit_seal
from secretsvc.sealedlog.replay.replay import WRITES
from secretsvc.sealedlog.rules.ids import as_text
from secretsvc.sealedlog.rules.log_reader import PAGE
from secretsvc.secrets.queries.read_records import EXPORT, REVEAL

OTHER_COLUMNS = "index {}: its key, or what was given of it, is not what its detail says"
OTHER_ROWS = "index {}: its rows of audit_key are not what its detail says"


def wrong_columns(connection: Connection, first: int, size: int) -> Iterator[str]:
    """What is wrong with those of the sealed records from `first` on and below `size`; each is one line.

    Not in the details, and so not compared, are: whether an export asked for its revision by number, whether
    a copy of all keys has rows for them, and the versions that a copy of some keys gave.
    """
    while first < size:
        page = {"first": first, "size": min(size, first + PAGE)}
        rows: dict[str, list[FoundRow]] = {}
        for one in connection.execute(_KEYS, page):
            rows.setdefault(one.record_id, []).append(one)
        for record in connection.execute(_RECORDS, page):
            detail = _detail(record)
            if (record.key, record.given) not in _columns(record, detail):
                yield OTHER_COLUMNS.format(record.position)
            if not _fit(rows.pop(record.id, []), record, _keys(record, detail)):
                yield OTHER_ROWS.format(record.position)
        for [one, *_] in rows.values():
            yield OTHER_ROWS.format(one.position)
        first += PAGE
    for stray in connection.execute(_STRAY).scalars():
        yield f"record {stray} is not there, and audit_key has rows of it"


def _detail(record: FoundRow) -> dict[str, object]:
    try:
        found = orjson.loads(record.detail or "")
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) and record.outcome == SUCCESS else {}


def _columns(record: FoundRow, detail: dict[str, object]) -> list[tuple[object, object]]:
    """What `key` and `given` may be."""
    if record.action == REVEAL:
        return [(detail.get("key"), detail.get("version"))]
    if record.action != EXPORT or "rev" not in detail:
        return [(None, None)]
    whole = [FULL_COPY] if "copied_to" in detail else [FULL_EXPORT, PAST_EXPORT]
    return [*((key, detail["rev"]) for key in whole), *([(None, None)] if whole == [FULL_COPY] else [])]


def _keys(record: FoundRow, detail: dict[str, object]) -> object:
    """The keys that there are rows of."""
    if record.action == EXPORT:
        return [] if record.key is not None else detail.get("keys", [])
    return detail.get("described", []) if str(record.action).startswith(WRITES) else []


def _fit(rows: Sequence[FoundRow], record: FoundRow, keys: object) -> bool:
    """Whether there is a row for each of the keys, and for no other, and all have the rest of the record."""
    if sorted(str(row.key) for row in rows) != (sorted(map(str, keys)) if isinstance(keys, list) else []):
        return False
    same = (record.environment_id, record.identity_id, record.created_at)
    if any((row.environment_id, row.identity_id, row.created_at) != same for row in rows):
        return False
    return record.action == EXPORT or all(row.given is None for row in rows)


_position = audit_seal.c.position
_IN_THE_PAGE = (_position >= bindparam("first"), _position < bindparam("size"))
_RECORDS = (
    select(
        _position,
        *(as_text(audit_record.c[name]) for name in ("id", "identity_id", "environment_id")),
        *(audit_record.c[name] for name in ("created_at", "action", "outcome", "detail", "key", "given")),
    )
    .join_from(audit_seal, audit_record, audit_record.c.id == audit_seal.c.record_id)
    .where(*_IN_THE_PAGE)
    .where(
        or_(
            audit_record.c.action.startswith(WRITES),
            audit_record.c.key.is_not(None),
            audit_record.c.given.is_not(None),
        )
    )
    .order_by(_position)
)
_KEYS = (
    select(
        _position,
        *(as_text(audit_key.c[name]) for name in ("record_id", "identity_id", "environment_id")),
        *(audit_key.c[name] for name in ("key", "given", "created_at")),
    )
    .join_from(audit_seal, audit_record, audit_record.c.id == audit_seal.c.record_id)
    .join(audit_key, audit_key.c.record_id == audit_seal.c.record_id)
    .where(*_IN_THE_PAGE)
)
_STRAY = (
    select(as_text(audit_key.c.record_id))
    .where(~exists(select(audit_record.c.id).where(audit_record.c.id == audit_key.c.record_id)))
    .distinct()
    .order_by(audit_key.c.record_id)
)
