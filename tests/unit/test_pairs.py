"""How requests with Redis and without it are compared (`make faults`)."""

from __future__ import annotations

import pytest
from faults.counting import slower_by


@pytest.mark.parametrize(
    ("pairs", "slower"),
    [
        ([(0.01, 0.01), (0.02, 0.02)], 0.0),
        ([(0.01, 0.31), (0.02, 0.02)], 0.29),
        # All of them by a little.
        ([(0.01, 0.11), (0.02, 0.12)], 0.1),
        # The machine was slow once on each side, in different pairs.
        ([(0.5, 0.01), (0.01, 0.5), (0.02, 0.02)], 0.0),
        ([(0.5, 0.01), (0.01, 0.5), (0.02, 0.6)], 0.48),
    ],
)
def test_requests_are_slower_by_what_the_slowest_the_median_and_any_other_rank_are(
    pairs: list[tuple[float, float]], slower: float
) -> None:
    assert slower_by(pairs) == pytest.approx(slower)
