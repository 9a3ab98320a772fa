"""Secrets, their history, which holds every envelope, its revisions, and the master keys that may seal."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from secretsvc.db.base import METADATA, Id, KeyText, Millis, RowId, partial_index

#: A key of an environment, also of a deleted one: its version numbers are never used twice.
#:
#: A deleted one keeps the description that it had, for the case that it comes back (contract 5.6).
secret = Table(
    "secret",
    METADATA,
    Column("id", RowId, primary_key=True),
    Column("environment_id", ForeignKey("environment.id", ondelete="CASCADE"), nullable=False),
    Column("key", KeyText, nullable=False),
    Column("description", Text),
    Column("version", BigInteger, nullable=False),
    Column("deleted", Boolean, nullable=False),
    Column("created_at", Millis, nullable=False),
    Column("updated_at", Millis, nullable=False),
    UniqueConstraint("environment_id", "key"),
    postgresql_with={"fillfactor": 70},
)

#: One immutable version. A tombstone has neither envelope nor kid; rekeying changes just those two.
#:
#: `created_by` is NULL for the system. The origin is the version that first had the value, where this one
#: was made from it (contract 5.11), else NULL. It may be gone with its environment; an environment's id is
#: never used twice, as a secret's may be.
secret_version = Table(
    "secret_version",
    METADATA,
    Column("secret_id", ForeignKey("secret.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("rev", BigInteger, nullable=False),
    Column("envelope", LargeBinary),
    Column("kid", String(16)),
    Column("created_at", Millis, nullable=False),
    Column("created_by", Id),
    Column("origin_environment_id", Id),
    Column("origin_secret_id", BigInteger),
    Column("origin_version", BigInteger),
    CheckConstraint("(envelope IS NULL) = (kid IS NULL)", name="tombstone"),
    Index("ix_secret_version_kid", "kid", "secret_id", "version"),
    # The newest version of a key at a revision is found by this alone.
    Index("ix_secret_version_rev", "secret_id", "rev", "version"),
    partial_index(
        "ix_secret_version_origin",
        "origin_secret_id IS NOT NULL",
        "origin_secret_id",
        "origin_version",
        "secret_id",
        "version",
    ),
)

#: What is left of a version whose environment was deleted, while its value was elsewhere, too.
#:
#: A trigger writes it when the environment goes: records of the log tell who met the value there (contract
#: 5.11). It was in force from `rev` until before `next_rev`. The origin is always given: the version itself
#: where it was the first. There are no foreign keys, and no envelopes.
departed_version = Table(
    "departed_version",
    METADATA,
    Column("origin_secret_id", BigInteger, primary_key=True, autoincrement=False),
    Column("origin_version", BigInteger, primary_key=True, autoincrement=False),
    Column("environment_id", Id, primary_key=True),
    Column("secret_id", BigInteger, primary_key=True, autoincrement=False),
    Column("version", BigInteger, primary_key=True, autoincrement=False),
    Column("key", KeyText, nullable=False),
    Column("rev", BigInteger, nullable=False),
    Column("next_rev", BigInteger, nullable=False),
    Column("created_at", Millis, nullable=False),
    Column("created_by", Id),
    Column("origin_environment_id", Id, nullable=False),
    sqlite_with_rowid=False,
)

#: What a write made of an environment; `changes` are its versions.
#:
#: `action` and `reason` are NULL for one that is older than this table, `created_by` for the system.
#: `record_id` is that of the audit record, `copied_from` the environment that a copy took from.
revision = Table(
    "revision",
    METADATA,
    Column("environment_id", ForeignKey("environment.id", ondelete="CASCADE"), primary_key=True),
    Column("rev", BigInteger, primary_key=True, autoincrement=False),
    Column("action", String(64)),
    Column("reason", Text),
    Column("created_at", Millis, nullable=False),
    Column("created_by", Id),
    Column("record_id", Id),
    Column("copied_from", Id),
    Index("ix_revision_created_by", "created_by", "environment_id"),
    partial_index("ix_revision_copied_from", "copied_from IS NOT NULL", "environment_id"),
    sqlite_with_rowid=False,
)

#: The first success of a write that its client may send again (contract 8.2), for 24 hours.
#:
#: `digest` is of the input, keyed by the master key of `kid`. The changes are those of `rev`, if the write
#: `made` it, else there were none.
idempotent_write = Table(
    "idempotent_write",
    METADATA,
    Column("environment_id", ForeignKey("environment.id", ondelete="CASCADE"), primary_key=True),
    Column("identity_id", Id, primary_key=True),
    Column("action", String(64), primary_key=True),
    Column("key", String(64), primary_key=True),
    Column("digest", LargeBinary, nullable=False),
    Column("kid", String(16), nullable=False),
    Column("rev", BigInteger, nullable=False),
    Column("made", Boolean, nullable=False),
    Column("created_at", Millis, nullable=False),
    Index("ix_idempotent_write_created_at", "created_at"),
    sqlite_with_rowid=False,
)

#: An adopted master key by its kid; one that is retired seals no more.
#:
#: `place` counts from 1, the newest adopted has the highest: of two that are adopted at the same moment only
#: one gets it (decision 0025).
master_key = Table(
    "master_key",
    METADATA,
    Column("kid", String(16), primary_key=True),
    Column("place", BigInteger, nullable=False),
    Column("adopted_at", Millis, nullable=False),
    Column("retired_at", Millis),
    UniqueConstraint("place"),
)

#: The key of digests that name the master key of `kid`, in an envelope under that of `held_by`.
digest_key = Table(
    "digest_key",
    METADATA,
    Column("kid", String(16), primary_key=True),
    Column("held_by", String(16), primary_key=True),
    Column("envelope", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
