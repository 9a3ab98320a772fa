"""What a record's details say on the page."""

from __future__ import annotations

from secretsvc.auditlog.ui.labels import DetailPart, detail_parts


def test_an_end_is_a_time_as_people_read_it_also_within_what_was_before():
    assert detail_parts(
        {"token_id": "x", "expires_at": 60_000, "before": {"role": "reader", "expires_at": None}}
    ) == [
        DetailPart("token id", "x"),
        DetailPart("ends", "1970-01-01 00:01 UTC"),
        DetailPart("before", "role reader, ends none"),
    ]
