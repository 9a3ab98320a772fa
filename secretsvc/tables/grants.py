"""The group, membership and grant tables."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, String, Table

from secretsvc.db.base import METADATA, Id, Millis, named_columns, partial_index

#: A group of identities. Membership alone confers nothing.
group = Table("group", METADATA, *named_columns())

#: An identity's membership of a group.
group_member = Table(
    "group_member",
    METADATA,
    Column("group_id", ForeignKey("group.id", ondelete="CASCADE"), primary_key=True),
    Column("identity_id", ForeignKey("identity.id"), primary_key=True, index=True),
    Column("created_at", Millis, nullable=False),
)


def _unique(holder: str, scope_type: str, *columns: str) -> Index:
    """A partial unique index: a plain constraint would admit duplicates wherever a column is NULL."""
    name = f"uq_grant_{holder}_{scope_type}"
    where = f"{holder} IS NOT NULL AND scope_type = '{scope_type}'"
    return partial_index(name, where, holder, *columns, "role", unique=True)


#: A role at a scope, held by an identity or by a group. `created_by` is NULL for the system.
grant = Table(
    "grant",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("identity_id", ForeignKey("identity.id"), index=True),
    Column("group_id", ForeignKey("group.id", ondelete="CASCADE"), index=True),
    Column("scope_type", String(16), nullable=False),
    Column("project_id", ForeignKey("project.id", ondelete="CASCADE"), index=True),
    Column("environment_id", ForeignKey("environment.id", ondelete="CASCADE"), index=True),
    Column("role", String(16), nullable=False),
    Column("expires_at", Millis),
    Column("created_at", Millis, nullable=False),
    Column("created_by", Id),
    CheckConstraint("(identity_id IS NULL) <> (group_id IS NULL)", name="holder"),
    CheckConstraint(
        "(scope_type = 'global' AND project_id IS NULL AND environment_id IS NULL)"
        " OR (scope_type = 'project' AND project_id IS NOT NULL AND environment_id IS NULL)"
        " OR (scope_type = 'environment' AND project_id IS NOT NULL AND environment_id IS NOT NULL)",
        name="scope",
    ),
    CheckConstraint("role IN ('reader', 'writer', 'admin')", name="role"),
    _unique("identity_id", "global"),
    _unique("identity_id", "project", "project_id"),
    _unique("identity_id", "environment", "environment_id"),
    _unique("group_id", "global"),
    _unique("group_id", "project", "project_id"),
    _unique("group_id", "environment", "environment_id"),
    # Whether any usable global admin is left is asked at each request.
    partial_index(
        "ix_grant_global_admin",
        "scope_type = 'global' AND role = 'admin'",
        "identity_id",
        "group_id",
    ),
)
