"""How requests with Redis and without it are compared (`make faults`)."""

from __future__ import annotations

import pytest
from faults.counting import Pair, slower_by_rank, slower_in_pair

#: The machine was slow once on each side, in different pairs.
NOISE = [(0.5, 0.01), (0.01, 0.5), (0.02, 0.02)]


@pytest.mark.parametrize(
    ("pairs", "slower"),
    [
        ([(0.01, 0.01), (0.02, 0.02)], 0.0),
        ([(0.01, 0.31), (0.02, 0.02)], 0.29),
        # All of them by a little.
        ([(0.01, 0.11), (0.02, 0.12)], 0.1),
        (NOISE, 0.0),
        ([*NOISE, (0.02, 0.6)], 0.48),
    ],
)
def test_by_rank_the_slowest_the_medians_and_all_others_are_compared(
    pairs: list[Pair], slower: float
) -> None:
    assert slower_by_rank(pairs) == pytest.approx(slower)


def test_in_pairs_a_delay_counts_that_is_there_in_each_round() -> None:
    calm = [(0.02, 0.02), (0.03, 0.01)]
    assert slower_in_pair([calm, NOISE, calm]) == 0.0
    delayed = [*NOISE, (0.02, 0.32)]
    assert slower_in_pair([delayed, [*calm, (0.01, 0.31)], delayed]) == pytest.approx(0.3)
