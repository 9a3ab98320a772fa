"""The identity table: everyone who ever came with a valid assertion, or was announced."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, String, Table, Text, UniqueConstraint

from secretsvc.db.base import METADATA, Id, Millis, partial_index

#: One user or service token; unique by kind and subject, so that no token can pose as a person.
#:
#: `last_seen_at` is NULL for one that was announced and did not come yet (contract 5.12).
#: `issuer` is the `iss` of the workload issuer by which it first came, `issuer_name` the name that the issuer
#: had then (contract 17.5).
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
    Column("issuer_name", String(64)),
    Column("issuer", Text),
    UniqueConstraint("kind", "subject"),
    CheckConstraint("kind IN ('user', 'service')", name="kind"),
    partial_index("ix_identity_issuer_name", "issuer_name IS NOT NULL", "issuer_name"),
    postgresql_with={"fillfactor": 70},
)
