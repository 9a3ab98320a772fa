"""What JOSE text may look like here: JSON read without a second interpretation, and keys fit to verify."""

from __future__ import annotations

import base64
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from secretsvc.kernel.json import parse_json

RSA_BITS = range(2048, 8193)
RSA_LEAST_EXPONENT = 65_537
# The longest member of a usable key is an 8192-bit modulus: 1366 characters.
MEMBER_LENGTH = 1_400
#: Keys that are tried for one kid and algorithm: each costs a check of a signature.
SHARED_KEYS = 4
#: Levels of nesting, the object itself included.
MAX_DEPTH = 32

_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_CURVES = {
    ("EC", "P-256"): ("ES256",),
    ("EC", "P-384"): ("ES384",),
    ("EC", "P-521"): ("ES512",),
    ("OKP", "Ed25519"): ("EdDSA",),
}
_PUBLIC_MEMBERS = {"RSA": ("kty", "n", "e"), "EC": ("kty", "crv", "x", "y"), "OKP": ("kty", "crv", "x")}


def strict_object(data: bytes) -> dict[str, object]:
    """A JSON object in UTF-8 without a byte order mark, duplicate members, NaN or Infinity.

    Raises ValueError, also for more than `MAX_DEPTH` levels, and RecursionError where the nesting is deeper
    than the interpreter's stack.
    """
    value = parse_json(data.decode("utf-8"))
    if not isinstance(value, dict):
        raise ValueError("not an object")
    _check_depth(value, MAX_DEPTH)
    return value


def _check_depth(value: object, levels: int) -> None:
    if isinstance(value, (dict, list)):
        # How deep the interpreter's stack is differs by its version.
        if not levels:
            raise ValueError("nested too deeply")
        for member in value.values() if isinstance(value, dict) else value:
            _check_depth(member, levels - 1)


def segment_object(segment: str) -> dict[str, object]:
    """The object that a segment of a compact JWS encodes. Raises as `strict_object`."""
    return strict_object(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))


Keys = tuple[jwt.PyJWK, ...]


@dataclass(frozen=True, slots=True)
class KeySet:
    """Usable keys by kid and algorithm. Two sets are equal when their public material is.

    `shared` are the kids under which different keys could verify one algorithm.
    """

    keys: Mapping[str, Mapping[str, Keys]] = field(compare=False)
    material: Mapping[str, Mapping[str, tuple[Mapping[str, str], ...]]]
    shared: tuple[str, ...] = field(default=(), compare=False)


def usable_keys(document: bytes, algorithms: Collection[str]) -> KeySet:
    """The keys of a JWKS that may verify an assertion by one of `algorithms`, each parsed once.

    Unusable ones are left out; of several for one kid and algorithm, the first `SHARED_KEYS` are kept
    (RFC 7517, 4.5). Raises ValueError for what is no JWKS or has no usable key left: a key source that lost
    its keys must look like an outage, not like an order to trust nobody.
    """
    entries = strict_object(document).get("keys")
    if not isinstance(entries, list):
        raise ValueError("no array of keys")
    keys: dict[str, dict[str, Keys]] = {}
    material: dict[str, dict[str, tuple[Mapping[str, str], ...]]] = {}
    shared: dict[str, None] = {}
    for kid, entry in [
        (entry["kid"], entry) for entry in entries if isinstance(entry, dict) and _name(entry)
    ]:
        for alg, key in _usable(entry, algorithms).items():
            held, known = keys.setdefault(kid, {}), material.setdefault(kid, {})
            public, others = _public(entry), known.get(alg, ())
            if public in others:
                continue
            if others:
                shared[kid] = None
            if len(others) < SHARED_KEYS:
                held[alg], known[alg] = (*held.get(alg, ()), key), (*others, public)
    if not keys:
        raise ValueError("no usable key")
    return KeySet(keys, material, tuple(shared))


def _name(entry: dict[str, object]) -> bool:
    kid = entry.get("kid")
    return isinstance(kid, str) and kid != ""


def _usable(entry: dict[str, object], algorithms: Collection[str]) -> dict[str, jwt.PyJWK]:
    """The entry's key by each algorithm that it may verify; empty for an unusable one."""
    if not _meant_for_verifying(entry):
        return {}
    try:
        public = _public(entry)
        possible = _RSA if public["kty"] == "RSA" else _CURVES[public["kty"], public["crv"]]
        fitting = [alg for alg in possible if alg in algorithms]
        if "alg" in entry:
            fitting = [alg for alg in fitting if alg == entry["alg"]]
        keys = {alg: jwt.PyJWK(public, alg) for alg in fitting}
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return {}
    return {alg: key for alg, key in keys.items() if _strong(key)}


def _meant_for_verifying(entry: dict[str, object]) -> bool:
    if "use" in entry and entry["use"] != "sig":
        return False
    operations = entry.get("key_ops", ["verify"])
    return isinstance(operations, list) and "verify" in operations


def _public(entry: dict[str, Any]) -> dict[str, str]:
    """The public members alone: a private key published by mistake must not be held here."""
    public = {name: entry[name] for name in _PUBLIC_MEMBERS[entry["kty"]]}
    if any(not isinstance(value, str) or len(value) > MEMBER_LENGTH for value in public.values()):
        raise ValueError("malformed member")
    return public


def _strong(key: jwt.PyJWK) -> bool:
    if not isinstance(key.key, RSAPublicKey):
        return True
    numbers = key.key.public_numbers()
    good_exponent = numbers.e >= RSA_LEAST_EXPONENT and numbers.e % 2 == 1
    return key.key.key_size in RSA_BITS and good_exponent
