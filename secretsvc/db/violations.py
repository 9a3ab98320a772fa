"""Which constraint a database refused a write by, said the same for both databases."""

from __future__ import annotations

from enum import Enum

from sqlalchemy.exc import DBAPIError


class Violation(Enum):
    """What stood in the way of a write."""

    UNIQUE = "unique"
    FOREIGN_KEY = "foreign key"
    SERIALIZATION = "serialization"


_BY_CODE = {
    "23505": Violation.UNIQUE,
    "23503": Violation.FOREIGN_KEY,
    "40001": Violation.SERIALIZATION,
    "40P01": Violation.SERIALIZATION,
    "SQLITE_CONSTRAINT_UNIQUE": Violation.UNIQUE,
    "SQLITE_CONSTRAINT_PRIMARYKEY": Violation.UNIQUE,
    "SQLITE_CONSTRAINT_FOREIGNKEY": Violation.FOREIGN_KEY,
}


def violation(error: DBAPIError) -> Violation | None:
    """The violation behind an error of the driver, None for any other trouble."""
    original = error.orig
    code = getattr(original, "sqlstate", None) or getattr(original, "sqlite_errorname", None)
    return _BY_CODE.get(code or "")
