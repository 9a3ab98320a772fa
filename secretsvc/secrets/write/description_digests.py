"""Descriptions as the log tells of them: by keyed digests, which show a change and nothing of the text.

The key is derived from a master key, which the record names: to write a record takes no statement. When
another master key is adopted, the derived key is kept under that one.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from uuid import UUID

from secretsvc.kernel.use_case import UseCaseContext
from secretsvc.secrets.queries.key_rows import KeyRow
from secretsvc.secrets.queries.plan import REMOVED, Plan, PlannedChange, description_after
from secretsvc.secrets.write.sealing import DIGESTS

#: Bytes of a digest.
DIGEST_BYTES = 16


def description_digest(key: bytes, environment_id: UUID, name: str, description: str | None) -> str | None:
    """The digest of the description of one key of an environment, in hexadecimal; None of none."""
    if description is None:
        return None
    # No name holds a NUL.
    text = environment_id.bytes + name.encode() + b"\0" + description.encode()
    return hmac.digest(key, text, "sha256")[:DIGEST_BYTES].hex()


def description_changes(
    call: UseCaseContext,
    environment_id: UUID,
    plan: Plan,
    known: Mapping[str, KeyRow],
    changes: Iterable[PlannedChange],
    described: Iterable[str],
) -> dict[str, object]:
    """What a write's record says of descriptions: their digests by key where one changes, otherwise nothing.

    A key that comes back changes it from what it was when the key was removed.
    """
    given: dict[str, str | None] = {key: plan.descriptions[key] for key in described}
    for change in changes:
        before = known.get(change.key)
        description = description_after(plan, change, before)
        if change.kind != REMOVED and description != (None if before is None else before.description):
            given[change.key] = description
    return {"descriptions": _digests(call, environment_id, given)} if given else {}


def _digests(
    call: UseCaseContext, environment_id: UUID, given: Mapping[str, str | None]
) -> dict[str, object]:
    if not any(description is not None for description in given.values()):
        return {"kid": None, "digests": dict(sorted(given.items()))}
    kid = call.ring.active_kid
    key = call.ring.subkey(DIGESTS, kid=kid)
    digests = {name: description_digest(key, environment_id, name, given[name]) for name in sorted(given)}
    return {"kid": kid, "digests": digests}
