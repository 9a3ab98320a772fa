"""The geometry of the chart of activity; a drawing is `HEIGHT` high and `STEP` wide for each bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from secretsvc.auditlog.rules.activity import Bucket

HEIGHT, STEP, GAP = 100, 10, 2


@dataclass(frozen=True, slots=True)
class Bar:
    """A bucket's column, successes at its foot and denials upon them; in the drawing's own units."""

    bucket: Bucket
    x: int
    successes_y: float
    successes_height: float
    denials_y: float
    denials_height: float
    width: int = STEP - GAP


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars from left to right; the greatest total of a bucket fills the height."""

    bars: list[Bar]
    height: int = HEIGHT

    @property
    def width(self) -> int:
        """Of the whole drawing."""
        return STEP * len(self.bars)

    @property
    def ticks(self) -> tuple[Bucket, Bucket, Bucket]:
        """The first, the middle and the last bucket, whose times stand under a chart with bars."""
        return self.bars[0].bucket, self.bars[len(self.bars) // 2].bucket, self.bars[-1].bucket


def draw(buckets: Sequence[Bucket]) -> Chart:
    """A chart of buckets that have `successes`, `denials` and `total`."""
    peak = max((one.total for one in buckets), default=0)
    unit = HEIGHT / max(peak, 1)
    return Chart([_bar(one, number * STEP + GAP // 2, unit) for number, one in enumerate(buckets)])


def _bar(bucket: Bucket, x: int, unit: float) -> Bar:
    denials, successes = round(bucket.denials * unit, 2), round(bucket.successes * unit, 2)
    top = round(HEIGHT - successes, 2)
    return Bar(bucket, x, top, successes, round(top - denials, 2), denials)
