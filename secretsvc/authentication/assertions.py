"""Signed tokens: where a request carries one, whether it is genuine, and whom the access proxy's names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import jwt
from jwt.exceptions import InvalidSubjectError

from secretsvc.authentication.jose import segment_object
from secretsvc.kernel.actors import Kind, Principal
from secretsvc.kernel.errors import ServerMisconfigured, Unauthenticated
from secretsvc.kernel.parsers import ASYMMETRIC_ALGORITHMS
from secretsvc.kernel.rejections import RejectionReason
from secretsvc.kernel.subjects import email_subject, exact_subject

MAX_LENGTH = 16_384
MAX_TIME = 2**53
_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
# Each of these changes what is signed, or how it is to be read.
_REFUSED_HEADERS = ("crit", "b64", "zip")
_NESTED = ("jwt", "application/jwt")
_BEARER = "bearer "
PROXY_GROUP = "ACCESS_"
JWT, ACCESS_TOKEN = "JWT", "AT+JWT"
# What PyJWT finds wrong, by the class of its error: the text may quote the token.
_REASONS: dict[type[Exception], RejectionReason] = {
    jwt.InvalidSignatureError: RejectionReason.SIGNATURE,
    jwt.InvalidIssuerError: RejectionReason.ISSUER,
    jwt.InvalidAudienceError: RejectionReason.AUDIENCE,
    jwt.MissingRequiredClaimError: RejectionReason.MISSING_CLAIM,
    InvalidSubjectError: RejectionReason.CLASSIFICATION,
}


#: From claims that are genuine to whom they name. Raises `TokenRejected`.
Classify = Callable[[dict[str, object]], Principal]


class Keys(Protocol):
    """Where the verifier looks signing keys up."""

    def find(self, kid: str, alg: str) -> Sequence[jwt.PyJWK]:
        """The keys, at least one. Raises `Unauthenticated` or `IdentityProviderUnavailable`."""


class TokenRejected(Unauthenticated):
    """A token is not accepted; `reason` is for the log and never for the client.

    `group` is what the names of the settings of its issuer begin with.
    """

    def __init__(self, reason: RejectionReason, group: str = PROXY_GROUP) -> None:
        super().__init__()
        self.reason, self.group = reason, group


def read_assertion(environ: Mapping[str, Any], header: str, cookie: str) -> str:
    """The token as the request carries it, not verified. Raises `TokenRejected`.

    A header that is present, even if empty, is the only source (contract 4.5), and so is the cookie where
    there is no such header; without either it is `Authorization: Bearer` (contract 6.1).
    """
    variable = f"HTTP_{header.upper().replace('-', '_')}"
    if variable in environ:
        values = {without_scheme(environ[variable])}
    else:
        values = _cookie_values(environ.get("HTTP_COOKIE", ""), cookie) or _bearer_values(environ)
    # Two cookies of one name that differ: a sibling domain may have planted either.
    if len(values) > 1:
        raise TokenRejected(RejectionReason.AMBIGUOUS)
    if values <= {""}:
        raise TokenRejected(RejectionReason.ABSENT)
    return values.pop()


def without_scheme(text: str) -> str:
    """A token less the one `Bearer ` that it may stand behind, in any case."""
    return text[len(_BEARER) :] if text[: len(_BEARER)].lower() == _BEARER else text


def _cookie_values(text: str, name: str) -> set[str]:
    pairs = (part.partition("=") for part in text.split(";"))
    return {value.strip() for found, _, value in pairs if found.strip() == name}


def _bearer_values(environ: Mapping[str, Any]) -> set[str]:
    """Without the scheme there is none: other schemes are not for us."""
    text = environ.get("HTTP_AUTHORIZATION", "")
    token = without_scheme(text)
    return set() if token == text else {token}


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


def token_parts(token: str) -> tuple[str, str]:
    """Header and payload of a compact JWS, encoded as they are. Raises `TokenRejected`."""
    if len(token) > MAX_LENGTH or not _COMPACT.fullmatch(token):
        raise TokenRejected(RejectionReason.MALFORMED)
    header, payload, _ = token.split(".")
    return header, payload


class AssertionVerifier:
    """Verifies and classifies tokens of one issuer; `types` are the values of `typ` that it takes.

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
        classify: Classify | None = None,
        types: Collection[str] = (JWT,),
    ) -> None:
        if not issuer or isinstance(audiences, str) or not audiences or not all(audiences):
            raise ServerMisconfigured()
        if not algorithms or not ASYMMETRIC_ALGORITHMS.issuperset(algorithms):
            raise ServerMisconfigured()
        self._keys, self._issuer, self._leeway = keys, issuer, leeway
        self._audiences, self._algorithms = list(audiences), list(algorithms)
        self._classify, self._types = classify or classify_assertion, frozenset(types)

    def verify(self, token: str, now: float, *, signature: bool = True) -> Verified:
        """The bearer, judged at `now`, epoch seconds (specification: Authentication).

        Raises `TokenRejected`, the same for every reason to the client, or `IdentityProviderUnavailable`.
        Without
        the `signature` it proves nothing, and needs no key.
        """
        try:
            verified = self._read_claims(self._claims(token, signature))
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            raise TokenRejected(_REASONS.get(type(error), RejectionReason.MALFORMED)) from None
        if not verified.holds_at(now, self._leeway):
            raise TokenRejected(
                RejectionReason.EXPIRED
                if verified.expires_at <= now - self._leeway
                else RejectionReason.NOT_YET
            )
        return verified

    def _claims(self, token: str, signature: bool) -> dict[str, object]:
        header, payload = token_parts(token)
        kid, alg = self._check_header(segment_object(header))
        *others, last = self._find(kid, alg) if signature else ("",)
        for key in others:
            # An issuer that has several keys of one kid signs with any of them (RFC 7517, 4.5).
            with suppress(jwt.InvalidSignatureError):
                self._decode(token, key)
                break
        else:
            self._decode(token, last)
        # PyJWT reads UTF-16 and lets the last of duplicate members win.
        return segment_object(payload)

    def _decode(self, token: str, key: jwt.PyJWK | str) -> None:
        """Raises `PyJWTError` unless the key has signed the token, and `iss` and `aud` are right."""
        jwt.decode(
            token,
            key,
            algorithms=self._algorithms,
            audience=self._audiences,
            issuer=self._issuer,
            # Times are judged by the caller's one clock value, not by PyJWT's own.
            options={
                "require": ["exp", "iss", "aud"],
                "verify_signature": key != "",
                "verify_aud": True,
                "verify_iss": True,
                "verify_sub": True,
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )

    def _find(self, kid: str, alg: str) -> Sequence[jwt.PyJWK]:
        try:
            return self._keys.find(kid, alg)
        except Unauthenticated:
            raise TokenRejected(RejectionReason.UNKNOWN_KID) from None

    def _check_header(self, header: dict[str, object]) -> tuple[str, str]:
        kid, alg = header.get("kid"), header.get("alg")
        if not isinstance(alg, str) or alg not in self._algorithms:
            raise TokenRejected(RejectionReason.ALGORITHM)
        if not isinstance(kid, str) or not kid:
            raise TokenRejected(RejectionReason.NO_KID)
        if any(name in header for name in _REFUSED_HEADERS):
            raise TokenRejected(RejectionReason.HEADER)
        if str(header.get("typ", JWT)).upper() not in self._types:
            raise TokenRejected(RejectionReason.HEADER)
        content = header.get("cty", "")
        if not isinstance(content, str) or content.lower() in _NESTED:
            raise TokenRejected(RejectionReason.HEADER)
        return kid, alg

    def _read_claims(self, claims: dict[str, object]) -> Verified:
        earliest = [_time(claims[name]) for name in ("nbf", "iat") if name in claims]
        return Verified(self._classify(claims), _time(claims["exp"]), max(earliest, default=0.0))


def _time(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TokenRejected(RejectionReason.TIME)
    if not 0 < value < MAX_TIME:
        raise TokenRejected(RejectionReason.TIME)
    return float(value)


def classify_assertion(claims: dict[str, object], reserved: tuple[str, ...] = ()) -> Principal:
    """The specification's table. Presence decides, so that an empty or null claim is still a claim.

    No service token's name begins with one of the `reserved` texts (contract 6.3).
    """
    sub = claims.get("sub")
    person, service = "email" in claims, "common_name" in claims
    try:
        if person and not service and isinstance(sub, str) and sub:
            check_email_verified(claims)
            return Principal(Kind.USER, email_subject(claims["email"]))
        if service and not person and sub == "":
            name = exact_subject(claims["common_name"])
            if name.startswith(reserved):
                raise TokenRejected(RejectionReason.RESERVED)
            return Principal(Kind.SERVICE, name)
    except ValueError:
        raise TokenRejected(RejectionReason.SUBJECT) from None
    raise TokenRejected(RejectionReason.CLASSIFICATION)


def check_email_verified(claims: dict[str, object]) -> None:
    """Refuse an address that its issuer did not verify: anyone can claim it (contract 6.2, 17.5)."""
    verified = claims.get("email_verified", True)
    if "email" in claims and verified is not True and verified != "true":
        raise TokenRejected(RejectionReason.EMAIL_VERIFIED)
