"""Leaves of the log: whatever is in a row makes one, which an export can hold, and is no other row's."""

from __future__ import annotations

import json
from hashlib import sha256
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from secretsvc.audit.models import audit_record
from secretsvc.sealedlog.rules.leaves import Leaf, is_bare_digest, leaf_of, record_fields, sealed_leaf
from secretsvc.transparency.merkle import leaf_hash
from secretsvc.transparency.tiles import LONGEST_ENTRY

COLUMNS = {
    "id": UUID(int=1),
    "created_at": 1,
    "action": "test.made",
    "outcome": "success",
    "actor_kind": "user",
    "actor_subject": "writer@example.com",
    "request_id": "made-by-a-test",
}
DIGEST = {"sha256": "0" * 64}


def row(**columns: Any) -> SimpleNamespace:
    """A row of the log."""
    return SimpleNamespace(**dict.fromkeys(audit_record.c.keys()) | COLUMNS | columns)


def digest(content: bytes) -> dict[str, str]:
    return {"sha256": sha256(content).hexdigest()}


ODD = {
    "late": ("created_at", 2**60, b"1152921504606846976"),
    "early": ("created_at", -(2**63), b"-9223372036854775808"),
    "fraction": ("created_at", 1.5, b"1.5"),
    "blob": ("actor_subject", b"\xff\x00", b"\xff\x00"),
    "surrogate": ("reason", "\ud800", b"\xed\xa0\x80"),
    "long": ("reason", "x" * 70_000, b"x" * 70_000),
}
DETAILS = {
    "none": (None, None),
    "text": ('{"a":1}', {"a": 1}),
    "broken": ("{", digest(b"{")),
    "blob": (b"\xff", digest(b"\xff")),
    "number": (5, digest(b"5")),
    "nested": ("[" * 300 + "]" * 300, digest(b"[" * 300 + b"]" * 300)),
    "deeper": ("[" * 5000 + "]" * 5000, digest(b"[" * 5000 + b"]" * 5000)),
    "surrogate": ('"\\ud800"', digest(b'"\\ud800"')),
}


@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize("odd", [*ODD, None])
def test_whatever_is_in_a_row_makes_a_leaf(odd, detail):
    stored, shown = DETAILS[detail]
    column, value, content = ODD[odd] if odd else ("reason", None, b"")
    leaf = leaf_of(row(**{column: value}, detail=stored))
    found = json.loads(leaf.data)
    told = found["actor"]["subject"] if column == "actor_subject" else found[column]
    assert told == (digest(content) if odd else None)
    assert found["detail"] == shown
    assert len(leaf.data) <= LONGEST_ENTRY
    assert record_fields(leaf)["id"] == str(UUID(int=1))


def test_a_row_that_is_too_long_everywhere_still_fits_an_entry():
    texts = [name for name, value in COLUMNS.items() if isinstance(value, str)]
    long = dict.fromkeys([*texts, "reason", "client_address"], "\x01" * 20_000)
    leaf = leaf_of(row(**long, detail=json.dumps("y" * 70_000)))
    assert len(leaf.data) <= LONGEST_ENTRY
    assert record_fields(leaf)["detail"] == "y" * 70_000
    shorter = dict.fromkeys(long, "\x01" * 600)
    assert json.loads(leaf_of(row(**shorter)).data)["reason"] == shorter["reason"]


def test_a_detail_that_would_pass_for_a_digest_is_there_by_its_own():
    whole = json.dumps({"keys": ["K" * 70] * 1000}, separators=(",", ":"))
    passing = json.dumps(digest(whole.encode()), separators=(",", ":"))
    first, second = (leaf_of(row(detail=detail)) for detail in (whole, passing))
    assert json.loads(first.data)["detail"] == digest(whole.encode())
    assert json.loads(second.data)["detail"] == digest(passing.encode())
    assert record_fields(second)["detail"] == digest(whole.encode())
    beside = json.dumps({**DIGEST, "size": 1})
    assert json.loads(leaf_of(row(detail=beside)).data)["detail"] == {**DIGEST, "size": 1}


def test_what_was_sealed_as_it_was_stays_and_is_told_from_what_is_there_by_its_digest():
    passing = row(detail=json.dumps(DIGEST))
    now = leaf_of(passing)
    data = json.loads(now.data) | {"detail": DIGEST}
    older = Leaf(json.dumps(data, sort_keys=True, separators=(",", ":")).encode(), None)
    assert sealed_leaf(passing, leaf_hash(older.data)) == older
    assert sealed_leaf(passing, leaf_hash(now.data)) == sealed_leaf(passing, b"") == now
    assert (is_bare_digest(older), is_bare_digest(now)) == (True, False)
    for detail in ('{"a":1}', "{", json.dumps({"detail": DIGEST}), json.dumps({**DIGEST, "size": 1})):
        found = sealed_leaf(row(detail=detail), b"")
        assert found == leaf_of(row(detail=detail))
        assert not is_bare_digest(found)
