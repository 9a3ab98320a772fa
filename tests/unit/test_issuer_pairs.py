"""Nothing of one issuer is ever valid for another, not even where their kids or their very keys are equal."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
from similar_issuers import ALIKE, EQUAL_KEYS, NAMES, OWN, PROXY, Street, street
from token_fixtures import NOW
from tokens import base64url, encode, signature

from secretsvc.authentication.assertions import TokenRejected
from secretsvc.kernel.actors import Kind

PAIRS = [*permutations(NAMES, 2)]


@pytest.fixture(scope="module", params=ALIKE)
def near(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Street]:
    with street(tmp_path_factory.mktemp("street"), request.param) as made:
        yield made


def refused(near: Street, token: str) -> bool:
    with pytest.raises(TokenRejected):
        near.judge.verify(token, NOW)
    return True


def test_each_names_its_own_bearers(near: Street) -> None:
    for name, issuer in near.issuers.items():
        for kid in ("rsa-1", "ec-1"):
            found = near.judge.verify(issuer.sign(kid=kid), NOW).principal
            expected = Kind.USER if name == PROXY else Kind.SERVICE
            assert (found.kind, found.subject.removeprefix(f"{name}:")) == (expected, "ada@example.com")
            assert found.subject.startswith(f"{name}:") is (name != PROXY)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_half_of_anothers_pair_is_nobodys(near: Street, one: str, other: str) -> None:
    mine, theirs = near.issuers[one], near.issuers[other]
    assert refused(near, mine.sign(aud=theirs.audience))
    assert refused(near, mine.sign(aud=[theirs.audience]))
    assert refused(near, mine.sign(iss=theirs.issuer))
    assert refused(near, mine.sign(iss=[mine.issuer, theirs.issuer]))


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_key_signs_for_its_own_issuer_alone(near: Street, one: str, other: str) -> None:
    mine, theirs = near.issuers[one], near.issuers[other]
    for kid in ("rsa-1", "ec-1", f"{one}-rsa-1", f"{other}-rsa-1"):
        private = mine.keys[kid.removeprefix(f"{one}-").removeprefix(f"{other}-")]
        header = {"alg": private[0], "kid": kid, "typ": "JWT"}
        signed = f"{encode(header)}.{encode(theirs.user())}"
        token = f"{signed}.{base64url(signature(private[1], private[0], signed.encode()))}"
        if mine.alike == EQUAL_KEYS and kid in ("rsa-1", "ec-1"):
            # Who holds the keys of both is both; what it says is still of the one that it names.
            assert near.judge.verify(token, NOW).principal == near.judge.verify(theirs.sign(), NOW).principal
        else:
            assert refused(near, token)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_both_audiences_do_not_make_a_token_of_both(near: Street, one: str, other: str) -> None:
    mine, theirs = near.issuers[one], near.issuers[other]
    token = mine.sign(aud=[theirs.audience, mine.audience])
    assert near.judge.verify(token, NOW).principal == near.judge.verify(mine.sign(), NOW).principal
    assert refused(near, theirs.sign(iss=mine.issuer, aud=[theirs.audience]))


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_signature_is_not_carried_over_to_another_payload(near: Street, one: str, other: str) -> None:
    mine, theirs = near.issuers[one].sign(), near.issuers[other].sign("eve@example.com")
    parts, others = mine.split("."), theirs.split(".")
    assert refused(near, ".".join([parts[0], others[1], parts[2]]))
    assert refused(near, ".".join([parts[0], parts[1], others[2]]))
    assert refused(near, ".".join([others[0], parts[1], others[2]]))


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_what_was_found_genuine_is_remembered_of_its_own_issuer(near: Street, one: str, other: str) -> None:
    mine = near.issuers[one]
    token = mine.sign()
    first = near.judge.verify(token, NOW)
    assert near.judge.verify(token, NOW) == first
    assert refused(near, mine.sign(aud=near.issuers[other].audience))


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_an_unknown_kid_of_one_costs_the_others_source_nothing(near: Street, one: str, other: str) -> None:
    before = near.servers[other].hits
    for number in range(3):
        assert refused(near, near.issuers[one].sign(header={"kid": f"unknown-{number}"}))
    assert near.servers[other].hits == before


@pytest.mark.parametrize("member", ["iss", "aud"])
def test_a_pair_given_twice_is_refused(near: Street, member: str) -> None:
    for one, other in PAIRS:
        mine, theirs = near.issuers[one], near.issuers[other]
        value: Any = {"iss": theirs.issuer, "aud": theirs.audience}[member]
        payload = encode(mine.user())
        twice = f'{{"{member}":"{value}",'.encode() + _decoded(payload)[1:]
        assert refused(near, mine.token(mine.header(), twice))


def _decoded(segment: str) -> bytes:
    return base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4))


def test_kids_of_their_own_are_known_to_nobody_else(near: Street) -> None:
    if near.issuers[PROXY].alike != OWN:
        return
    for one, other in PAIRS:
        assert near.keys[one].find(f"{one}-rsa-1", "RS256")
        assert refused(near, near.issuers[one].sign(header={"kid": f"{other}-rsa-1"}))
