"""Authentication: from a WSGI environ to a principal that has not asked too often, or to a service token."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from limits.errors import ConfigurationError

from secretsvc.authentication.assertion_cache import RememberingVerifier
from secretsvc.authentication.assertions import AssertionVerifier, TokenRejected, read_assertion
from secretsvc.authentication.issuers import Issuers
from secretsvc.authentication.jwks import KeyCache
from secretsvc.authentication.rate_limit import MissingLibraryError, RateLimiter
from secretsvc.authentication.service_tokens import ServiceToken, is_service_token, token_digest
from secretsvc.authentication.unverified_claims import unverified_facts
from secretsvc.authentication.workload_issuers import issuers
from secretsvc.kernel.actors import Principal
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.rejections import Refusals, RejectionReason
from secretsvc.kernel.settings import Settings


class Authenticator:
    """Judges tokens under one set of settings; what it needs is made at the first use."""

    def __init__(self, settings: Settings, refusals: Refusals) -> None:
        self.settings, self.refusals = settings, refusals
        self._workload_keys: list[KeyCache] = []

    def authenticate(
        self, environ: Mapping[str, object], now: int, request_id: str
    ) -> Principal | ServiceToken:
        """What the request's token proves; `now` in epoch milliseconds.

        The database knows the owner of a service token: `resolve_token_owner`. Raises `Unauthenticated`,
        which is noted with its reason, `IdentityProviderUnavailable`, `RateLimited` or
        `ServerMisconfigured`.
        """
        token = ""
        try:
            token = read_assertion(environ, self.settings.access_header, self.settings.access_cookie)
            proven = self._judge(token, now)
        except TokenRejected as refusal:
            self._note(refusal, request_id, token)
            raise
        if isinstance(proven, Principal):
            self._count(proven)
        return proven

    def judge_bearer(self, found: Principal | None, request_id: str) -> Principal:
        """The principal of a service token, None where it is not in force. Raises as `authenticate`."""
        if found is None:
            refusal = TokenRejected(RejectionReason.NOT_IN_FORCE)
            self._note(refusal, request_id, "")
            raise refusal
        self._count(found)
        return found

    def note(self, refusal: TokenRejected, environ: Mapping[str, object], request_id: str) -> None:
        """Logs that a request with a genuine token was refused after all (contract 6.5, 17.5)."""
        token = read_assertion(environ, self.settings.access_header, self.settings.access_cookie)
        self._note(refusal, request_id, token)

    def _judge(self, token: str, now: int) -> Principal | ServiceToken:
        # Without the access proxy's settings nobody is let in (contract 1), whatever they bring.
        issuers = self._issuers
        if not is_service_token(token):
            return issuers.verify(token, now / 1000).principal
        if not self.settings.service_tokens:
            raise TokenRejected(RejectionReason.TOKENS_OFF)
        try:
            return ServiceToken(token_digest(token))
        except ValueError:
            raise TokenRejected(RejectionReason.CHECKSUM) from None

    def _note(self, refusal: TokenRejected, request_id: str, token: str) -> None:
        self.refusals.note(refusal.reason, request_id, lambda: unverified_facts(token), refusal.group)

    @cached_property
    def keys(self) -> KeyCache:
        """The access proxy's keys. Raises `ServerMisconfigured`."""
        settings = self.settings
        return KeyCache(
            settings.access_jwks_url,
            settings.access_algorithms,
            settings.access_jwks_cooldown,
            cache_file=settings.access_jwks_cache,
        )

    def require_settings(self) -> None:
        """Pass if the settings that every request needs here are well-formed.

        Raises `ServerMisconfigured`, or what the storage of the rate limit raises.
        """
        _ = self.settings.access_header, self.settings.access_cookie, self._issuers
        if self.settings.rate_limit is not None:
            _ = self.counter

    @property
    def has_every_issuer(self) -> bool:
        """Whether no workload issuer is left out for its settings. Raises `ServerMisconfigured`."""
        return self._issuers.are_sound

    def is_counting(self) -> bool:
        """Whether the storage of the counts answers, or no limit needs it. Raises `ServerMisconfigured`."""
        settings = self.settings
        limits = (settings.rate_limit, settings.write_limit, settings.identity_limit)
        return not any(limits) or self.counter.check()

    def prepare_keys(self) -> None:
        """Fetches what is due of the keys of every issuer, see `KeyCache.prepare`. Raises as `keys`."""
        self.keys.prepare()
        _ = self._issuers
        for cache in self._workload_keys:
            cache.prepare()

    @cached_property
    def _issuers(self) -> Issuers:
        caches: list[KeyCache] = []
        leeway = self.settings.access_leeway

        def remembering(verifier: AssertionVerifier, keys: KeyCache) -> RememberingVerifier:
            caches.append(keys)
            return RememberingVerifier(verifier, keys, leeway)

        found = Issuers(issuers(self.settings, self.keys, remembering))
        self._workload_keys = caches[1:]
        return found

    @cached_property
    def counter(self) -> RateLimiter:
        """The counts of the limits that RATE_LIMIT_STORAGE keeps. Raises `ServerMisconfigured`."""
        try:
            return RateLimiter(self.settings.rate_limit_storage)
        except MissingLibraryError:
            self.settings.complain("setting RATE_LIMIT_STORAGE needs the package redis, which is missing")
            raise ServerMisconfigured() from None
        except ConfigurationError:
            self.settings.complain("setting RATE_LIMIT_STORAGE is malformed, or its library is missing")
            raise ServerMisconfigured() from None

    def _count(self, principal: Principal) -> None:
        rate = self.settings.rate_limit
        if rate is not None:
            self.counter.count(rate, principal)
