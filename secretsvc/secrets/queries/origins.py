"""Where values come from: the version that first had what a rollback, restore, rename or copy writes.

A record names an origin by its digest: the version may be in an environment that the reader of the record
has no access to.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from uuid import UUID

from secretsvc.secrets.models import secret_version
from secretsvc.secrets.queries.plan import ValueOrigin

#: Bytes of the digest of an origin.
DIGEST_BYTES = 16
#: The columns of a version's origin, as they are stored.
ORIGIN = [secret_version.c[name] for name in ValueOrigin._fields]


def origin_of(environment_id: UUID, secret_id: int, version: int, stored: Any) -> ValueOrigin:
    """The origin of a version, by a row with the columns of `ORIGIN`; without one, the version itself."""
    if stored.origin_secret_id is None:
        return ValueOrigin(environment_id, secret_id, version)
    return ValueOrigin(stored.origin_environment_id, stored.origin_secret_id, stored.origin_version)


def recorded_origins(origins: Mapping[str, ValueOrigin]) -> dict[str, object]:
    """Return the part of a write's record that has the digest of each origin by key; empty without any."""
    if not origins:
        return {}
    return {"origins": {key: origin_digest(*origins[key]) for key in sorted(origins)}}


def origin_digest(environment_id: UUID | str, secret_id: int, version: int) -> str:
    """Return the digest of an origin, in hexadecimal."""
    return sha256(f"{environment_id}/{secret_id}/{version}".encode()).digest()[:DIGEST_BYTES].hex()
