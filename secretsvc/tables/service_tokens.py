"""The table of service tokens, of which it has digests only."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from secretsvc.db.base import Base, Id, Millis, table_of


class ServiceToken(Base):
    """A token of an identity. `created_by` is NULL for the system, `last_used_at` before the first use."""

    __tablename__ = "service_token"
    __table_args__ = ({"postgresql_with": {"fillfactor": 70}},)

    id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    identity_id: Mapped[UUID] = mapped_column(ForeignKey("identity.id"), index=True)
    name: Mapped[str] = mapped_column(Text)
    digest: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    prefix: Mapped[str] = mapped_column(String(8))
    created_at: Mapped[int] = mapped_column(Millis)
    created_by: Mapped[UUID | None] = mapped_column(Id)
    expires_at: Mapped[int] = mapped_column(Millis, index=True)
    last_used_at: Mapped[int | None] = mapped_column(Millis)


service_token = table_of(ServiceToken)
