"""Identifiers: UUIDv7, so that an id is also its row's place in time."""

from __future__ import annotations

from uuid import UUID

import uuid_utils.compat


def new_id() -> UUID:
    """A fresh UUIDv7; later ones of one process sort after earlier ones."""
    return uuid_utils.compat.uuid7()
