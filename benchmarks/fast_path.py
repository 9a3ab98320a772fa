"""What the fast path to the database buys: the CPU time of a request without it, and with it.

Both are measured in turns in one process (`secretsvc/db/fast/switch.py`). A pair's ratio hardly depends on
what else the machine does; the mean of the ratios is geometric, with its bounds of 95 %. The database's own
processes are not in it.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from argparse import Namespace

from bench import ENGINES, Request, databases, options_of, service_over
from operations import chosen, fill, request_of

from secretsvc.db.fast import switch

#: Of Student's distribution with 29 degrees of freedom.
PAIRS, QUANTILE = 30, 2.045


def took(request: Request, count: int, *, fast: bool) -> float:
    """The CPU seconds of one request."""
    switch.ENABLED = fast
    gc.collect()
    began = time.process_time()
    for _ in range(count):
        request.send()
    return (time.process_time() - began) / count


def ratios(request: Request, seconds: float) -> list[float]:
    """Of each pair, without to with, whose halves take as many seconds."""
    for fast in (False, True):
        took(request, 20, fast=fast)
    count = max(3, round(seconds / took(request, 20, fast=True)))
    found = []
    for pair in range(PAIRS):
        first = bool(pair % 2)
        times = {fast: took(request, count, fast=fast) for fast in (first, not first)}
        found.append(times[False] / times[True])
    return found


def bounds(found: list[float]) -> tuple[float, float, float]:
    """The lower bound, the geometric mean and the upper bound."""
    logarithms = [math.log(one) for one in found]
    mean = statistics.fmean(logarithms)
    margin = QUANTILE * statistics.stdev(logarithms) / math.sqrt(PAIRS)
    return math.exp(mean - margin), math.exp(mean), math.exp(mean + margin)


def measure(engine: str, options: Namespace) -> None:
    with databases(engine) as made, service_over(made) as service:
        fill(service)
        for operation in chosen(options):
            lower, mean, upper = bounds(ratios(request_of(service, operation), options.seconds))
            print(f"{engine:<11}{operation.name:<24}{mean:>6.2f}  ({lower:.2f} to {upper:.2f})", flush=True)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each half of a pair")
    parser.add_argument("--only", help="part of the name of an operation")
    options = parser.parse_args()
    for engine in options.engine or ENGINES:
        measure(engine, options)


if __name__ == "__main__":
    main()
