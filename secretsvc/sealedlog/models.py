"""The order in which audit records are sealed, the head of their tree, and the key that signs it.

The database refuses what would undo a seal, let a record go unsealed, or make the log shorter (contract 7).
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Index,
    LargeBinary,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from secretsvc.db.base import Base, Id, Millis, table_of

#: The `id` of a table's one row.
ONLY = 1


class AuditSeal(Base):
    """The position of a record in the log, its `index` to clients, and the hash of its leaf."""

    __tablename__ = "audit_seal"
    __table_args__ = (UniqueConstraint("record_id"), {"sqlite_with_rowid": False})

    position: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    record_id: Mapped[UUID] = mapped_column(Id)
    leaf_hash: Mapped[bytes] = mapped_column(LargeBinary)


class AuditUnsealed(Base):
    """A record that waits to be sealed. A trigger puts it here in the transaction that writes it.

    The database gives it the `number` in which it was written; those from before there were numbers have 0.
    """

    __tablename__ = "audit_unsealed"
    __table_args__ = (
        Index("ix_audit_unsealed_number", "number", "record_id"),
        {"sqlite_with_rowid": False},
    )

    record_id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)


class AuditHead(Base):
    """How many records are sealed, what the next needs of their tree, and the newest checkpoint."""

    __tablename__ = "audit_head"
    __table_args__ = (CheckConstraint("id = 1", name="single"),)

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    size: Mapped[int] = mapped_column(BigInteger)
    frontier: Mapped[bytes] = mapped_column(LargeBinary)
    checkpoint: Mapped[str] = mapped_column(Text)
    sealed_at: Mapped[int] = mapped_column(Millis)


class AuditSigner(Base):
    """The key that signs checkpoints, since `created_at`.

    `envelope` holds its private half, under the master key of `kid`, and behind that the key of cursors where
    it has replaced another signing key.
    """

    __tablename__ = "audit_signer"
    __table_args__ = (CheckConstraint("id = 1", name="single"),)

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    public_key: Mapped[bytes] = mapped_column(LargeBinary)
    envelope: Mapped[bytes] = mapped_column(LargeBinary)
    kid: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[int] = mapped_column(Millis)


class AuditFormerSigner(Base):
    """A key that signed checkpoints once; `note` is on its replacement, signed by it and by the next."""

    __tablename__ = "audit_former_signer"

    public_key: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    note: Mapped[str] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(Millis)


class AuditExport(Base):
    """How much of the log was last exported whole, and the hash of that. Less it never becomes."""

    __tablename__ = "audit_export"
    __table_args__ = (CheckConstraint("id = 1", name="single"),)

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    size: Mapped[int] = mapped_column(BigInteger)
    root: Mapped[bytes] = mapped_column(LargeBinary)
    exported_at: Mapped[int] = mapped_column(Millis)


class AuditPruned(Base):
    """How far the log is pruned: records below `position` are gone, all from before `complete_since`."""

    __tablename__ = "audit_pruned"
    __table_args__ = (CheckConstraint("id = 1", name="single"),)

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(BigInteger)
    complete_since: Mapped[int] = mapped_column(Millis)


class AuditSnapshot(Base):
    """What the tables held when the log was first exported: `content` is a state as JSON, `note` signs it."""

    __tablename__ = "audit_snapshot"
    __table_args__ = (CheckConstraint("id = 1", name="single"),)

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    note: Mapped[str] = mapped_column(Text)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[int] = mapped_column(Millis)


audit_seal = table_of(AuditSeal)
audit_unsealed = table_of(AuditUnsealed)
audit_head = table_of(AuditHead)
audit_signer = table_of(AuditSigner)
audit_former_signer = table_of(AuditFormerSigner)
audit_export = table_of(AuditExport)
audit_pruned = table_of(AuditPruned)
audit_snapshot = table_of(AuditSnapshot)
