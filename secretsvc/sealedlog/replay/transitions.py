"""The effect of one record on the rows before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from secretsvc.sealedlog.replay.row_states import SecretState


def revise(held: dict[str, SecretState], detail: Mapping[str, Any]) -> None:
    """Apply a revision to the keys of its environment."""
    for change in detail["changes"]:
        before, is_removed = held.get(change["key"]), change["kind"] == "removed"
        if before is None:
            held[change["key"]] = SecretState(change["version"], is_removed)
        else:
            held[change["key"]] = before._replace(version=change["version"], deleted=is_removed)
    described = detail["descriptions"] or {"kid": None, "digests": {}}
    for key, digest in described["digests"].items():
        if key in held:
            kid = None if digest is None else described["kid"]
            held[key] = held[key]._replace(kid=kid, digest=digest)


def role_and_expiry(grant: Mapping[str, Any]) -> dict[str, Any]:
    """Return the role and the expiry of a grant, by name."""
    return {name: grant[name] for name in ("role", "expires_at")}
