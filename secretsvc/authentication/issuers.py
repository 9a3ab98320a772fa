"""The issuers whose tokens are accepted, and which of them a token belongs to (contract 6.1, 6.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from secretsvc.authentication.assertions import PROXY_GROUP, TokenRejected, Verified, token_parts
from secretsvc.authentication.jose import segment_object
from secretsvc.kernel.errors import ServerMisconfigured
from secretsvc.kernel.rejections import RejectionReason

# What only the access proxy's assertions have to name their bearer by.
_PROXY_NAMES = ("email", "common_name")


class Verifying(Protocol):
    """A verifier of the tokens of one issuer."""

    def verify(self, token: str, now: float) -> Verified:
        """As `Verifier.verify`."""


@dataclass(frozen=True, slots=True, eq=False)
class Issuer:
    """One issuer by its pairs of `iss` and `aud`, as far as they are known, and what judges its tokens.

    `group` is what the names of its settings begin with. Without a verifier it is misconfigured.
    """

    group: str
    name: str | None
    audiences: frozenset[str] | None
    verifier: Verifying | None

    def fits(self, issuer: str, audiences: frozenset[str]) -> bool:
        """Whether a token of such a pair is its own."""
        return self.may_fit(issuer, audiences) and None not in (self.name, self.audiences)

    def may_fit(self, issuer: str, audiences: frozenset[str]) -> bool:
        """Whether a token of such a pair can be its own, by the settings that are known."""
        known = self.audiences is None or not self.audiences.isdisjoint(audiences)
        return known and self.name in (None, issuer)


def reject_overlapping(issuers: Sequence[Issuer], complain: Callable[[str], None]) -> list[Issuer]:
    """Return the issuers without the verifiers of those that share a pair with another.

    The first is the access proxy. It keeps its verifier: other settings must not lock people out.
    """
    pairs = Counter((one.name, audience) for one in issuers for audience in one.audiences or ())
    found = list(issuers[:1])
    for one in issuers[1:]:
        overlaps = any(pairs[one.name, audience] > 1 for audience in one.audiences or ())
        if overlaps and one.verifier is not None:
            complain(f"another issuer has a pair of settings {one.group}ISSUER and {one.group}AUDIENCE too")
        found.append(replace(one, verifier=None) if overlaps else one)
    return found


class Issuers:
    """Judges each token by the one issuer to which its `iss` and `aud` assign it.

    To be assigned proves nothing: the issuer's own verifier begins from the start.
    """

    def __init__(self, issuers: Sequence[Issuer]) -> None:
        """The first is the access proxy; no two of those with a verifier share a pair."""
        self._issuers = issuers

    @property
    def are_sound(self) -> bool:
        """Whether each of them has a verifier."""
        return all(one.verifier is not None for one in self._issuers)

    def verify(self, token: str, now: float) -> Verified:
        """As `Verifier.verify`. Raises `ServerMisconfigured` for a token of an issuer that is."""
        found = self.assigned(token)
        if found.verifier is None:
            raise ServerMisconfigured()
        try:
            return found.verifier.verify(token, now)
        except TokenRejected as refusal:
            refusal.group = found.group
            raise

    def assigned(self, token: str) -> Issuer:
        """The issuer that a token claims to be of. Raises `TokenRejected` where that is none, or two."""
        if len(self._issuers) == 1:
            return self._issuers[0]
        try:
            claims = segment_object(token_parts(token)[1])
        except (ValueError, RecursionError):
            raise TokenRejected(RejectionReason.MALFORMED) from None
        issuer, audiences = claims.get("iss"), _audiences(claims)
        if not isinstance(issuer, str):
            raise TokenRejected(RejectionReason.ISSUER)
        fitting = [one for one in self._issuers if one.fits(issuer, audiences)]
        if not fitting:
            return self._unassigned(issuer, audiences)
        return self._only(fitting, claims)

    def _unassigned(self, issuer: str, audiences: frozenset[str]) -> Issuer:
        for one in self._issuers:
            # The token can be of an issuer whose pair is not known.
            if one.verifier is None and one.may_fit(issuer, audiences):
                return one
        of_it = [one for one in self._issuers if one.name == issuer]
        if not of_it:
            raise TokenRejected(RejectionReason.ISSUER)
        raise TokenRejected(RejectionReason.AUDIENCE, of_it[0].group if len(of_it) == 1 else PROXY_GROUP)

    def _only(self, fitting: list[Issuer], claims: Mapping[str, object]) -> Issuer:
        sound = [one for one in fitting if one.verifier is not None]
        if not sound or len(fitting) == 1:
            return fitting[0]
        if sound == self._issuers[:1]:
            # The others are misconfigured and share its pair: it keeps the tokens that can only be its own.
            own = any(name in claims for name in _PROXY_NAMES)
            return sound[0] if own else next(one for one in fitting if one.verifier is None)
        raise TokenRejected(RejectionReason.TWO_ISSUERS)


def _audiences(claims: Mapping[str, object]) -> frozenset[str]:
    found = claims.get("aud")
    members = found if isinstance(found, list) else [found]
    return frozenset(one for one in members if isinstance(one, str))
