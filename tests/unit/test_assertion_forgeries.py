"""What only looks like a signed assertion is refused: the signature, the header and the spelling."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwks_server import KeyServer
from similar_issuers import EQUAL_KEYS, EQUAL_KIDS, NAMES, OWN, street
from token_fixtures import LEEWAY, NOW, Scene, lone_scene
from tokens import ABSENT, base64url, ec_key, encode, jwk, rsa_key, signature

from secretsvc.authentication.assertions import AssertionVerifier
from secretsvc.kernel.errors import Unauthenticated

# Alone, and each of three beside the others.
SCENES = [("alone", OWN), *((name, alike) for name in NAMES for alike in (EQUAL_KIDS, EQUAL_KEYS))]


@pytest.fixture(scope="module", params=SCENES, ids=" ".join)
def scene(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    name, alike = request.param
    if name == "alone":
        with lone_scene(tmp_path_factory.mktemp("issuer")) as made:
            yield made
        return
    with street(tmp_path_factory.mktemp("street"), alike) as found:
        yield found.scene(name)


P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def unsigned(header: object, payload: object) -> str:
    return f"{encode(header)}.{encode(payload)}."


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "nOnE", "", None, 0, [], ["RS256"], {}])
def test_an_assertion_without_an_algorithm_is_refused(scene: Scene, alg: Any) -> None:
    header = scene.issuer.header(alg=alg)
    token = scene.issuer.token(header, scene.issuer.user())
    assert scene.refuses(unsigned(header, scene.issuer.user()))
    assert scene.refuses(token)
    assert scene.refuses(token.rpartition(".")[0])


@pytest.mark.parametrize("form", ["PEM", "JWK", "DER"])
@pytest.mark.parametrize("alg", ["HS256", "HS384", "HS512"])
def test_the_public_key_is_no_shared_secret(scene: Scene, form: str, alg: str) -> None:
    public = rsa_key("rsa-1").public_key()
    secret = {
        "PEM": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "DER": public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        "JWK": json.dumps(scene.issuer.jwk("rsa-1")).encode(),
    }[form]
    signed = f"{encode(scene.issuer.header(alg=alg))}.{encode(scene.issuer.user())}"
    mac = hmac.HMAC(secret, {"HS256": hashes.SHA256, "HS384": hashes.SHA384, "HS512": hashes.SHA512}[alg]())
    mac.update(signed.encode())
    assert scene.refuses(f"{signed}.{base64url(mac.finalize())}")


@pytest.mark.parametrize(
    ("kid", "claimed", "used"),
    [
        ("rsa-1", "PS256", "PS256"),
        ("rsa-1", "RS512", "RS512"),
        ("rsa-1", "RS256", "RS512"),
        ("rsa-1", "ES256", "RS256"),
        ("ec-1", "RS256", "ES256"),
    ],
)
def test_a_key_verifies_its_own_algorithm_alone(scene: Scene, kid: str, claimed: str, used: str) -> None:
    wide = ("RS256", "ES256", "PS256", "RS512")
    verifier = AssertionVerifier(scene.keys, scene.issuer.issuer, [scene.issuer.audience], wide, LEEWAY)
    token = scene.issuer.token(scene.issuer.header(kid, alg=claimed), scene.issuer.user(), kid, alg=used)
    assert scene.refuses(token)
    with pytest.raises(Unauthenticated):
        verifier.verify(token, NOW)


@pytest.mark.parametrize(
    "kid",
    [
        "../../etc/passwd",
        "' OR 1=1 --",
        "rsa-1\x00",
        "RSA-1",
        "rsa-1 ",
        "x" * 100_000,
        "x" * 9_000,
        "",
        None,
        7,
        True,
        ["rsa-1"],
        {"kid": "rsa-1"},
        ABSENT,
    ],
    ids=lambda kid: "absent" if kid is ABSENT else repr(kid)[:24],
)
def test_a_kid_is_looked_up_exactly_or_refused(scene: Scene, kid: Any) -> None:
    assert scene.refuses(scene.issuer.sign(header={"kid": kid}))


@pytest.mark.parametrize("member", ["jwk", "jku", "x5u", "x5c"])
@pytest.mark.parametrize("kid", ["rsa-1", "mallory"])
def test_a_key_that_the_assertion_brings_along_is_ignored(scene: Scene, member: str, kid: str) -> None:
    theirs = jwk(rsa_key("mallory"), kid=kid, alg="RS256")
    with KeyServer(json.dumps({"keys": [theirs]}).encode()) as mallory:
        brought = {"jwk": theirs, "jku": mallory.url, "x5u": mallory.url, "x5c": [encode(theirs)]}
        header = scene.issuer.header(kid=kid, **{member: brought[member]})
        signed = f"{encode(header)}.{encode(scene.issuer.user())}"
        forged = f"{signed}.{base64url(signature(rsa_key('mallory'), 'RS256', signed.encode()))}"
        assert scene.refuses(forged)
        assert mallory.hits == 0


def test_a_genuine_assertion_may_carry_key_headers_that_are_ignored(scene: Scene) -> None:
    assert scene.bearer(scene.issuer.sign(header={"jku": "http://127.0.0.1:9/", "x5c": []}))


def ec_signatures(scene: Scene) -> dict[str, bytes]:
    genuine = signature(ec_key("ec-1"), "ES256", b"x")
    r, s = int.from_bytes(genuine[:32], "big"), int.from_bytes(genuine[32:], "big")
    order = P256_ORDER.to_bytes(32, "big")
    return {
        "r=s=0": bytes(64),
        "r=s=n": order + order,
        "empty": b"",
        "DER": encode_dss_signature(r, s),
        "another message's": genuine,
        "one byte short": genuine[:-1],
    }


@pytest.mark.parametrize("form", ["r=s=0", "r=s=n", "empty", "DER", "another message's", "one byte short"])
def test_a_signature_that_signs_nothing_is_refused(scene: Scene, form: str) -> None:
    signed = f"{encode(scene.issuer.header('ec-1'))}.{encode(scene.issuer.user())}"
    forged = ec_signatures(scene)[form]
    if form == "DER":
        genuine = signature(ec_key("ec-1"), "ES256", signed.encode())
        forged = encode_dss_signature(*(int.from_bytes(genuine[at : at + 32], "big") for at in (0, 32)))
    assert scene.refuses(f"{signed}.{base64url(forged)}")


def test_the_mirrored_ec_signature_proves_the_same_claims_and_nothing_else(scene: Scene) -> None:
    token = scene.issuer.sign(kid="ec-1")
    signed, _, last = token.rpartition(".")
    raw = base64.urlsafe_b64decode(last + "==")
    mirrored = raw[:32] + (P256_ORDER - int.from_bytes(raw[32:], "big")).to_bytes(32, "big")
    assert scene.bearer(f"{signed}.{base64url(mirrored)}") == scene.bearer(token)


def telling_token(scene: Scene) -> str:
    """One whose spelling differs between the two alphabets of base64."""
    tokens = (scene.issuer.sign(jti=str(attempt)) for attempt in range(100))
    return next(token for token in tokens if "-" in token or "_" in token)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda token: f"{token}==", id="padding"),
        pytest.param(lambda token: token.replace(".", "=.", 1), id="inner padding"),
        pytest.param(lambda token: f"{token[:40]}\n{token[40:]}", id="inner newline"),
        pytest.param(lambda token: f" {token}", id="leading space"),
        pytest.param(lambda token: f"{token} ", id="trailing space"),
        pytest.param(lambda token: f"{token}\n", id="trailing newline"),
        pytest.param(lambda token: f"Bearer {token}", id="bearer"),
        pytest.param(lambda token: token.replace("-", "+").replace("_", "/"), id="plain base64"),
        pytest.param(lambda token: token[:-1] + ("h" if token[-1] != "h" else "i"), id="last character"),
        pytest.param(lambda token: f"{token}\u00e9", id="not ASCII"),
        pytest.param(lambda token: f"{token}\uff10", id="a full-width digit"),
        pytest.param(lambda token: f"{token}, {token}", id="two joined headers"),
        pytest.param(lambda token: token.rpartition(".")[0], id="two parts"),
        pytest.param(lambda token: f"{token}.AAAA", id="four parts"),
        pytest.param(lambda token: f"{token}.AAAA.AAAA", id="five parts"),
        pytest.param(lambda token: token.replace(".", "..", 1), id="an empty part"),
        pytest.param(lambda token: "", id="nothing"),
        pytest.param(lambda token: "..", id="dots"),
        pytest.param(lambda token: token + "A" * 16_384, id="too long"),
    ],
)
def test_an_assertion_in_any_but_its_one_spelling_is_refused(scene: Scene, spoil: Any) -> None:
    assert scene.refuses(spoil(telling_token(scene)))


def test_a_genuine_assertion_is_refused_over_sixteen_kibibytes(scene: Scene) -> None:
    assert scene.bearer(scene.issuer.sign(custom="x" * 11_000))
    assert scene.refuses(scene.issuer.sign(custom="x" * 12_500))


def test_a_non_canonical_last_character_is_refused(scene: Scene) -> None:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    token = scene.issuer.sign()
    twin = token[:-1] + alphabet[alphabet.index(token[-1]) + 1]
    last = [base64.urlsafe_b64decode(t.rpartition(".")[2] + "==") for t in (token, twin)]
    assert last[0] == last[1]
    assert scene.refuses(twin)


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"crit": ["exp"]}, id="unknown critical"),
        pytest.param({"crit": []}, id="empty critical"),
        pytest.param({"crit": "b64"}, id="critical as text"),
        pytest.param({"crit": None}, id="null critical"),
        pytest.param({"b64": False}, id="b64 false"),
        pytest.param({"b64": False, "crit": ["b64"]}, id="b64 false and critical"),
        pytest.param({"b64": True, "crit": ["b64"]}, id="b64 true and critical"),
        pytest.param({"b64": True}, id="b64 true"),
        pytest.param({"zip": "DEF"}, id="zip"),
        pytest.param({"typ": "dpop+jwt"}, id="another type"),
        pytest.param({"typ": 1}, id="type as number"),
        pytest.param({"typ": None}, id="null type"),
        pytest.param({"cty": "JWT"}, id="nested"),
        pytest.param({"cty": "jwt"}, id="nested, lower case"),
        pytest.param({"cty": ["JWT"]}, id="content type as list"),
    ],
)
def test_a_header_that_changes_the_meaning_is_refused(scene: Scene, members: dict[str, Any]) -> None:
    assert scene.refuses(scene.issuer.sign(header=members))


def test_encrypted_nested_and_json_serialised_tokens_are_refused(scene: Scene) -> None:
    token = scene.issuer.sign()
    header, payload, last = token.split(".")
    encrypted = encode({"alg": "RSA-OAEP", "enc": "A256GCM", "kid": "rsa-1"})
    assert scene.refuses(f"{encrypted}.AAAA.AAAA.AAAA.AAAA")
    assert scene.refuses(json.dumps({"protected": header, "payload": payload, "signature": last}))
    assert scene.refuses(scene.issuer.token(scene.issuer.header(), token.encode()))
    assert scene.refuses(f"{header}..{last}")


def test_a_member_given_twice_is_refused_wherever_it_is(scene: Scene) -> None:
    header = json.dumps(scene.issuer.header()).encode()
    claims = json.dumps(scene.issuer.user()).encode()
    twice = b'{"alg":"RS256",' + header[1:]
    assert scene.refuses(scene.issuer.token(twice, claims))
    assert scene.refuses(scene.issuer.token(header, b'{"email":"eve@example.com",' + claims[1:]))
    assert scene.refuses(scene.issuer.token(header, claims[:-1] + b',"custom":{"a":1,"a":2}}'))
    assert scene.bearer(scene.issuer.token(header, claims))


@pytest.mark.parametrize(
    "form",
    [
        "UTF-16",
        "byte order mark",
        "array",
        "text",
        "too deep",
        "one level too deep",
        "invalid UTF-8",
        "empty",
        "trailing text",
        "NaN",
    ],
)
def test_a_payload_that_is_not_one_plain_object_is_refused(scene: Scene, form: str) -> None:
    claims = json.dumps(scene.issuer.user())
    payload = {
        "UTF-16": claims.encode("utf-16"),
        "byte order mark": b"\xef\xbb\xbf" + claims.encode(),
        "array": f"[{claims}]".encode(),
        "text": json.dumps(claims).encode(),
        "too deep": claims[:-1].encode() + b',"deep":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        "one level too deep": claims[:-1].encode() + b',"deep":' + b"[" * 32 + b"]" * 32 + b"}",
        "invalid UTF-8": claims[:-1].encode() + b',"a":"\xff"}',
        "empty": b" ",
        "trailing text": claims.encode() + b"{}",
        "NaN": claims[:-1].encode() + b',"a":NaN}',
    }[form]
    assert scene.refuses(scene.issuer.token(scene.issuer.header(), payload))


def test_a_claim_nested_as_deeply_as_a_body_may_be_is_taken(scene: Scene) -> None:
    claims = json.dumps(scene.issuer.user())[:-1].encode() + b',"deep":' + b"[" * 31 + b"]" * 31 + b"}"
    assert scene.bearer(scene.issuer.token(scene.issuer.header(), claims))


def test_a_payload_fifty_thousand_deep_is_refused(scene: Scene) -> None:
    assert scene.refuses(scene.issuer.token(scene.issuer.header(), b"[" * 50_000 + b"]" * 50_000))
