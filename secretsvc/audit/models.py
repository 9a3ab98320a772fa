"""The audit table: append-only, in the database itself (contract 3.13, 4.14); and the tally of denials.

They have no foreign keys, because a record outlives what it tells of.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Index,
    String,
    Table,
    Text,
    literal_column,
)

from secretsvc.db.base import METADATA, Id, KeyText, Millis, partial_index

#: The same as a denial, in words by which PostgreSQL does not take the index of all denials.
NO_SUCCESS = "outcome <> 'success'"

#: One mutation, read of a value, or denial. `detail` is JSON text of names and numbers.
#:
#: `key` is set where values were disclosed: the secret's key, or `FULL_EXPORT`, `PAST_EXPORT` or `FULL_COPY`.
#: `given` is the version of that key, or the revision of the environment.
audit_record = Table(
    "audit_record",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("created_at", Millis, nullable=False),
    Column("action", String(64), nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("identity_id", Id),
    Column("actor_kind", String(16)),
    Column("actor_subject", Text, nullable=False),
    Column("project_id", Id),
    Column("environment_id", Id),
    Column("request_id", String(64), nullable=False),
    # Where the request came from, if a proxy is trusted to say so.
    Column("client_address", String(45)),
    Column("reason", Text),
    Column("detail", Text),
    Column("key", KeyText),
    Column("given", BigInteger),
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
    sqlite_with_rowid=False,
)

#: A key that a record tells of which tells of several: those that a copy took, or that were described.
#:
#: `given` is the version that was given, NULL where none was; the rest is of the record. Append-only, too.
audit_key = Table(
    "audit_key",
    METADATA,
    Column("record_id", Id, primary_key=True),
    Column("key", KeyText, primary_key=True),
    Column("environment_id", Id, nullable=False),
    Column("identity_id", Id),
    Column("given", BigInteger),
    Column("created_at", Millis, nullable=False),
    # One for both questions: a copy of 500 keys writes as many entries into it, each at another position.
    Index("ix_audit_key_environment_id", "environment_id", "key", "identity_id", "given", "created_at"),
    sqlite_with_rowid=False,
)

#: How often an identity was denied at a scope; times in epoch milliseconds.
#:
#: `scope_id` is that of an environment or a project, or `EVERYWHERE`. Under `REFUSALS` are all refusals of
#: an identity, those of absent things too, so it is nobody's to read (contract 3.10).
denial_tally = Table(
    "denial_tally",
    METADATA,
    Column("identity_id", Id, primary_key=True),
    Column("scope_id", Id, primary_key=True),
    Column("denials", BigInteger, nullable=False),
    Column("first_denied_at", Millis, nullable=False),
    Column("last_denied_at", Millis, nullable=False),
    sqlite_with_rowid=False,
    postgresql_with={"fillfactor": 70},
)

#: Instead of a key, which is never empty and has letters, digits and `_`: every value of an environment as
#: it was at the time, as it had been at an older revision, and as a copy took it. Of one identity the
#: revisions of the first never fall, so that the newest is the last.
FULL_EXPORT, PAST_EXPORT, FULL_COPY = "", "@", "+"
#: Of a denial at global scope.
EVERYWHERE = UUID(int=0)
#: Of no scope: see `denial_tally`.
REFUSALS = UUID(int=2**128 - 1)


def is_no_success() -> ColumnElement[bool]:
    """Spelled out as the partial indexes of `NO_SUCCESS` have it, as below."""
    return audit_record.c.outcome != literal_column("'success'")


def is_denied() -> ColumnElement[bool]:
    """Spelled out as the partial index has it, so that it will do for a plan made before values are known."""
    return audit_record.c.outcome == literal_column("'denied'")
