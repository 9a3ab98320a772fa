"""The project and environment tables."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, Boolean, ForeignKey, String, Text, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from secretsvc.db.base import Base, Id, Millis, table_of


class Project(Base):
    """A project; deleting its row takes along all that hangs below it."""

    __tablename__ = "project"

    id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    slug: Mapped[str] = mapped_column(String(64), unique=True)
    name: Mapped[str] = mapped_column(Text)
    description: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(Millis)
    updated_at: Mapped[int] = mapped_column(Millis)


class Environment(Base):
    """An environment; its slug is unique within its project, which never changes."""

    __tablename__ = "environment"
    __table_args__ = (
        UniqueConstraint("project_id", "slug"),
        {"postgresql_with": {"fillfactor": 70}},
    )

    id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    project_id: Mapped[UUID] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    slug: Mapped[str] = mapped_column(String(64))
    name: Mapped[str] = mapped_column(Text)
    description: Mapped[str | None] = mapped_column(Text)
    rev: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[int] = mapped_column(Millis)
    updated_at: Mapped[int] = mapped_column(Millis)
    protected: Mapped[bool] = mapped_column(Boolean, server_default=false())


project = table_of(Project)
environment = table_of(Environment)
