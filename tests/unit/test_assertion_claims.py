"""A genuine signature is not enough: the claims must be ours, in force, and name somebody."""

from __future__ import annotations

import json
from typing import Any

import pytest
from token_fixtures import LEEWAY, NOW, Scene
from tokens import ABSENT

from secretsvc.kernel.actors import Kind, Principal

NUMBERS = {
    "null": "null",
    "a list": "[1]",
    "true": "true",
    "zero": "0",
    "negative": "-1",
    "NaN": "NaN",
    "Infinity": "Infinity",
    "minus Infinity": "-Infinity",
    "1e400": "1e400",
    "5000 digits": "9" * 5_000,
    "400 digits": "9" * 400,
    "10**30": str(10**30),
    "2**53": str(2**53),
    "a text": f'"{NOW + 300}"',
    "a padded text": f'" {NOW + 300} "',
    "underscores": '"9_999_999_999"',
    "full-width digits": '"\uff19\uff19\uff19\uff19\uff19\uff19\uff19\uff19\uff19\uff19"',
}


@pytest.mark.parametrize("claim", ["exp", "nbf", "iat"])
@pytest.mark.parametrize("form", NUMBERS)
def test_a_time_that_is_no_plain_number_is_refused(scene: Scene, claim: str, form: str) -> None:
    claims = scene.issuer.user(**{claim: "HERE"})
    payload = json.dumps(claims).replace('"HERE"', NUMBERS[form]).encode()
    assert scene.refuses(scene.issuer.token(scene.issuer.header(), payload))


@pytest.mark.parametrize("claim", ["exp", "iss", "aud"])
def test_expiry_issuer_and_audience_are_required(scene: Scene, claim: str) -> None:
    assert scene.refuses(scene.issuer.sign(**{claim: ABSENT}))
    assert scene.refuses(scene.issuer.sign(**{claim: None}))


@pytest.mark.parametrize(
    "now",
    [NOW, NOW + 0.5, NOW - 86_400 * 365, NOW + 86_400 * 365],
    ids=["now", "half a second later", "a year ago", "in a year"],
)
def test_times_are_judged_by_the_clock_value_given_to_the_leeway(scene: Scene, now: float) -> None:
    def token(**claims: Any) -> str:
        return scene.issuer.sign(**{"exp": now + 60, "nbf": ABSENT, "iat": ABSENT, **claims})

    assert scene.bearer(token(exp=now - LEEWAY + 1), now)
    assert scene.refuses(token(exp=now - LEEWAY), now)
    assert scene.refuses(token(exp=now - LEEWAY - 1), now)
    for claim in ("nbf", "iat"):
        assert scene.bearer(token(**{claim: now + LEEWAY - 1}), now)
        assert scene.bearer(token(**{claim: now + LEEWAY}), now)
        assert scene.refuses(token(**{claim: now + LEEWAY + 1}), now)


@pytest.mark.parametrize(
    "aud",
    [
        pytest.param(lambda ours: ours[:-1], id="prefix"),
        pytest.param(lambda ours: ours + "0", id="suffix"),
        pytest.param(lambda ours: ours.upper(), id="upper case"),
        pytest.param(lambda ours: ours + " ", id="trailing space"),
        pytest.param(lambda ours: ours + "\x00", id="trailing NUL"),
        pytest.param(lambda ours: [], id="empty list"),
        pytest.param(lambda ours: "", id="empty text"),
        pytest.param(lambda ours: {ours: ours}, id="object"),
        pytest.param(lambda ours: [1, ours], id="list with a number"),
        pytest.param(lambda ours: [[ours]], id="nested list"),
        pytest.param(lambda ours: ["fedcba9876543210" * 4], id="another application of the issuer"),
    ],
)
def test_an_assertion_for_another_audience_is_refused(scene: Scene, aud: Any) -> None:
    assert scene.refuses(scene.issuer.sign(aud=aud(scene.issuer.audience)))


