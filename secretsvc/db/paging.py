"""Keyset pages over UUIDv7 ids: no offset, so that nothing is skipped or repeated while rows come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, Connection

from secretsvc.db.types import Query
from secretsvc.kernel.schema_annotations import Cursor

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Window:
    """A page of a list: at most `limit` items after the cursor; without a limit, all of them."""

    limit: int | None = None
    cursor: UUID | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items, and the cursor of the next page if there is one."""

    items: list[T]
    next_cursor: Cursor | None


def page_of(
    connection: Connection,
    statement: Query,
    key: ColumnElement[UUID],
    window: Window,
    make: Callable[..., T],
) -> Page[T]:
    """Runs a statement for one window, in ascending order of the key; `make` takes a row's columns."""
    statement = statement.order_by(key)
    if window.cursor is not None:
        statement = statement.where(key > window.cursor)
    if window.limit is None:
        return Page([make(**row) for row in connection.execute(statement).mappings()], None)
    rows = connection.execute(statement.limit(window.limit + 1)).mappings().all()
    items = [make(**row) for row in rows[: window.limit]]
    more = len(rows) > window.limit
    return Page(items, str(rows[window.limit - 1]["id"]) if more else None)
