"""Of a key set only what is fit to verify is taken in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from tokens import ABSENT, base64url, ec_key, jwk, rsa_key

from secretsvc.authentication.jose import SHARED_KEYS, KeySet, usable_keys

ALGORITHMS = ("RS256", "ES256")
GOOD = jwk(rsa_key("good"), kid="good", alg="RS256", use="sig")


def load(*entries: object, algorithms: tuple[str, ...] = ALGORITHMS) -> KeySet:
    return usable_keys(json.dumps({"keys": [GOOD, *entries]}).encode(), algorithms)


def taken(*entries: object, algorithms: tuple[str, ...] = ALGORITHMS) -> dict[str, tuple[str, ...]]:
    """The algorithms by kid of the keys taken in beside the good one."""
    keys = load(*entries, algorithms=algorithms).keys
    assert tuple(keys["good"]) == ("RS256",)
    return {kid: tuple(algs) for kid, algs in keys.items() if kid != "good"}


def rsa_entry(**members: Any) -> dict[str, Any]:
    return jwk(rsa_key("another"), **{"kid": "k", **members})


def ec_entry(curve: str = "ES256", /, **members: Any) -> dict[str, Any]:
    return jwk(ec_key("another", curve), **{"kid": "k", **members})


@pytest.mark.parametrize(
    ("entry", "algorithms"),
    [
        pytest.param(rsa_entry(), ("RS256",), id="RSA without alg"),
        pytest.param(rsa_entry(alg="RS256", use="sig"), ("RS256",), id="RSA"),
        pytest.param(rsa_entry(key_ops=["verify"]), ("RS256",), id="key_ops with verify"),
        pytest.param(rsa_entry(x5t="x", x5c=["x"], custom=1), ("RS256",), id="members of no concern"),
        pytest.param(ec_entry(), ("ES256",), id="EC without alg"),
        pytest.param(ec_entry(alg="ES256", use="sig"), ("ES256",), id="EC"),
    ],
)
def test_a_key_that_may_verify_is_taken_in(entry: dict[str, Any], algorithms: tuple[str, ...]) -> None:
    assert taken(entry) == {"k": algorithms}


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(jwk(rsa_key("small", 1024), kid="k", alg="RS256"), id="1024-bit RSA"),
        pytest.param(jwk(rsa_key("cubic", 2048, 3), kid="k", alg="RS256"), id="RSA with exponent 3"),
        pytest.param(rsa_entry(e="AQ"), id="RSA with exponent 1"),
        pytest.param(rsa_entry(e="AQAA"), id="RSA with an even exponent"),
        pytest.param(rsa_entry(n=base64url(b"\xff" * 1025)), id="RSA over 8192 bits"),
        pytest.param(rsa_entry(n=base64url(b"\xff" * 60_000)), id="an enormous modulus"),
        pytest.param(rsa_entry(n="!!!!"), id="a modulus that is no base64url"),
        pytest.param(rsa_entry(n=7), id="a modulus as number"),
        pytest.param(rsa_entry(n=ABSENT), id="no modulus"),
        pytest.param(rsa_entry(use="enc"), id="for encryption"),
        pytest.param(rsa_entry(use=None), id="null use"),
        pytest.param(rsa_entry(key_ops=["encrypt"]), id="key_ops without verify"),
        pytest.param(rsa_entry(key_ops="verify"), id="key_ops as text"),
        pytest.param(rsa_entry(alg="PS256"), id="an algorithm not on the list"),
        pytest.param(rsa_entry(alg="ES256"), id="another family's algorithm"),
        pytest.param(rsa_entry(alg="HS256"), id="a symmetric algorithm"),
        pytest.param(rsa_entry(alg="none"), id="the none algorithm"),
        pytest.param(rsa_entry(alg=None), id="null algorithm"),
        pytest.param(rsa_entry(alg=["RS256"]), id="algorithm as list"),
        pytest.param(ec_entry("ES384", alg="ES256"), id="P-384 under ES256"),
        pytest.param(ec_entry("ES384"), id="a curve not on the list"),
        pytest.param(ec_entry(crv="secp256k1"), id="an unknown curve"),
        pytest.param(ec_entry(crv=["P-256"]), id="a curve as list"),
        pytest.param(ec_entry(y=base64url(bytes(32))), id="a point off the curve"),
        pytest.param({"kty": "oct", "kid": "k", "k": "c2VjcmV0", "alg": "HS256"}, id="a shared secret"),
        pytest.param({"kty": "oct", "kid": "k", "k": "c2VjcmV0", "alg": "RS256"}, id="a disguised secret"),
        pytest.param(rsa_entry(kty=["RSA"]), id="family as list"),
        pytest.param(rsa_entry(kty=ABSENT), id="no family"),
        pytest.param(rsa_entry(kid=ABSENT), id="no kid"),
        pytest.param(rsa_entry(kid=""), id="empty kid"),
        pytest.param(rsa_entry(kid=7), id="kid as number"),
        pytest.param(None, id="null"),
        pytest.param("key", id="text"),
    ],
)
def test_a_key_unfit_to_verify_is_left_out(entry: object) -> None:
    assert taken(entry) == {}


def test_a_key_of_any_algorithm_serves_those_on_the_list_that_fit_it() -> None:
    wide = ("RS256", "PS256", "ES256", "ES384", "EdDSA")
    assert taken(rsa_entry(), algorithms=wide) == {"k": ("RS256", "PS256")}
    assert taken(ec_entry("ES384"), algorithms=wide) == {"k": ("ES384",)}


def test_an_edwards_key_is_taken_in_where_its_algorithm_is_on_the_list() -> None:
    public = ed25519.Ed25519PrivateKey.generate().public_key()
    entry = {**OKPAlgorithm.to_jwk(public, as_dict=True), "kid": "k"}
    entry.pop("key_ops", None)
    assert taken(entry, algorithms=("RS256", "EdDSA")) == {"k": ("EdDSA",)}
    assert taken(entry) == {}


def test_a_key_that_is_listed_twice_is_one() -> None:
    for entries in (
        [rsa_entry(), rsa_entry()],
        [rsa_entry(), rsa_entry(use="sig", alg="RS256", custom=1)],
        [rsa_entry(), rsa_entry(use="enc")],
        [rsa_entry(key_ops=["encrypt"]), rsa_entry()],
    ):
        held = load(*entries)
        assert len(held.keys["k"]["RS256"]) == 1
        assert held.shared == ()
        assert held == load(rsa_entry())


def test_of_keys_that_share_a_kid_each_verifies_its_own_algorithm() -> None:
    held = load(rsa_entry(), ec_entry())
    assert {alg: len(keys) for alg, keys in held.keys["k"].items()} == {"RS256": 1, "ES256": 1}
    assert held.shared == ()
    wide = ("RS256", "RS512", "ES256")
    one, other = rsa_entry(alg="RS256"), jwk(rsa_key("a third"), kid="k", alg="RS512")
    assert load(one, other, algorithms=wide).shared == ()
    assert taken(one, other, algorithms=wide) == {"k": ("RS256", "RS512")}


@pytest.mark.parametrize("unfit", [{"use": "enc"}, {"key_ops": ["sign"]}, {"alg": "RS512"}, {"n": "!"}])
def test_a_key_that_cannot_verify_does_not_conflict_with_one_that_can(unfit: dict[str, Any]) -> None:
    for entries in (
        [ec_entry(**unfit), rsa_entry()],
        [jwk(rsa_key("a third"), kid="k", **unfit), rsa_entry()],
    ):
        held = load(*entries)
        assert len(held.keys["k"]["RS256"]) == 1
        assert "n" in held.material["k"]["RS256"][0]
        assert held.shared == ()


def test_different_keys_of_one_kid_are_held_up_to_a_limit_and_named() -> None:
    entries = [jwk(rsa_key(number), kid="k", use="sig") for number in range(SHARED_KEYS + 2)]
    held = load(*entries, ec_entry(kid="e"), rsa_entry(kid=""))
    assert [one["n"] for one in held.material["k"]["RS256"]] == [one["n"] for one in entries[:SHARED_KEYS]]
    assert len(held.keys["k"]["RS256"]) == SHARED_KEYS
    assert held.shared == ("k",)


def test_of_a_private_key_published_by_mistake_only_the_public_half_is_held() -> None:
    private = RSAAlgorithm.to_jwk(rsa_key("leaked"), as_dict=True)
    private_ec = ECAlgorithm.to_jwk(ec_key("leaked"), as_dict=True)
    for entry in (private, private_ec):
        entry.pop("key_ops", None)
    assert "d" in private
    assert "d" in private_ec
    held = load({**private, "kid": "r"}, {**private_ec, "kid": "e"})
    assert isinstance(held.keys["r"]["RS256"][0].key, RSAPublicKey)
    assert isinstance(held.keys["e"]["ES256"][0].key, EllipticCurvePublicKey)
    assert private["d"] not in repr(held.material)
    assert private_ec["d"] not in repr(held.material)


def test_sets_are_equal_when_their_public_material_is() -> None:
    assert load(rsa_entry()) == load(rsa_entry(custom=1))
    assert load(rsa_entry()) != load()
    assert load(rsa_entry()) != load(jwk(rsa_key("a third"), kid="k"))


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"[]",
        b"{}",
        b"null",
        b'{"keys":null}',
        b'{"keys":[]}',
        b'{"keys":{}}',
        b'{"keys":[{}]}',
        b"<html>",
    ],
)
def test_a_document_without_a_usable_key_is_an_error(document: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        usable_keys(document, ALGORITHMS)
