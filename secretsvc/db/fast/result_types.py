"""What a driver's value becomes in the type of its column."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import Dialect, Uuid

from secretsvc.db.types import ColumnType


def reader_of(kind: ColumnType, dialect: Dialect) -> Callable[[Any], Any] | None:
    """SQLAlchemy's own for that type and database, but for ids that are texts; None where it has none."""
    made = kind.dialect_impl(dialect).result_processor(dialect, None)
    return _read_id if made is not None and isinstance(kind, Uuid) else made


@lru_cache(maxsize=4096)
def _read_id(text: str | None) -> UUID | None:
    """Requests meet the same ids again and again, and to make a UUID takes seven calls."""
    return None if text is None else UUID(text)
