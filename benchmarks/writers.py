"""16 writers on one environment: what fails, who loses a race, and how long the unluckiest waits.

Each sends batches of 5 of 20 keys over the wire, to two processes.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter

from bench import ENGINES, Report, options_of
from processes import Deployment
from wire import Client, at_once, deployment

WRITERS, PROCESSES, KEYS, AT_ONCE, GOAL = 16, 2, 20, 5, 15.0


def write(deployed: Deployment, seconds: float) -> tuple[list[float], Counter[int]]:
    """The milliseconds of all writes, and how often each status was given."""
    times: list[float] = []
    statuses: Counter[int] = Counter()
    deadline = time.monotonic() + seconds

    def work(number: int, client: Client) -> None:
        generator = random.Random(number)
        while time.monotonic() < deadline:
            keys = generator.sample(range(KEYS), AT_ONCE)
            body = {"mode": "merge", "set": {f"KEY_{key:03}": "x" * 64 for key in keys}}
            request = client.request("POST", "/secrets:batch", body)
            began = time.perf_counter()
            statuses[client.send(request)] += 1
            times.append((time.perf_counter() - began) * 1000)

    at_once(deployed, WRITERS, work)
    return times, statuses


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    report = Report(__file__, "median", "longest")
    for engine in options.engine or ENGINES:
        with deployment(engine, PROCESSES) as deployed:
            write(deployed, 1)
            times, statuses = write(deployed, options.seconds)
        lost, written = statuses.pop(409, 0), statuses.pop(200, 0)
        wait = statistics.median(times), max(times)
        report.add(engine, "wait of 16 writers", *wait, goal=GOAL, unit="ms")
        report.add(engine, "errors of all", written, statuses.total(), goal=0.0, unit="")
        report.add(engine, "lost races of all", written, lost, goal=0.0, unit="")
    report.save(options.json)


if __name__ == "__main__":
    main()
