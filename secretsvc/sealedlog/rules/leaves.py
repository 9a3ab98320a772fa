"""A record as a leaf of the log: bytes that stay, whatever becomes of what it tells of (contract 7.2)."""

from __future__ import annotations

from hashlib import sha256
from types import SimpleNamespace
from typing import NamedTuple
from uuid import UUID

import orjson

from secretsvc.audit.models import audit_record
from secretsvc.db.types import Expression, FoundRow
from secretsvc.sealedlog.rules.ids import as_text
from secretsvc.transparency.canonical_json import canonical
from secretsvc.transparency.merkle import leaf_hash
from secretsvc.transparency.tiles import LONGEST_ENTRY

#: Which fields a leaf has: docs/audit.md lists them. Another field makes another number.
VERSION = 1
#: How a detail begins in a leaf that is there by its digest, perhaps.
BY_DIGEST = b'"detail":{"sha256":'
#: What is read of a record for its leaf, beside its own id.
FIELDS: list[Expression] = [
    *(as_text(audit_record.c[name]) for name in ("identity_id", "project_id", "environment_id")),
    *(audit_record.c[name] for name in ("created_at", "action", "outcome", "actor_kind", "actor_subject")),
    *(audit_record.c[name] for name in ("request_id", "client_address", "reason", "detail")),
]
#: Of each other column, where they make a leaf too long: so many bytes are there themselves.
_LONGEST_VALUE = 4096


class Leaf(NamedTuple):
    """What is hashed, and the text of the record's detail where only its digest is in there."""

    data: bytes
    beside: bytes | None


def leaf_of(row: FoundRow) -> Leaf:
    """The leaf of a row of `audit_record`, whatever is in there.

    A detail that would make it too long for a tile's entry, that has no canonical JSON (a float of a
    plugin's, a text that is none), or that would pass for a digest, is there by its digest: of the canonical
    JSON, or of the text as it is. So is any other value that no canonical JSON has, or that is too long.
    """
    try:
        return _leaf(row, row.detail)
    except ValueError:
        # Nothing that the service writes.
        names = ["id", *(str(column.key) for column in FIELDS)]
        values = {name: _readable(getattr(row, name)) for name in names}
        return _leaf(SimpleNamespace(**values), row.detail)


def sealed_leaf(row: FoundRow, sealed: bytes) -> Leaf:
    """The leaf of a row that was sealed by this hash, if it is as it was.

    A detail that would pass for a digest was once sealed as it is.
    """
    leaf = leaf_of(row)
    if leaf.beside is None or leaf_hash(leaf.data) == sealed:
        return leaf
    try:
        detail = orjson.loads(row.detail)
        older = Leaf(canonical(_fields(row, detail)), None) if _is_digest(detail) else leaf
    except ValueError:
        return leaf
    return older if leaf_hash(older.data) == sealed else leaf


def is_bare_digest(leaf: Leaf) -> bool:
    """Whether its detail is a digest, and what that is of is not at hand."""
    return leaf.beside is None and BY_DIGEST in leaf.data and _is_digest(orjson.loads(leaf.data)["detail"])


def record_fields(leaf: Leaf) -> dict[str, object]:
    """The fields of the record again, with its whole detail."""
    fields: dict[str, object] = orjson.loads(leaf.data)
    if leaf.beside is not None:
        try:
            fields["detail"] = orjson.loads(leaf.beside)
        except orjson.JSONDecodeError:
            fields["detail"] = leaf.beside.decode(errors="replace")
    return fields


def _leaf(row: FoundRow | SimpleNamespace, detail: str | bytes | None) -> Leaf:
    """Raises ValueError where it is not the detail that has no canonical JSON, or that is too long."""
    try:
        found = None if detail is None else orjson.loads(detail)
        data = canonical(_fields(row, found))
        if len(data) <= LONGEST_ENTRY and not _is_digest(found):
            return Leaf(data, None)
        beside = canonical(found)
    except ValueError:
        beside = _bytes(detail)
    data = canonical(_fields(row, _digest(beside)))
    if len(data) > LONGEST_ENTRY:
        raise ValueError("a leaf that is too long")
    return Leaf(data, beside)


def _readable(value: object) -> object:
    """A value of a column as it is, or its digest where a leaf has no place for it."""
    try:
        if isinstance(value, UUID) or len(canonical(value)) <= _LONGEST_VALUE:
            return value
    except ValueError:
        pass
    return _digest(_bytes(value))


def _digest(content: bytes) -> dict[str, str]:
    return {"sha256": sha256(content).hexdigest()}


def _is_digest(detail: object) -> bool:
    return isinstance(detail, dict) and [*detail] == ["sha256"]


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")


def _fields(row: FoundRow | SimpleNamespace, detail: object) -> dict[str, object]:
    return {
        "action": row.action,
        "actor": {
            "identity_id": _text(row.identity_id),
            "kind": row.actor_kind,
            "subject": row.actor_subject,
        },
        "client_address": row.client_address,
        "created_at": row.created_at,
        "detail": detail,
        "environment_id": _text(row.environment_id),
        "id": str(row.id),
        "outcome": row.outcome,
        "project_id": _text(row.project_id),
        "reason": row.reason,
        "request_id": row.request_id,
        "v": VERSION,
    }


def _text(found: object) -> str | None:
    return None if found is None else str(found)
