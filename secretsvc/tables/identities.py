"""The identity table: everyone who ever came with a valid assertion, or was announced."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, String, Table, Text, UniqueConstraint

from secretsvc.db.base import METADATA, Id, Millis, of_dialects

#: One user or service token; unique by kind and subject, so that no token can pose as a person.
#:
#: `last_seen_at` is NULL for one that was announced and did not come yet (contract 5.12).
identity = Table(
    "identity",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("subject", Text, nullable=False),
    Column("display_name", Text),
    Column("disabled", Boolean, nullable=False),
    Column("created_at", Millis, nullable=False),
    Column("last_seen_at", Millis),
    UniqueConstraint("kind", "subject"),
    CheckConstraint("kind IN ('user', 'service')", name="kind"),
    info=of_dialects(postgresql_with={"fillfactor": 70}),
)
