"""The table of service tokens, of which it has digests only."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, LargeBinary, String, Table, Text

from secretsvc.db.base import METADATA, Id, Millis

#: A token of an identity. `created_by` is NULL for the system, `last_used_at` before the first use.
service_token = Table(
    "service_token",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("identity_id", ForeignKey("identity.id"), index=True, nullable=False),
    Column("name", Text, nullable=False),
    Column("digest", LargeBinary, unique=True, nullable=False),
    Column("prefix", String(8), nullable=False),
    Column("created_at", Millis, nullable=False),
    Column("created_by", Id),
    Column("expires_at", Millis, index=True, nullable=False),
    Column("last_used_at", Millis),
    postgresql_with={"fillfactor": 70},
)
