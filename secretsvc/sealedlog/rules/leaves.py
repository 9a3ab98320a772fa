"""A record as a leaf of the log: bytes that stay, whatever becomes of what it tells of (contract 7.2)."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

import orjson

from secretsvc.kernel.canonical import canonical
from secretsvc.kernel.tiles import LONGEST_ENTRY

#: Which fields a leaf has: docs/audit.md lists them. Another field makes another number.
VERSION = 1


class Leaf(NamedTuple):
    """What is hashed, and the text of the record's detail where only its digest is in there."""

    data: bytes
    beside: bytes | None


def leaf_of(row: Any) -> Leaf:
    """The leaf of a row of `audit_record`.

    A detail that would make it too long for a tile's entry, or that has no canonical JSON (a float of a
    plugin's, a text that is none), is there by its digest: of the canonical JSON, or of the text as it is.
    """
    try:
        detail = None if row.detail is None else orjson.loads(row.detail)
        data = canonical(_fields(row, detail))
        if len(data) <= LONGEST_ENTRY:
            return Leaf(data, None)
        beside = canonical(detail)
    except ValueError:
        beside = row.detail.encode()
    digest = {"sha256": sha256(beside).hexdigest()}
    return Leaf(canonical(_fields(row, digest)), beside)


def fields_of(leaf: Leaf) -> dict[str, Any]:
    """The fields of the record again, with its whole detail."""
    fields: dict[str, Any] = orjson.loads(leaf.data)
    if leaf.beside is not None:
        try:
            fields["detail"] = orjson.loads(leaf.beside)
        except orjson.JSONDecodeError:
            fields["detail"] = leaf.beside.decode()
    return fields


def _fields(row: Any, detail: object) -> dict[str, object]:
    return {
        "v": VERSION,
        "id": str(row.id),
        "created_at": row.created_at,
        "action": row.action,
        "outcome": row.outcome,
        "actor": {
            "identity_id": _text(row.identity_id),
            "kind": row.actor_kind,
            "subject": row.actor_subject,
        },
        "project_id": _text(row.project_id),
        "environment_id": _text(row.environment_id),
        "request_id": row.request_id,
        "client_address": row.client_address,
        "reason": row.reason,
        "detail": detail,
    }


def _text(found: object) -> str | None:
    return None if found is None else str(found)
