"""Whether the time of an answer tells a thing that is not there from one that the caller may not see.

For each pair of requests that get the same 404, 2 x 2,000 of them interleaved, or fewer on a slow disk; the
first tenth is thrown away. Prints the medians, their difference, and the p of a Mann-Whitney U test. The
goal: no difference of more than 200 us that is more than chance (p < 1e-6).

With TMPDIR on a memory file system it shows the work of the processor alone.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from collections.abc import Iterator, Sequence

from bench import ENGINES, Request, Service, databases, service_over

from secretsvc.kernel.ids import new_id

NOBODY, WARDEN = "eve@example.com", "ada@example.com"
GOAL_US = 200
# A machine whose disk is slow gets fewer of them.
PATIENCE_SECONDS = 25


def mann_whitney_p(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The two-sided p of "both come from one distribution", by the normal approximation."""
    ranked = sorted([(value, 0) for value in xs] + [(value, 1) for value in ys])
    rank_sum, start = 0.0, 0
    while start < len(ranked):
        end = start
        while end < len(ranked) and ranked[end][0] == ranked[start][0]:
            end += 1
        shared = (start + 1 + end) / 2
        rank_sum += shared * sum(1 for _, group in ranked[start:end] if group == 0)
        start = end
    n, m = len(xs), len(ys)
    u = rank_sum - n * (n + 1) / 2
    z = (u - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
    return math.erfc(abs(z) / math.sqrt(2))


def arrange(service: Service) -> None:
    """Projects with an environment each; one caller holds nothing, the other administers one environment."""
    admin = service.user()
    for number in range(20):
        slug = f"shop-{number:02}"
        admin.post("/projects", {"slug": slug, "name": slug}, 201)
        admin.post(f"/projects/{slug}/environments", {"slug": "prod", "name": "Prod"}, 201)
    service.identity_id(NOBODY)
    service.grant(WARDEN, "admin", "shop-00/prod")
    for subject in (NOBODY, WARDEN):
        service.user(subject).get("/whoami")


def pairs(service: Service) -> Iterator[tuple[str, Request, Request]]:
    """The name of the question, asked of an invisible thing and of an absent one."""

    def ask(subject: str, method: str, invisible: str, absent: str) -> tuple[Request, Request]:
        return Request(service, subject, method, invisible, 404), Request(
            service, subject, method, absent, 404
        )

    environments = "/projects/{}/environments/{}"
    yield "GET project", *ask(NOBODY, "GET", "/projects/shop-07", "/projects/shop-77")
    yield (
        "GET environment",
        *ask(NOBODY, "GET", environments.format("shop-07", "prod"), environments.format("shop-07", "prox")),
    )
    yield (
        "GET environment, no project",
        *ask(NOBODY, "GET", environments.format("shop-07", "prod"), environments.format("shop-77", "prod")),
    )
    yield "GET /audit?project=", *ask(WARDEN, "GET", "/audit?project=shop-07", "/audit?project=shop-77")
    foreign = service.grant("bob@example.com", "reader", "shop-07")
    yield "DELETE /grants/{id}", *ask(WARDEN, "DELETE", f"/grants/{foreign}", f"/grants/{new_id()}")


def measure(invisible: Request, absent: Request, count: int) -> tuple[list[float], list[float]]:
    """Microseconds of either, sent in turns in a random order."""
    times: tuple[list[float], list[float]] = ([], [])
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(times[0]) < count and time.monotonic() < deadline:
        for which in random.sample((0, 1), 2):
            times[which].append((invisible, absent)[which].timed() * 1e6)
    first = len(times[0]) // 10
    return times[0][first:], times[1][first:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--engine", choices=ENGINES, action="append")
    options = parser.parse_args()
    print(f"{'engine':<11}{'request':<29}{'invisible':>10}{'absent':>10}{'difference':>12}{'p':>10}")
    for engine in options.engine or ENGINES:
        with databases(engine) as made, service_over(made) as service:
            arrange(service)
            for name, invisible, absent in pairs(service):
                xs, ys = measure(invisible, absent, options.count)
                p, difference = mann_whitney_p(xs, ys), statistics.median(xs) - statistics.median(ys)
                verdict = "  over the goal" if abs(difference) > GOAL_US and p < 1e-6 else ""
                print(
                    f"{engine:<11}{name:<29}{statistics.median(xs):>7.0f} us{statistics.median(ys):>7.0f} us"
                    f"{difference:>+9.0f} us{p:>10.1e}{verdict}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
