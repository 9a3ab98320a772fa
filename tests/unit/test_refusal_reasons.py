"""Why an assertion is refused is known by a constant word, and what it said of itself by few facts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from token_fixtures import LEEWAY, NOW, Scene
from tokens import ABSENT, encode

from secretsvc.authentication.assertions import MAX_LENGTH, TokenRejected, read_assertion
from secretsvc.authentication.unverified_claims import unverified_facts
from secretsvc.kernel.rejections import LENGTH, MEMBERS, RejectionReason


def reason_for(scene: Scene, token: str) -> RejectionReason:
    with pytest.raises(TokenRejected) as caught:
        scene.verifier.verify(token, NOW)
    return caught.value.reason


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        pytest.param({"iss": "https://other.example.com"}, RejectionReason.ISSUER, id="issuer"),
        pytest.param({"aud": ["another"]}, RejectionReason.AUDIENCE, id="audience"),
        pytest.param({"iss": ABSENT}, RejectionReason.MISSING_CLAIM, id="no issuer"),
        pytest.param({"aud": ABSENT}, RejectionReason.MISSING_CLAIM, id="no audience"),
        pytest.param({"exp": ABSENT}, RejectionReason.MISSING_CLAIM, id="no expiry"),
        pytest.param({"exp": NOW - LEEWAY}, RejectionReason.EXPIRED, id="expired"),
        pytest.param({"nbf": NOW + LEEWAY + 1}, RejectionReason.NOT_YET, id="nbf"),
        pytest.param({"iat": NOW + LEEWAY + 1}, RejectionReason.NOT_YET, id="iat"),
        pytest.param({"exp": "tomorrow"}, RejectionReason.TIME, id="a time that is no number"),
        pytest.param({"nbf": -1}, RejectionReason.TIME, id="a time out of range"),
        pytest.param({"email_verified": False}, RejectionReason.EMAIL_VERIFIED, id="email_verified"),
        pytest.param({"email_verified": False, "email": "x"}, RejectionReason.EMAIL_VERIFIED, id="neither"),
        pytest.param({"email": "not an address"}, RejectionReason.SUBJECT, id="email"),
        pytest.param(
            {"email": ABSENT, "sub": "", "common_name": " x"}, RejectionReason.SUBJECT, id="common_name"
        ),
        pytest.param({"email": ABSENT}, RejectionReason.CLASSIFICATION, id="nobody"),
        pytest.param({"common_name": "robot"}, RejectionReason.CLASSIFICATION, id="two"),
        pytest.param({"sub": 7}, RejectionReason.CLASSIFICATION, id="sub as number"),
        pytest.param({"sub": ["a"]}, RejectionReason.CLASSIFICATION, id="sub as list"),
    ],
)
def test_claims_are_refused_for_a_reason(
    scene: Scene, claims: dict[str, Any], reason: RejectionReason
) -> None:
    assert reason_for(scene, scene.issuer.sign(**claims)) is reason


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        pytest.param({"alg": "none"}, RejectionReason.ALGORITHM, id="none"),
        pytest.param({"alg": "HS256"}, RejectionReason.ALGORITHM, id="symmetric"),
        pytest.param({"alg": "RS512"}, RejectionReason.ALGORITHM, id="not on the list"),
        pytest.param({"kid": ABSENT}, RejectionReason.NO_KID, id="no kid"),
        pytest.param({"kid": "unheard-of"}, RejectionReason.UNKNOWN_KID, id="unknown kid"),
        pytest.param({"kid": "ec-1"}, RejectionReason.UNKNOWN_KID, id="another algorithm's kid"),
        pytest.param({"crit": ["exp"]}, RejectionReason.HEADER, id="critical"),
        pytest.param({"typ": "at+jwt"}, RejectionReason.HEADER, id="type"),
        pytest.param({"cty": "JWT"}, RejectionReason.HEADER, id="nested"),
    ],
)
def test_headers_are_refused_for_a_reason(
    scene: Scene, header: dict[str, Any], reason: RejectionReason
) -> None:
    token = scene.issuer.token(scene.issuer.header(**header), scene.issuer.user(), alg="RS256")
    assert reason_for(scene, token) is reason


@pytest.mark.parametrize("alter", [lambda s: "Bg"[s[0] == "B"] + s[1:], lambda s: "A" * len(s)])
def test_a_wrong_signature_is_one(scene: Scene, alter: Any) -> None:
    head, claims, last = scene.issuer.sign().split(".")
    assert reason_for(scene, f"{head}.{claims}.{alter(last)}") is RejectionReason.SIGNATURE


@pytest.mark.parametrize("token", ["x", "..", "a.b.c", "e30.e30.e30", "\xff.\xfe.\xfd", "A" * 20_000])
def test_what_is_no_assertion_is_malformed_or_lacks_what_one_has(scene: Scene, token: str) -> None:
    assert reason_for(scene, token) in (RejectionReason.MALFORMED, RejectionReason.ALGORITHM)


def test_a_payload_that_is_no_strict_object_is_malformed(scene: Scene) -> None:
    twice = json.dumps(scene.issuer.user()).encode()[:-1] + b',"a":1,"a":2}'
    for payload in (b"[]", twice, b"[" * 9_000):
        token = scene.issuer.token(scene.issuer.header(), payload)
        assert reason_for(scene, token) is RejectionReason.MALFORMED


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({}, RejectionReason.ABSENT),
        ({"HTTP_H": ""}, RejectionReason.ABSENT),
        ({"HTTP_H": "Bearer "}, RejectionReason.ABSENT),
        ({"HTTP_H": "", "HTTP_COOKIE": "c=x"}, RejectionReason.ABSENT),
        ({"HTTP_COOKIE": "c="}, RejectionReason.ABSENT),
        ({"HTTP_COOKIE": "c=x; c=y"}, RejectionReason.AMBIGUOUS),
        ({"HTTP_COOKIE": "c=x; c="}, RejectionReason.AMBIGUOUS),
    ],
)
def test_a_request_without_one_assertion_is_refused_for_a_reason(
    environ: dict[str, str], reason: RejectionReason
) -> None:
    with pytest.raises(TokenRejected) as caught:
        read_assertion(environ, "H", "c")
    assert caught.value.reason is reason


def test_every_reason_of_assertions_is_met_here() -> None:
    marks = [
        *test_claims_are_refused_for_a_reason.pytestmark,
        *test_headers_are_refused_for_a_reason.pytestmark,
    ]
    met = {values.values[1] for mark in marks for values in mark.args[1]}
    others = {
        RejectionReason.SIGNATURE,
        RejectionReason.MALFORMED,
        RejectionReason.ABSENT,
        RejectionReason.AMBIGUOUS,
    }
    # Met in test_issuers.py.
    machines = {
        RejectionReason.RESERVED,
        RejectionReason.TWO_ISSUERS,
        RejectionReason.REQUIRED_CLAIM,
        RejectionReason.TEMPLATE,
    }
    machines |= {RejectionReason.CLAIM_TWICE}
    # Met in tests/functional/test_reserved_names.py.
    known = {RejectionReason.OTHER_ISSUER}
    assert met | others | machines | known == {
        reason for reason in RejectionReason if reason.value[0] == "assertion"
    }


def test_the_facts_are_kid_names_of_claims_issuer_audience_and_times(scene: Scene) -> None:
    token = scene.issuer.sign(aud=["one", "two"], exp=NOW + 1.5, iat=NOW, nbf=ABSENT)
    names = "iss, aud, type, iat, exp, sub, email, country"
    assert unverified_facts(token) == (
        f'kid="rsa-1" claims="{names}" iss="https://access.example.com" aud="one, two"'
        f" exp={NOW + 1.5} iat={NOW}"
    )


CANARY = "canary4711"


def test_no_other_claim_and_no_part_of_the_token_is_among_them(scene: Scene) -> None:
    hidden = dict.fromkeys(
        ("sub", "email", "common_name", "jti", "email_verified", "country", "custom"), f"{CANARY}@example.com"
    )
    tokens = [
        scene.issuer.sign(**hidden, groups=[CANARY], nested={CANARY: CANARY}),
        scene.issuer.sign(exp=CANARY, nbf=[CANARY], iat={"a": CANARY}, aud={"a": CANARY}, iss={"a": CANARY}),
        scene.issuer.sign(
            aud=[[CANARY], {"a": CANARY}], header={"typ": CANARY, "jku": CANARY, "kid": [[CANARY]]}
        ),
    ]
    for token in tokens:
        told = unverified_facts(token)
        assert "kid=" in told
        assert CANARY not in told
        assert not any(part in told for part in token.split("."))


def test_the_facts_are_bounded_and_printable_whatever_the_token_holds() -> None:
    evil = '\n"\\\u2028\U0001f600\x00' * 10
    claims = {f"{number}{evil}"[:20]: 1 for number in range(40)} | {"iss": evil, "aud": [evil] * 9}
    told = unverified_facts(f"{encode({'kid': evil})}.{encode(claims)}.")
    assert re.fullmatch(r"[ -~]{700,900}", told)
    assert told.count('"') == 2 * 4
    assert max(map(len, told.split('"'))) <= LENGTH


def test_only_some_names_of_many_claims_are_told() -> None:
    many = {str(number): 1 for number in range(99)}
    names = ", ".join(str(number) for number in range(MEMBERS))
    assert unverified_facts(f"{encode({})}.{encode(many)}.") == f'claims="{names}"'


def test_of_a_token_that_is_too_long_nothing_is_told(scene: Scene) -> None:
    assert unverified_facts(scene.issuer.sign(custom="x" * MAX_LENGTH)) == ""


@pytest.mark.parametrize(
    "token",
    ["", ".", "..", "a.b", "a.b.c.d", "\xff.\xfe.\xfd", "e30", "W10.W10.", "A" * 99_999, "bnVsbA.bnVsbA."],
)
def test_of_what_cannot_be_read_nothing_is_told(token: str) -> None:
    assert unverified_facts(token) in ("", 'claims=""')


def test_a_token_nested_too_deep_tells_nothing_of_its_claims(scene: Scene) -> None:
    for depth in (1_000, 5_000):
        deep = scene.issuer.token({"kid": "k"}, b'{"a":' + b"[" * depth + b"]" * depth + b"}")
        assert unverified_facts(deep) in ('kid="k" claims=""', 'kid="k" claims="a"')
