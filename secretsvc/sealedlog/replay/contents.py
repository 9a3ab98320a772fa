"""The state of the tables in a replay, and its JSON, which is signed and kept."""

from __future__ import annotations

from typing import Self

import orjson

from secretsvc.sealedlog.replay.histories import History
from secretsvc.sealedlog.replay.row_states import (
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

#: Version of the JSON. A change of its fields changes the version.
VERSION = 3
#: The JSON without histories, tokens and tallies.
WITHOUT_HISTORIES = 1
VERSIONS = (VERSION, 2, WITHOUT_HISTORIES)
#: Fields of versions 1 and 2 for records that were sealed out of order.
OUT_OF_ORDER = ("waiting", "removed", "changed")


class Contents:
    """The rows of the tables if only the service wrote them. All ids are texts."""

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
        #: Ids of records that a replay skips once: they were not sealed when this state, which includes
        #: their effect, was read.
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
                "applied": sorted(self.applied),
            }
        )

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """Read a state.

        Raises ValueError for anything else, for another version, and for a state in which records wait.
        """
        try:
            found = orjson.loads(content)
            if found["v"] not in VERSIONS:
                raise ValueError("a state of another version")
            if any(found.get(name) for name in OUT_OF_ORDER):
                raise ValueError("a state in which records wait for earlier ones")
            state = cls()
            state.identities = tuples(IdentityState, found["identities"])
            state.groups, state.projects = dict(found["groups"]), dict(found["projects"])
            state.members = {one: set(held) for one, held in found["members"].items()}
            state.environments = tuples(EnvironmentState, found["environments"])
            state.grants = tuples(GrantState, found["grants"])
            state.secrets = {one: tuples(SecretState, held) for one, held in found["secrets"].items()}
            if found["v"] == WITHOUT_HISTORIES:
                state.histories, state.is_partial = _unknown_histories(state), True
            else:
                state.histories = {one: History.from_lists(held) for one, held in found["histories"].items()}
                state.tokens, state.is_partial = tuples(TokenState, found["tokens"]), found["is_partial"]
                state.tallies = {one: tuples(Tally, held) for one, held in found["tallies"].items()}
            state.applied = set(found["applied"])
        except (AttributeError, KeyError, TypeError):
            raise ValueError("not a state") from None
        return state


def _unknown_histories(state: Contents) -> dict[str, History]:
    """Return the histories of a state without any: what led to each revision is unknown."""
    return {one: History(found.rev) for one, found in state.environments.items() if found.rev}
