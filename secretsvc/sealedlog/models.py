"""The order in which audit records are sealed, the head of their tree, and the key that signs it.

The database refuses what would undo a seal, let a record go unsealed, or make the log shorter (contract 7).
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from secretsvc.db.base import METADATA, Id, Millis

#: The `id` of a table's one row.
ONLY = 1
#: Action of the record of a pruning.
PRUNE = "audit.prune"

#: The position of a record in the log, its `index` to clients, and the hash of its leaf.
audit_seal = Table(
    "audit_seal",
    METADATA,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("record_id", Id, nullable=False),
    Column("leaf_hash", LargeBinary, nullable=False),
    UniqueConstraint("record_id"),
    sqlite_with_rowid=False,
)

#: A record that waits to be sealed. A trigger puts it here in the transaction that writes it.
#:
#: The database gives it the `number` in which it was written; those from before there were numbers have 0.
audit_unsealed = Table(
    "audit_unsealed",
    METADATA,
    Column("record_id", Id, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Index("ix_audit_unsealed_number", "number", "record_id"),
    sqlite_with_rowid=False,
)

#: How many records are sealed, what the next needs of their tree, and the newest checkpoint.
audit_head = Table(
    "audit_head",
    METADATA,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("size", BigInteger, nullable=False),
    Column("frontier", LargeBinary, nullable=False),
    Column("checkpoint", Text, nullable=False),
    Column("sealed_at", Millis, nullable=False),
    CheckConstraint("id = 1", name="single"),
)

#: The key that signs checkpoints, since `created_at`.
#:
#: `envelope` holds its private half, under the master key of `kid`, and behind that the key of cursors where
#: it has replaced another signing key.
audit_signer = Table(
    "audit_signer",
    METADATA,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("public_key", LargeBinary, nullable=False),
    Column("envelope", LargeBinary, nullable=False),
    Column("kid", String(16), nullable=False),
    Column("created_at", Millis, nullable=False),
    CheckConstraint("id = 1", name="single"),
)

#: A key that signed checkpoints once; `note` is on its replacement, signed by it and by the next.
audit_former_signer = Table(
    "audit_former_signer",
    METADATA,
    Column("public_key", LargeBinary, primary_key=True),
    Column("note", Text, nullable=False),
    Column("created_at", Millis, nullable=False),
)

#: How much of the log was last exported whole, and the hash of that. Less it never becomes.
audit_export = Table(
    "audit_export",
    METADATA,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("size", BigInteger, nullable=False),
    Column("root", LargeBinary, nullable=False),
    Column("exported_at", Millis, nullable=False),
    CheckConstraint("id = 1", name="single"),
)

#: How far the log is pruned: records below `position` are gone, all from before `complete_since`.
audit_pruned = Table(
    "audit_pruned",
    METADATA,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("position", BigInteger, nullable=False),
    Column("complete_since", Millis, nullable=False),
    CheckConstraint("id = 1", name="single"),
)

#: What the tables held when the log was first exported: `content` is a state as JSON, `note` signs it.
audit_snapshot = Table(
    "audit_snapshot",
    METADATA,
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("note", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("created_at", Millis, nullable=False),
    CheckConstraint("id = 1", name="single"),
)
