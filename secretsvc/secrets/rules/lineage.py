"""Where values come from: the version that first had what a rollback, restore, rename or copy writes."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from secretsvc.secrets.models import secret_version
from secretsvc.secrets.rules.planning import Origin

#: The columns of a version's origin, as they are stored.
ORIGIN = [secret_version.c[name] for name in Origin._fields]


def origin_of(environment_id: UUID, secret_id: int, version: int, stored: Any) -> Origin:
    """The origin of a version, which is the version itself where none is stored."""
    _, stored_id, _ = stored
    return Origin(environment_id, secret_id, version) if stored_id is None else Origin._make(stored)
