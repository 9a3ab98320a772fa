"""A key of the weak generator of CVE-2017-15361 is known by its modulus, and verifies nothing."""

from __future__ import annotations

import json
import random
from itertools import combinations, count, islice
from math import prod

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tokens import ABSENT, base64url, jwk, rsa_key

from secretsvc.authentication.jose import usable_keys
from secretsvc.authentication.roca import is_roca

# How many primes the generator's `M` has, by the bits of the modulus.
WEAK = [(512, 39), (1024, 71), (2048, 126), (4096, 225)]
PRIMES = [*islice((n for n in count(2) if all(n % k for k in range(2, n))), 225)]


def weak_factor(bits: int, primes: int, chance: random.Random) -> int:
    """`k * M + 65537**a mod M`, of so many bits."""
    m = prod(PRIMES[:primes])
    k = chance.randrange((1 << (bits - 1)) // m + 1, (1 << bits) // m)
    return k * m + pow(65_537, chance.randrange(1 << 60), m)


@pytest.fixture(scope="module")
def weak() -> int:
    """A modulus of 2048 bits of the weak form; whether its factors are prime cannot be told of it."""
    chance = random.Random(2017)  # noqa: S311 - a key that is to be weak
    found = prod(weak_factor(1024, 126, chance) for _ in range(2))
    assert found.bit_length() == 2048
    return found


@pytest.mark.parametrize(("bits", "primes"), WEAK)
def test_a_modulus_of_the_weak_form_is_known_at_every_size(bits: int, primes: int) -> None:
    chance = random.Random(bits)  # noqa: S311 - the same
    for _ in range(50):
        p, q = (weak_factor(bits // 2, primes, chance) for _ in range(2))
        assert is_roca(p * q)
        assert not is_roca(p * q + 2)


def test_ordinary_moduli_are_not_taken_for_weak_ones() -> None:
    # To find a prime is what takes time: each is a factor of many moduli.
    keys = [rsa.generate_private_key(65_537, 1024).private_numbers() for _ in range(15)]  # noqa: S505 - the fingerprint is that of any size
    moduli = [p * q for p, q in combinations([prime for key in keys for prime in (key.p, key.q)], 2)]
    assert len(moduli) > 300
    assert not any(map(is_roca, moduli))
    chance = random.Random(15361)  # noqa: S311 - numbers, not keys
    assert not any(is_roca(chance.getrandbits(2048) | 1) for _ in range(100_000))


def test_a_modulus_is_ordinary_where_a_single_prime_says_so(weak: int) -> None:
    # All but 11 are passed by what is 1 modulo the others, a power of 65537 everywhere; 2 is none modulo 11.
    others = prod(prime for prime in PRIMES[:39] if prime != 11)
    odd = next(n for n in count(1, others) if n % 11 == 2)
    assert not is_roca(odd)
    assert is_roca(weak)


def test_a_weak_key_in_the_key_set_is_not_used(weak: int) -> None:
    good = jwk(rsa_key("good"), kid="good")
    modulus = base64url(weak.to_bytes(256, "big"))
    bad = jwk(rsa_key("good"), kid="bad", n=modulus, alg=ABSENT)
    held = usable_keys(json.dumps({"keys": [good, bad]}).encode(), ["RS256", "PS256"])
    assert set(held.keys) == {"good"}
    with pytest.raises(ValueError, match="no usable key"):
        usable_keys(json.dumps({"keys": [bad]}).encode(), ["RS256"])
