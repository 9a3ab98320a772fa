"""The audit table: append-only, in the database itself (contract 3.13, 4.14); and the tally of denials.

They have no foreign keys, because a record outlives what it tells of.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ColumnElement, Index, String, Text, literal_column
from sqlalchemy.orm import Mapped, mapped_column

from secretsvc.db.base import Base, Id, KeyText, Millis, partial_index, table_of

#: The same as a denial, in words by which PostgreSQL does not take the index of all denials.
NO_SUCCESS = "outcome <> 'success'"


class AuditRecord(Base):
    """One mutation, read of a value, or denial. `detail` is JSON text of names and numbers.

    `key` is set where values were given: the secret's, or one of `WHOLE`, `OLDER`, `COPIED`. `given` tells
    what was: a version of that key, or a revision of the environment.
    """

    __tablename__ = "audit_record"

    id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    created_at: Mapped[int] = mapped_column(Millis)
    action: Mapped[str] = mapped_column(String(64))
    outcome: Mapped[str] = mapped_column(String(16))
    identity_id: Mapped[UUID | None] = mapped_column(Id)
    actor_kind: Mapped[str | None] = mapped_column(String(16))
    actor_subject: Mapped[str] = mapped_column(Text)
    project_id: Mapped[UUID | None] = mapped_column(Id)
    environment_id: Mapped[UUID | None] = mapped_column(Id)
    request_id: Mapped[str] = mapped_column(String(64))
    #: Where the request came from, if a proxy is trusted to say so.
    client_address: Mapped[str | None] = mapped_column(String(45))
    reason: Mapped[str | None] = mapped_column(Text)
    detail: Mapped[str | None] = mapped_column(Text)
    key: Mapped[str | None] = mapped_column(KeyText)
    given: Mapped[int | None] = mapped_column(BigInteger)

    __table_args__ = (
        CheckConstraint("outcome IN ('success', 'denied')", name="outcome"),
        Index("ix_audit_record_project_id", "project_id", "id"),
        Index("ix_audit_record_environment_id", "environment_id", "id"),
        Index("ix_audit_record_actor_subject", "actor_subject", "id"),
        Index("ix_audit_record_action", "action", "id"),
        partial_index("ix_audit_record_denied", "outcome = 'denied'", "id"),
        # What two filters have in common can be nothing, however much each of them finds by itself.
        Index("ix_audit_record_project_id_actor_subject", "project_id", "actor_subject", "id"),
        Index("ix_audit_record_environment_id_actor_subject", "environment_id", "actor_subject", "id"),
        Index("ix_audit_record_project_id_action", "project_id", "action", "id"),
        Index("ix_audit_record_environment_id_action", "environment_id", "action", "id"),
        Index("ix_audit_record_actor_subject_action", "actor_subject", "action", "id"),
        *(
            partial_index(f"ix_audit_record_{one}_denied", NO_SUCCESS, one, "id")
            for one in ("project_id", "environment_id", "actor_subject", "action")
        ),
        partial_index("ix_audit_record_key", "key IS NOT NULL", "environment_id", "key", "id"),
        # All that exposure asks for (contract 5.11), so that no record needs to be looked up.
        partial_index(
            "ix_audit_record_given",
            "given IS NOT NULL",
            "identity_id",
            "environment_id",
            "key",
            "given",
            "created_at",
        ),
        # Without a rowid there is one key to clash with, which the append-only trigger can watch.
        {"sqlite_with_rowid": False},
    )


class AuditKey(Base):
    """A key that a record tells of which tells of several: those that a copy took, or that were described.

    `given` is the version that was given, NULL where none was; the rest is of the record. Append-only, too.
    """

    __tablename__ = "audit_key"

    record_id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    key: Mapped[str] = mapped_column(KeyText, primary_key=True)
    environment_id: Mapped[UUID] = mapped_column(Id)
    identity_id: Mapped[UUID | None] = mapped_column(Id)
    given: Mapped[int | None] = mapped_column(BigInteger)
    created_at: Mapped[int] = mapped_column(Millis)

    __table_args__ = (
        # One for both questions: a copy of 500 keys writes as many entries into it, each at another position.
        Index("ix_audit_key_environment_id", "environment_id", "key", "identity_id", "given", "created_at"),
        {"sqlite_with_rowid": False},
    )


class DenialTally(Base):
    """How often an identity was denied at a scope; times in epoch milliseconds.

    `scope_id` is that of an environment or a project, or `EVERYWHERE`. Under `REFUSALS` are all refusals of
    an identity, those of absent things too, so it is nobody's to read (contract 3.10).
    """

    __tablename__ = "denial_tally"

    identity_id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    scope_id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    denials: Mapped[int] = mapped_column(BigInteger)
    first_denied_at: Mapped[int] = mapped_column(Millis)
    last_denied_at: Mapped[int] = mapped_column(Millis)

    __table_args__ = ({"sqlite_with_rowid": False, "postgresql_with": {"fillfactor": 70}},)


audit_record = table_of(AuditRecord)
audit_key = table_of(AuditKey)
denial_tally = table_of(DenialTally)

#: Instead of a key, which is never empty and has letters, digits and `_`: every value of an environment as
#: it was at the time, as it had been at an older revision, and as a copy took it. Of one identity the
#: revisions of the first never fall, so that the newest is the last.
WHOLE, OLDER, COPIED = "", "@", "+"
#: Of a denial at global scope.
EVERYWHERE = UUID(int=0)
#: Of no scope: see `DenialTally`.
REFUSALS = UUID(int=2**128 - 1)


def is_no_success() -> ColumnElement[bool]:
    """Spelled out as the partial indexes of `NO_SUCCESS` have it, as below."""
    return audit_record.c.outcome != literal_column("'success'")


def is_denied() -> ColumnElement[bool]:
    """Spelled out as the partial index has it, so that it will do for a plan made before values are known."""
    return audit_record.c.outcome == literal_column("'denied'")
