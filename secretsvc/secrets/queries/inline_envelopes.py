"""Envelopes that are short enough to be read along with their keys, where they may be opened later."""

from __future__ import annotations

from sqlalchemy import ColumnElement, case, literal_column

from secretsvc.db.types import Expression
from secretsvc.secrets.queries.rows import length_of

#: The most bytes of a short one.
SHORT = 2**10


def short_of(envelope: Expression, dialect_name: str) -> Expression:
    """The envelope if it is short, else None."""
    return case((is_short(envelope, dialect_name), envelope))


def is_short(envelope: Expression, dialect_name: str) -> ColumnElement[bool]:
    """Whether it is; NULL of one that is missing."""
    return length_of(envelope, dialect_name) <= literal_column(str(SHORT))
