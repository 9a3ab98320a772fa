"""A key cache under a clock that stands still, and what a look-up in it comes to."""

from __future__ import annotations

from typing import Any

from waiting import PATIENCE

from secretsvc.authentication.jwks import KeyCache
from secretsvc.kernel.errors import IdentityProviderUnavailable, ServerMisconfigured, Unauthenticated

ALGORITHMS = ("RS256", "ES256")
COOLDOWN = 30


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def cache(url: str, clock: Clock, **options: Any) -> KeyCache:
    """With the patience of a busy machine; `deadline` is for tests of the deadline."""
    usual = {"deadline": PATIENCE, "cooldown": COOLDOWN, "clock": clock}
    return KeyCache(url, ALGORITHMS, **{**usual, **options})


def outcome(keys: KeyCache, kid: str, alg: str = "RS256") -> str:
    try:
        keys.find(kid, alg)
    except (Unauthenticated, IdentityProviderUnavailable, ServerMisconfigured) as error:
        return error.code
    return "found"
