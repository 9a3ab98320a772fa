"""The master keys that this database was told to take: which may seal, and in which order they came."""

from __future__ import annotations

from sqlalchemy import BigInteger, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from secretsvc.db.base import Base, Millis, table_of


class MasterKey(Base):
    """An adopted master key by its kid; one that is retired seals no more.

    `place` counts from 1, the newest adopted has the highest: of two that are adopted at the same moment only
    one gets it (decision 0028).
    """

    __tablename__ = "master_key"
    __table_args__ = (UniqueConstraint("place"),)

    kid: Mapped[str] = mapped_column(String(16), primary_key=True)
    place: Mapped[int] = mapped_column(BigInteger)
    adopted_at: Mapped[int] = mapped_column(Millis)
    retired_at: Mapped[int | None] = mapped_column(Millis)


master_key = table_of(MasterKey)
