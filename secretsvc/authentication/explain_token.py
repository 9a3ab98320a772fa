"""Whose a token would be, or which check it fails, told without a network or a database (contract 6.5)."""

from __future__ import annotations

from dataclasses import dataclass

from secretsvc.authentication.assertions import AssertionVerifier, TokenRejected, Verified, without_scheme
from secretsvc.authentication.issuers import Issuers
from secretsvc.authentication.jwks import KeyCache
from secretsvc.authentication.service_tokens import is_service_token, prefix_of, token_digest
from secretsvc.authentication.unverified_claims import unverified_facts
from secretsvc.authentication.workload_issuers import issuers
from secretsvc.kernel.actors import Principal
from secretsvc.kernel.rejections import RejectionReason
from secretsvc.kernel.settings import Settings


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether the token would do as far as could be seen, and the lines that say why. None holds it."""

    good: bool
    lines: tuple[str, ...]


class _Offline:
    """A verifier that checks the signature only where the keys are in a file."""

    def __init__(self, verifier: AssertionVerifier, keys: KeyCache) -> None:
        self._verifier, self.signature = verifier, keys.is_local

    def verify(self, token: str, now: float) -> Verified:
        """As `Verifier.verify`."""
        return self._verifier.verify(token, now, signature=self.signature)


def explain(settings: Settings, text: str, now: float) -> Explanation:
    """What would become of a token at `now`, epoch seconds; it may stand behind one `Bearer `.

    Raises `ServerMisconfigured` for settings without which nobody is let in, and
    `IdentityProviderUnavailable` where the keys should be in a file and are not.
    """
    token = without_scheme(text.strip())
    proxy_keys = KeyCache(settings.access_jwks_url, settings.access_algorithms, 0)
    found = Issuers(issuers(settings, proxy_keys, _Offline))
    try:
        if is_service_token(token):
            return _service_token(settings, token)
        issuer = found.assigned(token)
        if not isinstance(issuer.verifier, _Offline):
            return Explanation(False, (f"Its issuer is misconfigured: look at {issuer.group}* and the log.",))
        principal = found.verify(token, now).principal
    except TokenRejected as refusal:
        return _refused(refusal, token)
    lines = [f"It would be the {principal.kind} {principal.subject}, by the settings {issuer.group}*."]
    lines += _what_the_database_knows(principal)
    if not issuer.verifier.signature:
        lines.append(f"The signature was not checked: {issuer.group}JWKS_URL is no file.")
    return Explanation(True, tuple(lines))


def _what_the_database_knows(principal: Principal) -> list[str]:
    """Why the token could be refused all the same (contract 17.5)."""
    name = principal.issuer_name
    if name is None:
        return []
    if principal.issuer is None:
        why = f"{RejectionReason.RESERVED.value[1]}, if an identity came by a workload issuer named {name}"
    else:
        why = f"{RejectionReason.OTHER_ISSUER.value[1]}, if it first came by another issuer"
    return [f"It would still be refused for {why}: the database knows."]


def _service_token(settings: Settings, token: str) -> Explanation:
    if not settings.service_tokens:
        raise TokenRejected(RejectionReason.TOKENS_OFF)
    try:
        token_digest(token)
    except ValueError:
        raise TokenRejected(RejectionReason.CHECKSUM) from None
    whose = (
        f"A well-formed service token {prefix_of(token)}: whose, and whether in force, the database knows."
    )
    return Explanation(True, (whose,))


def _refused(refusal: TokenRejected, token: str) -> Explanation:
    what, why = refusal.reason.value
    said = unverified_facts(token)
    what_to_do = refusal.reason.advice(refusal.group)
    lines = [f"It would be refused: {what}, {why}.", f"{what_to_do[:1].upper()}{what_to_do[1:]}."]
    return Explanation(False, (*lines, f"It says of itself: {said}") if said else tuple(lines))
