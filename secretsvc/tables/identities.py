"""The identity table: everyone who ever came with a valid assertion."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Boolean, CheckConstraint, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from secretsvc.db.base import Base, Id, Millis, table_of


class Identity(Base):
    """One user or service token; unique by kind and subject, so that no token can pose as a person."""

    __tablename__ = "identity"
    __table_args__ = (
        UniqueConstraint("kind", "subject"),
        CheckConstraint("kind IN ('user', 'service')", name="kind"),
        {"postgresql_with": {"fillfactor": 70}},
    )

    id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    kind: Mapped[str] = mapped_column(String(16))
    subject: Mapped[str] = mapped_column(Text)
    display_name: Mapped[str | None] = mapped_column(Text)
    disabled: Mapped[bool] = mapped_column(Boolean)
    created_at: Mapped[int] = mapped_column(Millis)
    last_seen_at: Mapped[int] = mapped_column(Millis)


identity = table_of(Identity)