@pytest.mark.parametrize(
    "iss",
    [
        pytest.param("https://access.example.com/", id="trailing slash"),
        pytest.param("https://ACCESS.example.com", id="upper case"),
        pytest.param("http://access.example.com", id="http"),
        pytest.param(["https://access.example.com"], id="list"),
        pytest.param("https://access.example", id="prefix"),
        pytest.param("https://access.example.com.evil.example", id="suffix"),
        pytest.param("https://other.example.com", id="another team with the same kid"),
        pytest.param("", id="empty"),
    ],
)
def test_an_assertion_of_another_issuer_is_refused(scene: Scene, iss: Any) -> None:
    assert scene.refuses(scene.issuer.sign(iss=iss))


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"sub": 7}, id="sub as number"),
        pytest.param({"sub": ["user-1"]}, id="sub as list"),
        pytest.param({"sub": None}, id="null sub"),
        pytest.param({"common_name": "robot"}, id="email and common_name"),
        pytest.param({"common_name": "robot", "sub": ""}, id="email and common_name, empty sub"),
        pytest.param({"common_name": None}, id="email and a null common_name"),
        pytest.param({"email": ABSENT}, id="neither"),
        pytest.param({"email": ABSENT, "sub": ""}, id="neither, empty sub"),
        pytest.param({"sub": ""}, id="email with an empty sub"),
        pytest.param({"sub": ABSENT}, id="email without sub"),
        pytest.param({"email": ABSENT, "common_name": "robot"}, id="common_name with a sub"),
        pytest.param({"email": ABSENT, "common_name": "robot", "sub": ABSENT}, id="common_name without sub"),
        pytest.param({"email": ABSENT, "common_name": "robot", "sub": None}, id="common_name, null sub"),
        pytest.param({"email": ABSENT, "common_name": "", "sub": ""}, id="empty common_name"),
        pytest.param({"email": ABSENT, "common_name": 7, "sub": ""}, id="common_name as number"),
        pytest.param({"email": "", "common_name": "robot", "sub": ""}, id="empty email and common_name"),
        pytest.param({"email": None, "common_name": "robot", "sub": ""}, id="null email and common_name"),
        pytest.param({"email": ""}, id="empty email"),
        pytest.param({"email": None}, id="null email"),
        pytest.param({"email": ["ada@example.com"]}, id="email as list"),
        pytest.param({"email": "ada@example.com\x00"}, id="email with NUL"),
        pytest.param({"email": "\ud800@example.com"}, id="email with a lone surrogate"),
        pytest.param({"email": "a\u200bda@example.com"}, id="email with a zero width space"),
        pytest.param({"email": "\u212a@example.com"}, id="email with the Kelvin sign"),
        pytest.param({"email": "\u0130@example.com"}, id="email with the dotted I"),
        pytest.param({"email": "ada lovelace@example.com"}, id="email with a space"),
        pytest.param({"email": "ada@b@example.com"}, id="email with two at signs"),
        pytest.param({"email": "\u017f@example.com"}, id="email with the long s"),
    ],
)
def test_claims_that_name_nobody_in_particular_are_refused(scene: Scene, claims: dict[str, Any]) -> None:
    assert scene.refuses(scene.issuer.sign(**claims))


@pytest.mark.parametrize("verified", [ABSENT, True, "true"], ids=["absent", "True", "text"])
def test_an_address_that_its_issuer_verified_or_says_nothing_of_is_accepted(
    scene: Scene, verified: Any
) -> None:
    assert scene.bearer(scene.issuer.sign(email_verified=verified)).subject == "ada@example.com"


@pytest.mark.parametrize(
    "verified",
    [
        False,
        None,
        "false",
        "",
        "True",
        "TRUE",
        " true",
        "yes",
        0,
        1,
        1.0,
        [],
        [True],
        ["true"],
        {"true": True},
    ],
    ids=repr,
)
def test_an_address_that_its_issuer_did_not_verify_is_refused(scene: Scene, verified: Any) -> None:
    assert scene.refuses(scene.issuer.sign(email_verified=verified))
    assert scene.refuses(scene.issuer.sign("root@example.com", email_verified=verified))


def test_the_claim_says_nothing_of_a_service_token_which_has_no_address(scene: Scene) -> None:
    token = scene.issuer.service("robot", email_verified=False)
    assert scene.bearer(token) == Principal(Kind.SERVICE, "robot")


def test_addresses_that_differ_in_case_alone_are_one_subject(scene: Scene) -> None:
    assert scene.bearer(scene.issuer.sign("A@x")) == scene.bearer(scene.issuer.sign("a@X"))


def test_a_service_token_may_have_a_name_with_spaces_which_is_kept_as_it_is(scene: Scene) -> None:
    service = scene.bearer(scene.issuer.service("GitHub  Actions deploy"))
    assert service == Principal(Kind.SERVICE, "GitHub  Actions deploy")


@pytest.mark.parametrize(
    "name", [" robot", "robot ", " ", "ro\tbot", "ro\nbot", "ro\u00a0bot", "ro\u3000bot"]
)
def test_a_service_token_with_other_white_space_in_its_name_is_refused(scene: Scene, name: str) -> None:
    assert scene.refuses(scene.issuer.service(name))


def test_an_administrators_address_as_a_service_name_is_still_a_service(scene: Scene) -> None:
    service = scene.bearer(scene.issuer.service("ada@example.com"))
    assert service == Principal(Kind.SERVICE, "ada@example.com")
    assert service != scene.bearer(scene.issuer.sign("ada@example.com"))
