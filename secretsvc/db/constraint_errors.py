"""Which constraint a database refused a write by, said the same for both databases."""

from __future__ import annotations

from sqlalchemy.exc import DBAPIError

_UNIQUE = {"23505", "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}
_FOREIGN_KEY = {"23503", "SQLITE_CONSTRAINT_FOREIGNKEY"}
_SERIALIZATION = {"40001", "40P01"}


def is_duplicate(error: DBAPIError) -> bool:
    """Whether a unique index holds the like of what was written."""
    return _code(error) in _UNIQUE


def is_orphan(error: DBAPIError) -> bool:
    """Whether a row that it refers to is gone."""
    return _code(error) in _FOREIGN_KEY


def is_race(error: DBAPIError) -> bool:
    """Whether another write got there first."""
    return _code(error) in _UNIQUE | _FOREIGN_KEY | _SERIALIZATION


def _code(error: DBAPIError) -> str | None:
    original = error.orig
    return getattr(original, "sqlstate", None) or getattr(original, "sqlite_errorname", None)
