"""The table. It lies in the database of secretsvc, so its name begins with the package's."""

from uuid import UUID

from sqlalchemy import ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from secretsvc.db.base import Base, Id, Millis


class Note(Base):
    __tablename__ = "acme_note"

    id: Mapped[UUID] = mapped_column(Id, primary_key=True)
    environment_id: Mapped[UUID] = mapped_column(ForeignKey("environment.id", ondelete="CASCADE"))
    text: Mapped[str] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(Millis)
