"""Identifiers: UUIDv7, so that ids are in the order of time."""

from __future__ import annotations

from uuid import UUID

import uuid_utils.compat


def new_id() -> UUID:
    """A fresh UUIDv7; later ones of one process sort after earlier ones."""
    return uuid_utils.compat.uuid7()


def earliest_id(at: int) -> UUID:
    """The smallest UUIDv7 of a time in epoch milliseconds, which is cut to what an id can hold."""
    return UUID(int=min(max(at, 0), 2**48 - 1) << 80 | 7 << 76 | 2 << 62)


def read_id(text: object) -> UUID | None:
    """The UUID that a text spells in its one canonical form, else None."""
    if not isinstance(text, str) or len(text) != 36:
        return None
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if str(found) == text else None
