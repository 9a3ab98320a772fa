"""The project and environment tables."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, String, Table, Text, UniqueConstraint, false

from secretsvc.db.base import METADATA, Id, Millis, named_columns

#: A project; deleting its row takes along all that hangs below it.
project = Table("project", METADATA, *named_columns())

#: An environment; its slug is unique within its project, which never changes.
environment = Table(
    "environment",
    METADATA,
    Column("id", Id, primary_key=True),
    Column("project_id", ForeignKey("project.id", ondelete="CASCADE"), nullable=False),
    Column("slug", String(64), nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("rev", BigInteger, nullable=False),
    Column("created_at", Millis, nullable=False),
    Column("updated_at", Millis, nullable=False),
    Column("protected", Boolean, server_default=false(), nullable=False),
    UniqueConstraint("project_id", "slug"),
    postgresql_with={"fillfactor": 70},
)
