"""Counts for RATE_LIMIT, WRITE_LIMIT and IDENTITY_LIMIT, by this process while their storage is down."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from limits import RateLimitItem
from limits.errors import ConfigurationError, StorageError
from limits.storage import MemoryStorage, Storage, storage_from_string
from limits.strategies import FixedWindowRateLimiter

from secretsvc.kernel.actors import Principal
from secretsvc.kernel.errors import RateLimited

log = logging.getLogger(__name__)

#: Seconds that a request waits for the storage.
SECONDS = 0.1
#: Seconds without a request to the storage after it has failed; then one request tries again.
PAUSE_SECONDS = 5.0


class MissingLibraryError(ConfigurationError):
    """A storage whose package is not installed."""


class RateLimiter:
    """Counts in a storage, or in this process alone while that storage is unavailable."""

    def __init__(self, uri: str) -> None:
        """Raises `limits.errors.ConfigurationError` for an unknown storage, or one without its package."""
        self._shared = FixedWindowRateLimiter(_storage(uri))
        self._own = FixedWindowRateLimiter(MemoryStorage())
        self._turning = threading.Lock()
        self._asks_at = 0.0
        self._is_away = False

    def count(self, rate: RateLimitItem, principal: Principal) -> None:
        """Count a request, also a refused one. Raises `RateLimited` above the limit."""
        self._ask(lambda limiter: _count(limiter, rate, principal.kind, principal.subject))

    def take(self, rate: RateLimitItem, cost: int, *whose: str) -> Callable[[], None]:
        """Count `cost`, and return the function that releases it again.

        What would exceed the limit is not counted. Raises `RateLimited`.
        """
        limiter = self._ask(lambda limiter: _take(limiter, rate, cost, *whose))
        return partial(_release, limiter, rate, cost, time.time(), *whose)

    def check(self) -> bool:
        """Return whether the storage answers: one round trip."""
        with suppress(StorageError):
            return bool(self._shared.storage.check())
        return False

    def _ask(self, use: Callable[[FixedWindowRateLimiter], None]) -> FixedWindowRateLimiter:
        """Count, and return the limiter used: the shared one, or this process's own."""
        if self._may_ask():
            try:
                use(self._shared)
            except StorageError as error:
                self._turn(is_away=True, cause=error)
            else:
                self._turn(is_away=False)
                return self._shared
        use(self._own)
        return self._own

    def _may_ask(self) -> bool:
        """Return whether to ask the storage; while it is down, one request does so after each pause."""
        if not self._is_away:
            return True
        with self._turning:
            if time.monotonic() < self._asks_at:
                return False
            self._asks_at = time.monotonic() + PAUSE_SECONDS
            return True

    def _turn(self, *, is_away: bool, cause: StorageError | None = None) -> None:
        if not is_away and not self._is_away:
            return
        with self._turning:
            before, self._is_away = self._is_away, is_away
            self._asks_at = time.monotonic() + PAUSE_SECONDS
        if is_away and not before:
            name = type(cause.storage_error).__name__ if cause else ""
            log.warning("the rate limit's storage is away (%s): this process counts by itself", name)
        elif before and not is_away:
            log.warning("the rate limit's storage is back")


def _count(limiter: FixedWindowRateLimiter, rate: RateLimitItem, *whose: str) -> None:
    if not limiter.hit(rate, *whose):
        raise RateLimited(_wait(limiter, rate, *whose))


def _take(limiter: FixedWindowRateLimiter, rate: RateLimitItem, cost: int, *whose: str) -> None:
    # One atomic round trip where it fits: to ask first and count then would let two pass at once.
    if not limiter.hit(rate, *whose, cost=cost):
        _release(limiter, rate, cost, time.time(), *whose)
        raise RateLimited(_wait(limiter, rate, *whose))


def _release(
    limiter: FixedWindowRateLimiter, rate: RateLimitItem, cost: int, taken_at: float, *whose: str
) -> None:
    """Undo a hit of `taken_at` (epoch seconds); it stays counted while the storage is unavailable.

    A no-op once the window of the hit has ended: the next window would begin below zero.
    """
    with suppress(StorageError):
        ends_at = limiter.get_window_stats(rate, *whose).reset_time
        # Redis rounds the seconds that are left.
        if time.time() < ends_at <= taken_at + rate.get_expiry() + 1:
            limiter.storage.incr(rate.key_for(*whose), rate.get_expiry(), amount=-cost)


def _wait(limiter: FixedWindowRateLimiter, rate: RateLimitItem, *whose: str) -> int:
    """Return the seconds until the window of a count ends, at least 1."""
    return max(1, math.ceil(limiter.get_window_stats(rate, *whose).reset_time - time.time()))


def _storage(uri: str) -> Storage:
    options: dict[str, Any] = {}
    if uri.startswith("redis"):
        try:
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError as error:
            raise MissingLibraryError("the package redis is missing") from error
        limit = {"socket_timeout": SECONDS, "socket_connect_timeout": SECONDS}
        # Each of its own retries would wait as long.
        options = {**limit, "retry": Retry(NoBackoff(), 0)}
    found = storage_from_string(uri, wrap_exceptions=True, **options)
    if not isinstance(found, Storage):
        raise ConfigurationError("a storage for asynchronous programs")
    return found
