"""The development proxy's key, kept in a directory of its own, and the assertions signed with it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

LIFETIME, RENEWAL = 300, 60
CACHED_ASSERTIONS = 256
SERVICE = "service:"


class Assertions:
    """Signs as an access proxy does, for people and service tokens, with ES256.

    The first start makes the key; `jwks.json` beside it is what `ACCESS_JWKS_URL` names as a file.
    Raises OSError where the directory cannot be written.
    """

    def __init__(
        self, directory: Path, issuer: str, audience: str, now: Callable[[], float] = time.time
    ) -> None:
        self._key = _key(directory)
        self._issuer, self._audience, self._now = issuer, audience, now
        public = self._key.public_key()
        spki = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.kid = hashlib.sha256(spki).hexdigest()
        jwk = jwt.algorithms.ECAlgorithm.to_jwk(public, as_dict=True)
        jwks = {"keys": [jwk | {"kid": self.kid, "alg": "ES256", "use": "sig"}]}
        _publish(directory / "jwks.json", json.dumps(jwks).encode(), os.replace)
        self._signed: dict[str, tuple[str, int]] = {}

    def sign(self, identity: str) -> str:
        """A JWT for an e-mail address or `service:<common name>`, good for 60 to 300 seconds more."""
        now = int(self._now())
        token, expires = self._signed.get(identity, ("", 0))
        if expires - now < RENEWAL:
            expires = now + LIFETIME
            claims = {"iss": self._issuer, "aud": [self._audience], "iat": now, "exp": expires}
            claims |= _claims(identity, now)
            token = jwt.encode(claims, self._key, algorithm="ES256", headers={"kid": self.kid})
            if len(self._signed) >= CACHED_ASSERTIONS:
                self._signed.clear()
            self._signed[identity] = token, expires
        return token


def _claims(identity: str, now: int) -> dict[str, object]:
    if identity.startswith(SERVICE):
        return {"type": "app", "common_name": identity.removeprefix(SERVICE), "sub": ""}
    subject = hashlib.sha256(identity.lower().encode()).hexdigest()[:32]
    return {"type": "app", "email": identity, "sub": subject, "nbf": now}


def _key(directory: Path) -> ec.EllipticCurvePrivateKey:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = directory / "key.pem"
    if not path.exists():
        fresh = ec.generate_private_key(ec.SECP256R1())
        pem = fresh.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        # A link never replaces what is there: of two first starts, both use the earlier key.
        with suppress(FileExistsError):
            _publish(path, pem, os.link)
    key = load_pem_private_key(path.read_bytes(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{path} holds a key of another type: remove it and start again")
    return key


def _publish(path: Path, content: bytes, install: Callable[[str, Path], None]) -> None:
    """Writes a file that is complete from the moment it can be seen, for its owner alone."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        install(temporary, path)
    finally:
        Path(temporary).unlink(missing_ok=True)
