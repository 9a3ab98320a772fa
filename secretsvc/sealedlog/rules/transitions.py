"""What one change makes of what was there before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from secretsvc.sealedlog.rules.replay_state import GrantState, SecretState

#: The terms of a grant before a change and after it, by name.
Step = list[dict[str, Any]]


def revise(held: dict[str, SecretState], detail: Mapping[str, Any]) -> None:
    """What a revision makes of an environment's keys."""
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


def terms_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """Role and end of a grant."""
    return {name: told[name] for name in ("role", "expires_at")}


def apply_pending_changes(found: GrantState, steps: list[Step]) -> GrantState:
    """A grant after each change whose turn has come; those leave the list.

    What stays begins with other terms: it waits for the change that leads to them, or leads in a circle.
    """
    while (step := next((one for one in steps if one[0] == terms_of(found._asdict())), None)) is not None:
        steps.remove(step)
        found = found._replace(**step[1])
    return found
