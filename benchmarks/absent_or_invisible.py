"""Whether the time of an answer tells a thing that is not there from one that the caller may not see.

For each pair of requests that get the same 404, 2 x 10,000 of them, the two of a pair in a random order; the
first tenth is thrown away. Prints the medians, their difference, and the AUC: how often an invisible thing
took longer than an absent one, with the half width of its 95 % interval. The goal: within 0.5 +- 0.012.
Beside it stands a control, of two things that are both absent.

`--limit on` writes each denial under a limit that is not reached, `off` has none, `past` is beyond it.
With TMPDIR on a memory file system it shows the work of the processor alone.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import time
from collections.abc import Iterator, Sequence

from audit_pages import fill
from bench import ENGINES, Request, Service, databases, service_over

NOBODY, WARDEN = "eve@example.com", "ada@example.com"
GOAL = 0.012
LIMITS = {"on": "1000000000/day", "off": "", "past": "1/day"}


def auc(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The share of pairs of one of either in which `xs` has the greater; equal ones are half."""
    ranked = sorted([(value, 0) for value in xs] + [(value, 1) for value in ys])
    rank_sum, start = 0.0, 0
    while start < len(ranked):
        end = start
        while end < len(ranked) and ranked[end][0] == ranked[start][0]:
            end += 1
        shared = (start + 1 + end) / 2
        rank_sum += shared * sum(1 for _, group in ranked[start:end] if group == 0)
        start = end
    return (rank_sum - len(xs) * (len(xs) + 1) / 2) / (len(xs) * len(ys))


def half_width(n: int, m: int) -> float:
    """Of the 95 % interval of an AUC of 0.5."""
    return 1.96 * math.sqrt((n + m + 1) / (12 * n * m))


def arrange(service: Service) -> None:
    """Projects with an environment each; one caller holds nothing, the other administers one environment."""
    admin = service.user()
    for number in range(0, 40, 2):
        slug = f"shop-{number:02}"
        admin.post("/projects", {"slug": slug, "name": slug}, 201)
        admin.post(f"/projects/{slug}/environments", {"slug": "prod", "name": "Prod"}, 201)
    admin.post("/projects/shop-08/environments", {"slug": "demo", "name": "Demo"}, 201)
    path = "/projects/shop-08/environments/prod/secrets:batch"
    admin.post(path, {"mode": "merge", "set": {"KEY": "x"}})
    service.identity_id(NOBODY)
    service.grant(WARDEN, "admin", "shop-00/prod")
    for subject in (NOBODY, WARDEN):
        service.user(subject).get("/whoami")


#: Who asks, with which project and environment the thing is invisible, and with which two it is absent.
QUESTIONS = {
    "project": (NOBODY, "/projects/{}", ("shop-08",), ("shop-07",), ("shop-09",)),
    "environment": (
        NOBODY,
        "/projects/{}/environments/{}",
        ("shop-08", "prod"),
        ("shop-08", "prox"),
        ("shop-08", "proy"),
    ),
    "environment, no project": (
        NOBODY,
        "/projects/{}/environments/{}",
        ("shop-08", "prod"),
        ("shop-07", "prod"),
        ("shop-09", "prod"),
    ),
    "secret": (
        NOBODY,
        "/projects/{}/environments/{}/secrets/KEY",
        ("shop-08", "prod"),
        ("shop-07", "prod"),
        ("shop-09", "prod"),
    ),
    "audit of a project": (WARDEN, "/audit?project={}", ("shop-08",), ("shop-07",), ("shop-09",)),
    "audit of an environment": (
        WARDEN,
        "/audit?project={}&environment={}",
        ("shop-08", "prod"),
        ("shop-07", "prod"),
        ("shop-09", "prod"),
    ),
    "audit of environments": (WARDEN, "/audit?environment={}", ("demo",), ("demp",), ("demq",)),
}


def pairs(service: Service) -> Iterator[tuple[str, Request, Request]]:
    """The name of the question, asked of an invisible thing and of an absent one, or of two absent ones."""
    for name, (subject, path, invisible, absent, other) in QUESTIONS.items():
        asked = [
            Request(service, subject, "GET", path.format(*names), 404) for names in (invisible, absent, other)
        ]
        yield name, asked[0], asked[1]
        yield f"{name}, control", asked[2], asked[1]


def measure(invisible: Request, absent: Request, count: int) -> tuple[list[float], list[float]]:
    """Microseconds of either, sent in turns in a random order."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(count):
        for which in random.sample((0, 1), 2):
            times[which].append((invisible, absent)[which].timed() * 1e6)
    first = count // 10
    return times[0][first:], times[1][first:]


def show(engine: str, limit: str, service: Service, count: int) -> None:
    """Measures all pairs, a line each."""
    for name, invisible, absent in pairs(service):
        began = time.monotonic()
        xs, ys = measure(invisible, absent, count)
        found, medians = auc(xs, ys), (statistics.median(xs), statistics.median(ys))
        verdict = "  misses the goal" if abs(found - 0.5) > GOAL else ""
        print(
            f"{engine:<11}{limit:<6}{name:<34}{medians[0]:>8.0f} us{medians[1]:>8.0f} us"
            f"{medians[0] - medians[1]:>+8.1f} us{found:>8.4f} +- {half_width(len(xs), len(ys)):.4f}"
            f"{time.monotonic() - began:>6.0f} s{verdict}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="pairs of each question")
    parser.add_argument("--engine", choices=ENGINES, action="append")
    parser.add_argument("--limit", choices=LIMITS, action="append", help="DENIAL_LIMIT; all by default")
    parser.add_argument("--records", type=int, default=0, help="records that are in the log beforehand")
    options = parser.parse_args()
    print(f"{'engine':<11}{'limit':<6}{'request':<34}{'invisible':>11}{'absent':>11}{'':>11}{'AUC':>8}")
    for engine in options.engine or ENGINES:
        with databases(engine) as made:
            for limit in options.limit or LIMITS:
                with service_over(made, DENIAL_LIMIT=LIMITS[limit]) as service:
                    if options.records:
                        fill(service, options.records)
                    arrange(service)
                    show(engine, limit, service, options.count)


if __name__ == "__main__":
    main()
