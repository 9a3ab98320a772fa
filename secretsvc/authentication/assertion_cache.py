"""A cache of verified assertions, for as long as verifying them again would give the same result."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Protocol

from secretsvc.authentication.assertions import AssertionVerifier, Keys, Verified

CAPACITY = 4096


class ChangingKeys(Keys, Protocol):
    """Keys that tell when they are no longer those of before."""

    @property
    def generation(self) -> int:
        """Another number when the key set has changed."""


class RememberingVerifier:
    """A verifier that verifies each assertion once, while it is in force and the key set stays the same.

    It knows tokens by their digest alone. Refusals are not remembered, nor what the bearer may do. `leeway`
    is in seconds.
    """

    def __init__(
        self, verifier: AssertionVerifier, keys: ChangingKeys, leeway: float, capacity: int = CAPACITY
    ) -> None:
        self._verifier, self._keys, self._leeway, self._capacity = verifier, keys, leeway, capacity
        # Guards the two fields below; nothing is verified under it.
        self._lock = threading.Lock()
        self._generation: int | None = None
        self._genuine: OrderedDict[bytes, Verified] = OrderedDict()

    def verify(self, token: str, now: float) -> Verified:
        """As `Verifier.verify`; `now` is in epoch seconds."""
        # Read before the keys are used: should they change meanwhile, the outcome is not kept.
        generation = self._keys.generation
        digest = hashlib.sha256(token.encode()).digest()
        verified = self._recall(digest, generation, now)
        if verified is None:
            verified = self._verifier.verify(token, now)
            self._remember(digest, generation, verified)
        return verified

    def _recall(self, digest: bytes, generation: int, now: float) -> Verified | None:
        with self._lock:
            if generation != self._generation:
                self._generation = generation
                self._genuine.clear()
            verified = self._genuine.get(digest)
            if verified is None:
                return None
            if not verified.holds_at(now, self._leeway):
                del self._genuine[digest]
                return None
            self._genuine.move_to_end(digest)
            return verified

    def _remember(self, digest: bytes, generation: int, verified: Verified) -> None:
        with self._lock:
            if generation != self._generation:
                return
            self._genuine[digest] = verified
            if len(self._genuine) > self._capacity:
                self._genuine.popitem(last=False)
