"""A stand-in for the access proxy: keys, assertions good and hostile, and a key source by file."""

from __future__ import annotations

import base64
import functools
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

ISSUER = "https://access.example.com"
AUDIENCE = "0123456789abcdef" * 4
ABSENT: Any = object()

CURVES = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def encode(part: object) -> str:
    """A segment of a token: bytes as they are, anything else as JSON."""
    return base64url(part if isinstance(part, bytes) else json.dumps(part).encode())


def signature(private: PrivateKeyTypes, alg: str, signed: bytes) -> bytes:
    return jwt.get_algorithm_by_name(alg).sign(signed, private)


def jwk(private: PrivateKeyTypes, **members: Any) -> dict[str, Any]:
    """The public JWK of a private key; `members` are added, or taken away when `ABSENT`."""
    family = "RS256" if isinstance(private, rsa.RSAPrivateKey) else "ES256"
    public = jwt.get_algorithm_by_name(family).to_jwk(private.public_key(), as_dict=True)
    public.pop("key_ops", None)
    return {name: value for name, value in {**public, **members}.items() if value is not ABSENT}


@functools.cache
def rsa_key(name: object = 0, bits: int = 2048, exponent: int = 65_537) -> rsa.RSAPrivateKey:
    """One key per name for the whole session: making them is what takes time."""
    return rsa.generate_private_key(exponent, bits)


@functools.cache
def ec_key(name: object = 0, alg: str = "ES256") -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(CURVES[alg])


class TestIssuer:
    """An issuer of assertions whose key source is a file in `directory`.

    It starts with one RSA key, `rsa-1`, and one EC key, `ec-1`; `add_rsa` and `add_ec` bring more, and
    `publish` writes those named, or all, to the key source.
    """

    __test__ = False

    def __init__(self, directory: Path, issuer: str = ISSUER, audience: str = AUDIENCE) -> None:
        self.issuer, self.audience = issuer, audience
        self.clock: Callable[[], float] = time.time
        self.jwks_path = Path(directory) / "jwks.json"
        self.jwks_url = self.jwks_path.as_uri()
        self.keys: dict[str, tuple[str, PrivateKeyTypes]] = {}
        self.add_rsa("rsa-1")
        self.add_ec("ec-1")
        self.publish()

    def add_rsa(self, kid: str, alg: str = "RS256") -> None:
        self.keys[kid] = (alg, rsa_key(kid))

    def add_ec(self, kid: str, alg: str = "ES256") -> None:
        self.keys[kid] = (alg, ec_key(kid, alg))

    def jwk(self, kid: str, **members: Any) -> dict[str, Any]:
        alg, private = self.keys[kid]
        return jwk(private, **{"kid": kid, "alg": alg, "use": "sig", **members})

    def jwks(self, *kids: str) -> bytes:
        return json.dumps({"keys": [self.jwk(kid) for kid in kids or self.keys]}).encode()

    def publish(self, *kids: str) -> None:
        self.write(self.jwks(*kids))

    def write(self, document: bytes) -> None:
        """Replaces the key source's file in one step, as a careful operator does."""
        draft = self.jwks_path.with_suffix(".new")
        draft.write_bytes(document)
        os.replace(draft, self.jwks_path)

    def environment(self, **settings: str) -> dict[str, str]:
        """The settings under which the service trusts this issuer."""
        return {
            "ACCESS_ISSUER": self.issuer,
            "ACCESS_AUDIENCE": self.audience,
            "ACCESS_JWKS_URL": self.jwks_url,
            **settings,
        }

    def workload_environment(self, name: str, **settings: str) -> dict[str, str]:
        """The settings under which the service takes this issuer's tokens for those of machines."""
        own = {
            "ISSUER": self.issuer,
            "AUDIENCE": self.audience,
            "JWKS_URL": self.jwks_url,
            "REQUIRE": "*",
            **settings,
        }
        prefix = f"WORKLOAD_{name.upper().replace('-', '_')}_"
        return {prefix + member: value for member, value in own.items() if value is not ABSENT}

    def claims(self, **claims: Any) -> dict[str, Any]:
        """Claims that hold for an hour; those given replace or, when `ABSENT`, remove."""
        now = claims.pop("now", None) or int(self.clock())
        common = {"iss": self.issuer, "aud": [self.audience], "type": "app", "iat": now, "exp": now + 3600}
        return {name: value for name, value in {**common, **claims}.items() if value is not ABSENT}

    def user(self, email: Any = "ada@example.com", **claims: Any) -> dict[str, Any]:
        """The claims of a person."""
        now = claims.get("now") or int(self.clock())
        return self.claims(**{"sub": "user-1", "email": email, "nbf": now, "country": "DE", **claims})

    def sign(
        self,
        email: Any = "ada@example.com",
        *,
        kid: str = "rsa-1",
        header: dict[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """A person's assertion."""
        return self.token(self.header(kid, **header or {}), self.user(email, **claims), kid)

    def service(self, common_name: Any = "robot.access", *, kid: str = "rsa-1", **claims: Any) -> str:
        """A service token's assertion: no `email`, no `nbf`, and an empty `sub`."""
        claims = self.claims(**{"sub": "", "common_name": common_name, **claims})
        return self.token(self.header(kid), claims, kid)

    def workload(
        self, sub: Any = "job-1", *, kid: str = "rsa-1", header: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        """A token as issuers of machines make them: a `sub`, and nothing of a person."""
        return self.token(self.header(kid, **header or {}), self.claims(**{"sub": sub, **claims}), kid)

    def header(self, kid: str = "rsa-1", /, **members: Any) -> dict[str, Any]:
        header = {"alg": self.keys[kid][0], "kid": kid, "typ": "JWT", **members}
        return {name: value for name, value in header.items() if value is not ABSENT}

    def token(self, header: object, payload: object, kid: str = "rsa-1", alg: str | None = None) -> str:
        """Any header and payload, bytes or JSON, under a genuine signature of the key `kid`."""
        own, private = self.keys[kid]
        signed = f"{encode(header)}.{encode(payload)}"
        return f"{signed}.{base64url(signature(private, alg or own, signed.encode()))}"
