"""Whether an RSA modulus was made by the weak generator of CVE-2017-15361 ("ROCA").

Nemec, Sys, Svenda, Klinec, Matyas: "The Return of Coppersmith's Attack", ACM CCS 2017. Its primes are
`k * M + 65537**a mod M`, where `M` is the product of the first primes; so modulo each of these primes the
modulus is a power of 65537. An ordinary modulus passes for such a one once in 2**27.8 times.
"""

from __future__ import annotations

_GENERATOR = 65_537
# The odd primes of the smallest `M` that the generator uses; 2 tells nothing.
_PRIMES = (
    *(3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71),
    *(73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167),
)
_POWERS = {prime: frozenset(pow(_GENERATOR, power, prime) for power in range(prime)) for prime in _PRIMES}


def is_roca(modulus: int) -> bool:
    """Whether the modulus has the fingerprint, so that it may be factored and its signatures forged."""
    return all(modulus % prime in powers for prime, powers in _POWERS.items())
