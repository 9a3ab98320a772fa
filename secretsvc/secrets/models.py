"""Secrets, their history, which holds every envelope, its revisions, and the master keys that may seal."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from secretsvc.db.base import Base, Id, KeyText, Millis, RowId, partial_index, table_of


class Secret(Base):
    """A key of an environment, also of a deleted one: its version numbers are never used twice.

    A deleted one keeps the description that it had, for the case that it comes back (contract 5.6).
    """

    __tablename__ = "secret"
    __table_args__ = (
        UniqueConstraint("environment_id", "key"),
        {"postgresql_with": {"fillfactor": 70}},
    )

    id: Mapped[int] = mapped_column(RowId, primary_key=True)
    environment_id: Mapped[UUID] = mapped_column(ForeignKey("environment.id", ondelete="CASCADE"))
    key: Mapped[str] = mapped_column(KeyText)
    description: Mapped[str | None] = mapped_column(Text)
    version: Mapped[int] = mapped_column(BigInteger)
    deleted: Mapped[bool] = mapped_column(Boolean)
    created_at: Mapped[int] = mapped_column(Millis)
    updated_at: Mapped[int] = mapped_column(Millis)


class SecretVersion(Base):
    """One immutable version. A tombstone has neither envelope nor kid; rekeying changes just those two.

    `created_by` is NULL for the system. The origin is the version that first had the value, where this one
    was made from it (contract 5.11), else NULL. It may be gone with its environment; an environment's id is
    never used twice, as a secret's may be.
    """

    __tablename__ = "secret_version"
    __table_args__ = (
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

    secret_id: Mapped[int] = mapped_column(
        ForeignKey("secret.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    version: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    rev: Mapped[int] = mapped_column(BigInteger)
    envelope: Mapped[bytes | None] = mapped_column(LargeBinary)
    kid: Mapped[str | None] = mapped_column(String(16))
    created_at: Mapped[int] = mapped_column(Millis)
    created_by: Mapped[UUID | None] = mapped_column(Id)
    origin_environment_id: Mapped[UUID | None] = mapped_column(Id)
    origin_secret_id: Mapped[int | None] = mapped_column(BigInteger)
    origin_version: Mapped[int | None] = mapped_column(BigInteger)


class DepartedVersion(Base):
    """What is left of a version whose environment was deleted, while its value was elsewhere, too.

    A trigger writes it when the environment goes: records of the log tell who met the value there (contract
    5.11). It was in force from `rev` until before `next_rev`. The origin is always given: the version itself
    where it was the first. There are no foreign keys, and no envelopes.
    """

    __tablename__ = "departed_version"
    __table_args__ = ({"sqlite_with_rowid": False},)

    origin_secret_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    origin_version: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    environment_id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    secret_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    version: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    key: Mapped[str] = mapped_column(KeyText)
    rev: Mapped[int] = mapped_column(BigInteger)
    next_rev: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[int] = mapped_column(Millis)
    created_by: Mapped[UUID | None] = mapped_column(Id)
    origin_environment_id: Mapped[UUID] = mapped_column(Id)


class Revision(Base):
    """What a write made of an environment; `changes` are its versions.

    `action` and `reason` are NULL for one that is older than this table, `created_by` for the system.
    `record_id` is that of the audit record, `copied_from` the environment that a copy took from.
    """

    __tablename__ = "revision"
    __table_args__ = (
        Index("ix_revision_created_by", "created_by", "environment_id"),
        partial_index("ix_revision_copied_from", "copied_from IS NOT NULL", "environment_id"),
        {"sqlite_with_rowid": False},
    )

    environment_id: Mapped[UUID] = mapped_column(
        ForeignKey("environment.id", ondelete="CASCADE"), primary_key=True
    )
    rev: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    action: Mapped[str | None] = mapped_column(String(64))
    reason: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(Millis)
    created_by: Mapped[UUID | None] = mapped_column(Id)
    record_id: Mapped[UUID | None] = mapped_column(Id)
    copied_from: Mapped[UUID | None] = mapped_column(Id)


class IdempotentWrite(Base):
    """The first success of a write that its client may send again (contract 8.2), for 24 hours.

    `digest` is of the input, keyed by the master key of `kid`. The changes are those of `rev`, if the write
    `made` it, else there were none.
    """

    __tablename__ = "idempotent_write"
    __table_args__ = (
        Index("ix_idempotent_write_created_at", "created_at"),
        {"sqlite_with_rowid": False},
    )

    environment_id: Mapped[UUID] = mapped_column(
        ForeignKey("environment.id", ondelete="CASCADE"), primary_key=True
    )
    identity_id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    action: Mapped[str] = mapped_column(String(64), primary_key=True)
    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary)
    kid: Mapped[str] = mapped_column(String(16))
    rev: Mapped[int] = mapped_column(BigInteger)
    made: Mapped[bool] = mapped_column(Boolean)
    created_at: Mapped[int] = mapped_column(Millis)


class MasterKey(Base):
    """An adopted master key by its kid; one that is retired seals no more.

    `place` counts from 1, the newest adopted has the highest: of two that are adopted at the same moment only
    one gets it (decision 0025).
    """

    __tablename__ = "master_key"
    __table_args__ = (UniqueConstraint("place"),)

    kid: Mapped[str] = mapped_column(String(16), primary_key=True)
    place: Mapped[int] = mapped_column(BigInteger)
    adopted_at: Mapped[int] = mapped_column(Millis)
    retired_at: Mapped[int | None] = mapped_column(Millis)


class DigestKey(Base):
    """The key of digests that name the master key of `kid`, in an envelope under that of `held_by`."""

    __tablename__ = "digest_key"
    __table_args__ = ({"sqlite_with_rowid": False},)

    kid: Mapped[str] = mapped_column(String(16), primary_key=True)
    held_by: Mapped[str] = mapped_column(String(16), primary_key=True)
    envelope: Mapped[bytes] = mapped_column(LargeBinary)


secret = table_of(Secret)
secret_version = table_of(SecretVersion)
departed_version = table_of(DepartedVersion)
revision = table_of(Revision)
idempotent_write = table_of(IdempotentWrite)
master_key = table_of(MasterKey)
digest_key = table_of(DigestKey)
