"""The access proxy's assertion: where a request carries it, whether it is genuine, and whom it names."""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import jwt

from secretsvc.identity.jose import strict_object
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.errors import ServerMisconfigured, Unauthenticated
from secretsvc.kernel.settings import ASYMMETRIC_ALGORITHMS
from secretsvc.kernel.subjects import email_subject, exact_subject

log = logging.getLogger(__name__)

MAX_LENGTH = 16_384
MAX_TIME = 2**53
_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
# Each of these changes what is signed, or how it is to be read.
_REFUSED_HEADERS = ("crit", "b64", "zip")
_NESTED = ("jwt", "application/jwt")


class Keys(Protocol):
    """Where the verifier looks a signing key up."""

    def find(self, kid: str, alg: str) -> jwt.PyJWK:
        """The key. Raises `Unauthenticated` or `IdentityProviderUnavailable`."""
        ...


class _Refused(Exception):
    """Why an assertion is refused, in constant words: for the log and never for the client."""


def read_assertion(environ: Mapping[str, Any], header: str, cookie: str) -> str:
    """The assertion as the request carries it, not verified. Raises `Unauthenticated`.

    A header that is present, even if empty, is the only source (contract 4.5).
    """
    variable = f"HTTP_{header.upper().replace('-', '_')}"
    if variable in environ:
        values = {environ[variable]}
    else:
        values = _cookie_values(environ.get("HTTP_COOKIE", ""), cookie)
    # Two cookies of one name that differ: a sibling domain may have planted either.
    if len(values) != 1 or values == {""}:
        raise Unauthenticated()
    return str(values.pop())


def _cookie_values(text: str, name: str) -> set[str]:
    pairs = (part.partition("=") for part in text.split(";"))
    return {value.strip() for found, _, value in pairs if found.strip() == name}


@dataclass(frozen=True, slots=True)
class Verified:
    """A genuine assertion: its bearer, and the epoch seconds between which it holds.

    `not_before` is the later of `nbf` and `iat`, 0 where it has neither.
    """

    principal: Principal
    expires_at: float
    not_before: float

    def holds_at(self, now: float, leeway: float) -> bool:
        """Whether it is in force at `now` (epoch seconds), give or take `leeway` seconds."""
        return self.expires_at > now - leeway and self.not_before <= now + leeway


class Verifier:
    """Verifies and classifies assertions of one issuer.

    Raises `ServerMisconfigured` for an issuer, audience or algorithm list with which a check would be
    void: without them any token would do, or anyone's.
    """

    def __init__(
        self,
        keys: Keys,
        issuer: str,
        audiences: Collection[str],
        algorithms: Collection[str],
        leeway: float,
    ) -> None:
        if not issuer or isinstance(audiences, str) or not audiences or not all(audiences):
            raise ServerMisconfigured()
        if not algorithms or not ASYMMETRIC_ALGORITHMS.issuperset(algorithms):
            raise ServerMisconfigured()
        self._keys, self._issuer, self._leeway = keys, issuer, leeway
        self._audiences, self._algorithms = list(audiences), list(algorithms)

    def verify(self, token: str, now: float) -> Verified:
        """The bearer, judged at `now`, epoch seconds (specification: Authentication).

        Raises `Unauthenticated`, the same for every reason, or `IdentityProviderUnavailable`.
        """
        try:
            verified = _read_claims(self._genuine_claims(token))
            if not verified.holds_at(now, self._leeway):
                raise _Refused("not in force")
        except _Refused as refusal:
            log.debug("assertion refused: %s", refusal)
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            # The text of these may quote the token.
            log.debug("assertion refused: %s", type(error).__name__)
        else:
            return verified
        raise Unauthenticated()

    def _genuine_claims(self, token: str) -> dict[str, Any]:
        if len(token) > MAX_LENGTH or not _COMPACT.fullmatch(token):
            raise _Refused("not a compact JWS")
        header, payload, _ = token.split(".")
        kid, alg = self._check_header(strict_object(_base64url(header)))
        jwt.decode(
            token,
            self._keys.find(kid, alg),
            algorithms=self._algorithms,
            audience=self._audiences,
            issuer=self._issuer,
            # Times are judged by the caller's one clock value, not by PyJWT's own.
            options={
                "require": ["exp", "iss", "aud"],
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
        # PyJWT reads UTF-16 and lets the last of duplicate members win.
        return strict_object(_base64url(payload))

    def _check_header(self, header: dict[str, Any]) -> tuple[str, str]:
        kid, alg = header.get("kid"), header.get("alg")
        if not isinstance(alg, str) or alg not in self._algorithms:
            raise _Refused("algorithm")
        if not isinstance(kid, str) or not kid:
            raise _Refused("no kid")
        if any(name in header for name in _REFUSED_HEADERS):
            raise _Refused("an extension that is not supported")
        if str(header.get("typ", "JWT")).upper() != "JWT":
            raise _Refused("not a JWT")
        content = header.get("cty", "")
        if not isinstance(content, str) or content.lower() in _NESTED:
            raise _Refused("nested")
        return kid, alg


def _base64url(segment: str) -> bytes:
    return base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4))


def _read_claims(claims: dict[str, Any]) -> Verified:
    earliest = [_time(claims[name]) for name in ("nbf", "iat") if name in claims]
    return Verified(_classify(claims), _time(claims["exp"]), max(earliest, default=0.0))


def _time(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Refused("a time that is no number")
    if not 0 < value < MAX_TIME:
        raise _Refused("a time out of range")
    return float(value)


def _classify(claims: dict[str, Any]) -> Principal:
    """The specification's table. Presence decides, so that an empty or null claim is still a claim."""
    sub = claims.get("sub")
    person, service = "email" in claims, "common_name" in claims
    if person and not service and isinstance(sub, str) and sub:
        return Principal(Kind.USER, email_subject(claims["email"]))
    if service and not person and sub == "":
        return Principal(Kind.SERVICE, exact_subject(claims["common_name"]))
    raise _Refused("neither a user nor a service token")
