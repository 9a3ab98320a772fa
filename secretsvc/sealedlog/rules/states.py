"""A state of the tables as a replay holds it, and its JSON: what is signed and kept."""

from __future__ import annotations

from typing import Any, Self

import orjson

from secretsvc.sealedlog.rules.details import WriteDetail
from secretsvc.sealedlog.rules.histories import History
from secretsvc.sealedlog.rules.replay_state import (
    EnvironmentState,
    GrantState,
    IdentityState,
    SecretState,
    Tally,
    TokenState,
    lists,
    tuples,
)
from secretsvc.transparency.canonical_json import canonical

#: Of the JSON; another field makes another number.
VERSION = 2
#: The JSON of earlier releases: without histories, tokens and tallies.
WITHOUT_HISTORIES = 1
VERSIONS = (VERSION, WITHOUT_HISTORIES)


class Contents:
    """What the tables hold if nobody changed them beside the service. All ids are texts."""

    def __init__(self) -> None:
        self.identities: dict[str, IdentityState] = {}
        self.groups: dict[str, str] = {}
        self.members: dict[str, set[str]] = {}
        self.projects: dict[str, str] = {}
        self.environments: dict[str, EnvironmentState] = {}
        self.grants: dict[str, GrantState] = {}
        #: By environment, then by key; deleted ones too.
        self.secrets: dict[str, dict[str, SecretState]] = {}
        self.tokens: dict[str, TokenState] = {}
        #: By identity, then by scope.
        self.tallies: dict[str, dict[str, Tally]] = {}
        #: Whether tokens and tallies from before are unknown: a state of an earlier release has led here.
        self.is_partial = False
        #: By environment; those without a write have none.
        self.histories: dict[str, History] = {}
        #: Writes that came before their environment, or the revision before theirs: by both.
        self.waiting: dict[str, dict[int, WriteDetail]] = {}
        #: What was removed before it came, by its id: groups, members, projects, environments and grants.
        self.removed: set[str] = set()
        #: What was changed before it came, by its id: its fields as they are then.
        self.changed: dict[str, dict[str, Any]] = {}
        #: Records that are in here already, and will yet be met: they were not sealed when it was made.
        self.applied: set[str] = set()

    def to_json(self) -> bytes:
        """Canonical JSON, equal for equal states."""
        return canonical(
            {
                "v": VERSION,
                "identities": lists(self.identities),
                "groups": self.groups,
                "members": {one: sorted(held, key=str) for one, held in self.members.items() if held},
                "projects": self.projects,
                "environments": lists(self.environments),
                "grants": lists(self.grants),
                "secrets": {one: lists(held) for one, held in self.secrets.items() if held},
                "tokens": lists(self.tokens),
                "tallies": {one: lists(held) for one, held in self.tallies.items()},
                "is_partial": self.is_partial,
                "histories": {one: held.to_lists() for one, held in self.histories.items()},
                "waiting": {one: [held[rev] for rev in sorted(held)] for one, held in self.waiting.items()},
                "removed": sorted(self.removed, key=str),
                "changed": self.changed,
                "applied": sorted(self.applied),
            }
        )

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """Raises ValueError for what is no state, or one of another version."""
        try:
            found = orjson.loads(content)
            if found["v"] not in VERSIONS:
                raise ValueError("a state of another version")
            state = cls()
            state.identities = tuples(IdentityState, found["identities"])
            state.groups, state.projects = dict(found["groups"]), dict(found["projects"])
            state.members = {one: set(held) for one, held in found["members"].items()}
            state.environments = tuples(EnvironmentState, found["environments"])
            state.grants = tuples(GrantState, found["grants"])
            state.secrets = {one: tuples(SecretState, held) for one, held in found["secrets"].items()}
            state.waiting = {
                one: {detail["rev"]: detail for detail in held} for one, held in found["waiting"].items()
            }
            if found["v"] == WITHOUT_HISTORIES:
                state.histories, state.is_partial = _unknown_histories(state), True
            else:
                state.histories = {one: History.from_lists(held) for one, held in found["histories"].items()}
                state.tokens, state.is_partial = tuples(TokenState, found["tokens"]), found["is_partial"]
                state.tallies = {one: tuples(Tally, held) for one, held in found["tallies"].items()}
            state.removed, state.changed = set(found["removed"]), dict(found.get("changed", {}))
            state.applied = set(found["applied"])
        except (AttributeError, KeyError, TypeError):
            raise ValueError("not a state") from None
        return state


def _unknown_histories(state: Contents) -> dict[str, History]:
    """Return those of a state of an earlier release: it knows nothing of what has led to it, or waits."""
    since = {one: held.rev for one, held in state.environments.items() if held.rev}
    since.update({one: max(waiting) for one, waiting in state.waiting.items() if waiting})
    return {one: History(rev) for one, rev in since.items()}
