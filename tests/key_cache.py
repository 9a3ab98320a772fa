"""A key cache under a clock that stands still, and what a look-up in it comes to."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from secretsvc.authentication.jwks import KeyCache
from secretsvc.kernel.errors import IdentityProviderUnavailable, Unauthenticated

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
    return KeyCache(url, ALGORITHMS, options.pop("cooldown", COOLDOWN), clock=clock, **options)


def outcome(keys: KeyCache, kid: str, alg: str = "RS256") -> str:
    try:
        keys.find(kid, alg)
    except (Unauthenticated, IdentityProviderUnavailable) as error:
        return error.code
    return "found"


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 3
    while not holds() and time.monotonic() < until:
        time.sleep(0.005)
    return holds()
