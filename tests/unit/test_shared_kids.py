"""A key source that gives one kid to several keys locks nobody out (RFC 7517, 4.5; contract 6.3)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from key_cache import ALGORITHMS, Clock, cache
from token_fixtures import LEEWAY, NOW
from tokens import TestIssuer, jwk, rsa_key

from secretsvc.authentication.assertions import AssertionVerifier, TokenRejected
from secretsvc.authentication.jwks import KeyCache
from secretsvc.kernel.rejections import RejectionReason


@pytest.fixture
def issuer(tmp_path: Path) -> TestIssuer:
    """An issuer whose three RSA keys and one EC key can be published under any kid."""
    made = TestIssuer(tmp_path)
    made.clock = lambda: NOW
    for name in ("rsa-2", "rsa-3"):
        made.add_rsa(name)
    return made


def listed(issuer: TestIssuer, name: str, kid: str, **members: Any) -> dict[str, Any]:
    """An entry of a key set: a key of the issuer under another kid."""
    alg, private = issuer.keys[name]
    return jwk(private, **{"kid": kid, "alg": alg, "use": "sig", **members})


def publish(issuer: TestIssuer, *entries: dict[str, Any]) -> None:
    issuer.write(json.dumps({"keys": entries}).encode())


def verifier(issuer: TestIssuer, keys: KeyCache) -> AssertionVerifier:
    return AssertionVerifier(keys, issuer.issuer, [issuer.audience], ALGORITHMS, LEEWAY)


def signed(issuer: TestIssuer, by: str, kid: str = "k", **claims: Any) -> str:
    return issuer.sign(kid=by, header={"kid": kid}, **claims)


def refusal(judge: AssertionVerifier, token: str) -> RejectionReason:
    with pytest.raises(TokenRejected) as caught:
        judge.verify(token, NOW)
    return caught.value.reason


@pytest.mark.parametrize("again", [{}, {"use": "enc"}, {"key_ops": ["wrapKey"]}, {"alg": "RSA-OAEP"}])
def test_a_key_that_is_listed_twice_verifies(issuer: TestIssuer, clock: Clock, again: dict[str, Any]) -> None:
    publish(issuer, listed(issuer, "rsa-1", "k", **again), listed(issuer, "rsa-1", "k"))
    judge = verifier(issuer, cache(issuer.jwks_url, clock))
    assert judge.verify(signed(issuer, "rsa-1"), NOW).principal.subject == "ada@example.com"


def test_a_kid_shared_by_keys_of_two_families_verifies_by_each(issuer: TestIssuer, clock: Clock) -> None:
    publish(issuer, listed(issuer, "rsa-1", "k"), listed(issuer, "ec-1", "k"))
    judge = verifier(issuer, cache(issuer.jwks_url, clock))
    for by in ("rsa-1", "ec-1"):
        assert judge.verify(signed(issuer, by), NOW).principal.subject == "ada@example.com"


def test_of_two_keys_of_one_kid_either_verifies_and_no_third_one_does(
    issuer: TestIssuer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    publish(issuer, *(listed(issuer, name, "k\n") for name in ("rsa-1", "rsa-2")))
    judge = verifier(issuer, cache(issuer.jwks_url, clock))
    for by in ("rsa-1", "rsa-2", "rsa-1"):
        assert judge.verify(signed(issuer, by, "k\n"), NOW).principal.subject == "ada@example.com"
        assert refusal(judge, signed(issuer, by, "k\n", aud="other")) is RejectionReason.AUDIENCE
        assert refusal(judge, signed(issuer, by, "k\n", exp=1)) is RejectionReason.EXPIRED
    assert refusal(judge, signed(issuer, "rsa-3", "k\n")) is RejectionReason.SIGNATURE
    publish(issuer, *(listed(issuer, name, "k\n") for name in ("rsa-2", "rsa-3", "ec-1")))
    judge.verify(signed(issuer, "rsa-3", "k\n"), NOW)
    assert refusal(judge, signed(issuer, "rsa-1", "k\n")) is RejectionReason.SIGNATURE
    told = 'the access proxy\'s keys: different keys have one kid, and each is tried: kid="k\\u{a}"'
    assert caplog.messages.count(told) == 1


def test_a_key_of_one_kid_does_not_verify_under_another(issuer: TestIssuer, clock: Clock) -> None:
    publish(
        issuer,
        listed(issuer, "rsa-1", "k"),
        listed(issuer, "rsa-2", "k"),
        listed(issuer, "rsa-3", "other"),
    )
    judge = verifier(issuer, cache(issuer.jwks_url, clock))
    assert refusal(judge, signed(issuer, "rsa-3")) is RejectionReason.SIGNATURE
    assert refusal(judge, signed(issuer, "rsa-1", "other")) is RejectionReason.SIGNATURE


def test_a_source_with_ever_new_kids_writes_a_bounded_log(
    issuer: TestIssuer, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    keys = cache(issuer.jwks_url, clock)
    for number in range(60):
        entries = [jwk(rsa_key(name), kid=f"k{number}") for name in ("rsa-1", "rsa-2")]
        publish(issuer, *entries)
        assert len(keys.find(f"k{number}", "RS256")) == 2
    assert len(caplog.messages) <= 20
