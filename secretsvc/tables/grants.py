"""The group, membership and grant tables."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from secretsvc.db.base import Base, Id, Millis, partial_index, table_of


class Group(Base):
    """A group of identities. Membership alone confers nothing."""

    __tablename__ = "group"

    id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    slug: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(Text)
    description: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(Millis)
    updated_at: Mapped[int] = mapped_column(Millis)


class GroupMember(Base):
    """An identity's membership of a group."""

    __tablename__ = "group_member"

    group_id: Mapped[UUID] = mapped_column(ForeignKey("group.id", ondelete="CASCADE"), primary_key=True)
    identity_id: Mapped[UUID] = mapped_column(ForeignKey("identity.id"), primary_key=True, index=True)
    created_at: Mapped[int] = mapped_column(Millis)


def _unique(holder: str, scope_type: str, *columns: str) -> Index:
    """A partial unique index: a plain constraint would admit duplicates wherever a column is NULL."""
    name = f"uq_grant_{holder}_{scope_type}"
    where = f"{holder} IS NOT NULL AND scope_type = '{scope_type}'"
    return partial_index(name, where, holder, *columns, "role", unique=True)


class Grant(Base):
    """A role at a scope, held by an identity or by a group. `created_by` is NULL for the system."""

    __tablename__ = "grant"
    __table_args__ = (
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

    id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    identity_id: Mapped[UUID | None] = mapped_column(ForeignKey("identity.id"), index=True)
    group_id: Mapped[UUID | None] = mapped_column(ForeignKey("group.id", ondelete="CASCADE"), index=True)
    scope_type: Mapped[str] = mapped_column(String(16))
    project_id: Mapped[UUID | None] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"), index=True)
    environment_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("environment.id", ondelete="CASCADE"), index=True
    )
    role: Mapped[str] = mapped_column(String(16))
    expires_at: Mapped[int | None] = mapped_column(Millis)
    created_at: Mapped[int] = mapped_column(Millis)
    created_by: Mapped[UUID | None] = mapped_column(Id)


group = table_of(Group)
group_member = table_of(GroupMember)
grant = table_of(Grant)
