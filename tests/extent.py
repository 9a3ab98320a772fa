"""The extent of tests that take hours: a fixed sample, or with `--long` all (`make test-long`).

A test that takes more with `--long` is marked `long`, so that `make test-long` finds it. For instance:

    @pytest.mark.long
    @pytest.mark.parametrize("status", sample(range(300, 600), 12))

`conftest.py` calls `take_all` before tests are collected, so that constants of modules can depend on it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

#: Of every sample and every moment chosen by chance, so that two runs do the same.
SEED = 20261

_takes_all = False


def take_all() -> None:
    """Have this process take all cases from now on: `--long` was given."""
    global _takes_all
    _takes_all = True


def amount(usual: T, whole: T) -> T:
    """Return `usual`, or `whole` with `--long`: a number of rounds, kills, seconds or examples."""
    return whole if _takes_all else usual


def sample(cases: Sequence[T], count: int) -> list[T]:
    """Return the same `count` of the cases in each run, in their order; with `--long` all of them."""
    if _takes_all or count >= len(cases):
        return list(cases)
    chosen = random.Random(SEED).sample(range(len(cases)), count)  # noqa: S311 - no secret
    return [cases[number] for number in sorted(chosen)]


def chance() -> random.Random:
    """Return a generator of the fixed seed; with `--long` of a new one, which is printed."""
    seed = random.randrange(2**32) if _takes_all else SEED  # noqa: S311 - no secret
    print(f"\nseed {seed}")
    return random.Random(seed)  # noqa: S311
