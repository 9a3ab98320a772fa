"""Authentication: from a WSGI environ to a principal that has not asked too often."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from limits.errors import ConfigurationError
from limits.storage import storage_from_string
from limits.strategies import FixedWindowRateLimiter, RateLimiter

from secretsvc.authentication.assertions import Refused, Verifier, read_assertion
from secretsvc.authentication.jwks import KeyCache
from secretsvc.authentication.remembering import RememberingVerifier
from secretsvc.authentication.unverified import unverified_facts
from secretsvc.kernel.actors import Principal
from secretsvc.kernel.errors import RateLimited, ServerMisconfigured
from secretsvc.kernel.refusals import Refusals
from secretsvc.kernel.settings import Settings


class Authenticator:
    """Verifies assertions under one set of settings; what it needs is made at the first use."""

    def __init__(self, settings: Settings, refusals: Refusals) -> None:
        self.settings, self.refusals = settings, refusals

    def authenticate(self, environ: Mapping[str, Any], now: int, request_id: str) -> Principal:
        """The principal that the assertion proves; `now` in epoch milliseconds.

        Raises `Unauthenticated`, which is noted with its reason, `IdentityProviderUnavailable`,
        `RateLimited` or `ServerMisconfigured`.
        """
        token = ""
        try:
            token = read_assertion(environ, self.settings.access_header, self.settings.access_cookie)
            principal = self._verifier.verify(token, now / 1000).principal
        except Refused as refusal:
            self.refusals.note(refusal.reason, request_id, lambda: unverified_facts(token))
            raise
        self._count(principal)
        return principal

    @cached_property
    def keys(self) -> KeyCache:
        """The access proxy's keys. Raises `ServerMisconfigured`."""
        settings = self.settings
        return KeyCache(settings.access_jwks_url, settings.access_algorithms, settings.access_jwks_cooldown)

    def is_counting(self) -> bool:
        """Whether the rate limit's storage answers; asks it. Raises `ServerMisconfigured`."""
        return self.settings.rate_limit is None or bool(self._limiter.storage.check())

    @cached_property
    def _verifier(self) -> RememberingVerifier:
        settings = self.settings
        verifier = Verifier(
            self.keys,
            settings.access_issuer,
            settings.access_audience,
            settings.access_algorithms,
            settings.access_leeway,
        )
        return RememberingVerifier(verifier, self.keys, settings.access_leeway)

    @cached_property
    def _limiter(self) -> RateLimiter:
        try:
            storage = storage_from_string(self.settings.rate_limit_storage)
        except ConfigurationError:
            self.settings.complain("setting RATE_LIMIT_STORAGE is malformed, or its library is missing")
            raise ServerMisconfigured() from None
        return FixedWindowRateLimiter(storage)

    def _count(self, principal: Principal) -> None:
        rate = self.settings.rate_limit
        if rate is None or self._limiter.hit(rate, principal.kind, principal.subject):
            return
        window = self._limiter.get_window_stats(rate, principal.kind, principal.subject)
        raise RateLimited(max(1, math.ceil(window.reset_time - time.time())))
