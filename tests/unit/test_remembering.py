"""A genuine assertion is verified once, and forgotten as soon as verifying it anew could say otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from key_cache import Clock, cache
from token_fixtures import ALGORITHMS, LEEWAY, NOW
from tokens import TestIssuer

from secretsvc.authentication.assertion_cache import RememberingVerifier
from secretsvc.authentication.assertions import AssertionVerifier, Verified
from secretsvc.authentication.jwks import HARD_LIFE, KeyCache
from secretsvc.kernel.errors import IdentityProviderUnavailable, Unauthenticated

CAPACITY = 3


class CountingVerifier(AssertionVerifier):
    """The real one; it counts, and lets something happen while it verifies."""

    def __init__(self, keys: KeyCache, issuer: TestIssuer) -> None:
        super().__init__(keys, issuer.issuer, [issuer.audience], ALGORITHMS, LEEWAY)
        self.count = 0
        self.meanwhile = lambda: None

    def verify(self, token: str, now: float) -> Verified:
        self.count += 1
        verified = super().verify(token, now)
        self.meanwhile()
        return verified


class Desk:
    """An issuer, its keys, and the verifier that remembers."""

    def __init__(self, issuer: TestIssuer, clock: Clock) -> None:
        self.issuer, self.clock = issuer, clock
        self.keys = cache(issuer.jwks_url, clock, cooldown=0)
        self.verifier = CountingVerifier(self.keys, issuer)
        self.remembering = RememberingVerifier(self.verifier, self.keys, LEEWAY, CAPACITY)

    def verifications(self, token: str, now: float = NOW) -> int:
        """How often the token had to be verified to be accepted now."""
        before = self.verifier.count
        assert self.remembering.verify(token, now).principal.subject == "ada@example.com"
        return self.verifier.count - before

    def refuses(self, token: str, now: float = NOW) -> bool:
        with pytest.raises(Unauthenticated):
            self.remembering.verify(token, now)
        return True


@pytest.fixture
def desk(tmp_path: Path, clock: Clock) -> Iterator[Desk]:
    issuer = TestIssuer(tmp_path)
    issuer.clock = lambda: NOW
    return Desk(issuer, clock)


def test_an_assertion_is_verified_once_however_often_it_comes(desk: Desk) -> None:
    token = desk.issuer.sign()
    assert [desk.verifications(token) for _ in range(3)] == [1, 0, 0]


def test_what_is_remembered_is_what_was_verified(desk: Desk) -> None:
    token = desk.issuer.service("Robot.Access")
    first, second = (desk.remembering.verify(token, NOW) for _ in range(2))
    assert first == second == desk.verifier.verify(token, NOW)


def test_it_is_refused_once_it_has_expired_and_the_leeway_is_over(desk: Desk) -> None:
    token = desk.issuer.sign(exp=NOW + 60)
    assert desk.verifications(token) == 1
    assert desk.verifications(token, NOW + 60 + LEEWAY - 1) == 0
    assert desk.refuses(token, NOW + 60 + LEEWAY)


def test_it_is_refused_before_its_time_also_when_it_was_in_force_already(desk: Desk) -> None:
    token = desk.issuer.sign(nbf=NOW, iat=NOW)
    assert desk.verifications(token) == 1
    assert desk.verifications(token, NOW - LEEWAY) == 0
    assert desk.refuses(token, NOW - LEEWAY - 1)


def test_one_that_is_not_yet_in_force_is_accepted_when_it_is(desk: Desk) -> None:
    token = desk.issuer.sign(nbf=NOW + 100, iat=NOW)
    assert desk.refuses(token)
    assert [desk.verifications(token, NOW + 100) for _ in range(2)] == [1, 0]


def test_a_service_token_without_nbf_is_remembered_too(desk: Desk) -> None:
    token = desk.issuer.service()
    for _ in range(2):
        desk.remembering.verify(token, NOW)
    assert desk.verifier.count == 1


def test_it_is_refused_as_soon_as_its_key_is_withdrawn(desk: Desk) -> None:
    token = desk.issuer.sign(kid="rsa-1")
    assert desk.verifications(token) == 1
    desk.issuer.publish("ec-1")
    assert desk.refuses(token)


def test_it_is_verified_anew_when_the_key_set_has_changed(desk: Desk) -> None:
    token = desk.issuer.sign(kid="rsa-1")
    assert desk.verifications(token) == 1
    desk.issuer.publish("rsa-1")
    assert [desk.verifications(token) for _ in range(2)] == [1, 0]


def test_it_does_not_outlive_keys_that_were_given_up(desk: Desk) -> None:
    token = desk.issuer.sign()
    assert desk.verifications(token) == 1
    desk.issuer.jwks_path.unlink()
    desk.clock.advance(HARD_LIFE)
    with pytest.raises(IdentityProviderUnavailable):
        desk.remembering.verify(token, NOW)


def test_it_is_not_remembered_when_the_keys_changed_while_it_was_verified(desk: Desk) -> None:
    token, bystander = desk.issuer.sign(kid="rsa-1"), desk.issuer.sign(kid="ec-1")

    def meanwhile() -> None:
        desk.verifier.meanwhile = lambda: None
        desk.issuer.publish("ec-1")
        desk.remembering.verify(bystander, NOW)

    desk.remembering.verify(bystander, NOW)
    desk.verifier.meanwhile = meanwhile
    desk.remembering.verify(token, NOW)
    assert desk.refuses(token)


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "\xff"], ids=ascii)
def test_a_refusal_is_not_remembered(desk: Desk, token: str) -> None:
    assert desk.refuses(token)
    assert desk.refuses(token)
    assert desk.verifier.count == 2


def test_another_token_of_the_same_bearer_is_verified_for_itself(desk: Desk) -> None:
    token = desk.issuer.sign()
    assert desk.verifications(token) == 1
    head, body, signature = token.split(".")
    assert desk.refuses(f"{head}.{body}.{'A' * len(signature)}")
    assert desk.verifications(desk.issuer.sign(exp=NOW + 61)) == 1


def test_the_ones_used_last_are_kept_and_no_more_than_fit(desk: Desk) -> None:
    tokens = [desk.issuer.sign(exp=NOW + 100 + number) for number in range(CAPACITY + 1)]
    for token in tokens[:CAPACITY]:
        assert desk.verifications(token) == 1
    assert desk.verifications(tokens[0]) == 0
    assert desk.verifications(tokens[CAPACITY]) == 1
    assert [desk.verifications(token) for token in (tokens[0], tokens[2], tokens[3])] == [0, 0, 0]
    assert desk.verifications(tokens[1]) == 1
