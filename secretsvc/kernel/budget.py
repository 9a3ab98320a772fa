"""How much plaintext a process may hold at once: in bytes, for all of its requests and for one identity.

What is opened one value at a time and dropped is not counted; what a request keeps until its answer has
left is, from before it is opened (decision 0026).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from uuid import UUID

from secretsvc.kernel.errors import Unavailable

#: One identity may hold one part in so many of the bound.
SHARES = 4
RETRY_SECONDS = 5
_TOO_LARGE = "It is more than this service ever gives at once: its operator can raise PLAINTEXT_MAX_BYTES."


class PlaintextBudget:
    """The bytes that requests hold together, never more than `bound()` unless forced. For all threads."""

    def __init__(self, bound: Callable[[], int]) -> None:
        self._bound = bound
        self._lock = threading.Lock()
        self._shares: dict[UUID | None, int] = {}
        self._total = 0

    @property
    def held(self) -> int:
        """The bytes that are held at the moment."""
        return self._total

    def admission(self, identity_id: UUID | None) -> PlaintextReservation:
        """What one request of that identity holds: nothing yet."""
        return PlaintextReservation(self, identity_id)

    def take(self, admission: PlaintextReservation, size: int, *, forced: bool) -> None:
        """For `IdentityAdmission`. Raises `Unavailable` or `ServerMisconfigured`; then nothing is taken."""
        bound = self._bound()
        with self._lock:
            share = self._shares.get(admission.identity_id, 0) + size
            fits = self._total + size <= bound and share <= bound // SHARES
            if not (fits or forced):
                alone = admission.held + size > bound // SHARES
                raise Unavailable(RETRY_SECONDS, hint=_TOO_LARGE if alone else None)
            self._add(admission, size)

    def give_back(self, admission: PlaintextReservation) -> None:
        """For `IdentityAdmission`."""
        with self._lock:
            self._add(admission, -admission.held)

    def _add(self, admission: PlaintextReservation, size: int) -> None:
        admission.held += size
        self._total += size
        share = self._shares.pop(admission.identity_id, 0) + size
        if share:
            self._shares[admission.identity_id] = share


class PlaintextReservation:
    """What a request holds of the budget, in bytes, until it is released."""

    def __init__(self, budget: PlaintextBudget, identity_id: UUID | None) -> None:
        self._budget = budget
        self.identity_id = identity_id
        self.held = 0

    def grow(self, size: int) -> None:
        """Holds so many bytes more. Raises `Unavailable` or `ServerMisconfigured`."""
        if size:
            self._budget.take(self, size, forced=False)

    def reach(self, size: int, *, forced: bool = False) -> None:
        """Holds at least so many bytes, even over the bound if that is forced. Else raises as `grow`."""
        if size > self.held:
            self._budget.take(self, size - self.held, forced=forced)

    def release(self) -> None:
        """Gives everything back; a no-op where nothing is held."""
        self._budget.give_back(self)
