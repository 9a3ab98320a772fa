"""How times grow with what is stored: the audit log, grants of others, projects, secrets, their versions, and
the keys that a search looks through.

Each curve is measured at several sizes in turns. The ratio is that of the largest to the smallest; a line's
name ends with the exponent of its curve, 0 for flat and 1 for linear, by least squares over the logarithms,
and with the highest ratio to the smallest where that is of a size between.
"""

from __future__ import annotations

import math
import statistics
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import audit_pages
import orjson
import search
import snapshot
from bench import ENGINES, PageRequest, Report, Request, Service, databases, in_turn, options_of, service_over
from query_plans import lengthen
from service import arrange

from secretsvc.db.engine import write_transaction
from secretsvc.kernel.ids import new_id
from secretsvc.tables.projects import project

ROOT = "root@example.com"
PROD = "/projects/shop/environments/prod"
Ask = Callable[[Service], dict[str, Request]]


def with_audit(service: Service, count: int) -> dict[str, Request]:
    """A log of so many rows."""
    audit_pages.fill(service, count)
    hot = f"{audit_pages.HOT}@example.com"
    return {
        "audit page, all": Request(service, audit_pages.ROOT, "GET", "/audit", 200),
        "audit page, hot project": Request(service, hot, "GET", "/audit", 200),
    }


def with_grants(service: Service, count: int) -> dict[str, Request]:
    """So many grants of others."""
    snapshot.fill(service, count)
    return {"who am I": Request(service, snapshot.ADA.subject, "GET", "/whoami", 200)}


def with_projects(service: Service, count: int) -> dict[str, Request]:
    """So many other projects."""
    times = {"created_at": 1, "updated_at": 1}
    rows = [{"id": new_id(), "slug": f"p-{number}", "name": "Name", **times} for number in range(count)]
    with write_transaction(service.engine) as connection:
        connection.execute(project.insert(), rows)
    return with_secrets(service, 10) | {
        "a page of projects": Request(service, ROOT, "GET", "/projects?limit=10", 200)
    }


def with_secrets(service: Service, count: int) -> dict[str, Request]:
    """An environment of so many secrets."""
    arrange(service, "shop", "prod")
    body = orjson.dumps({"mode": "merge", "set": {f"KEY_{n:03}": "x" * 64 for n in range(count)}})
    batch = Request(service, ROOT, "POST", f"{PROD}/secrets:batch", 200, body=body)
    batch.send()
    service.execute("ANALYZE")
    return of_secrets(service) | {"write all": batch}


def of_secrets(service: Service) -> dict[str, Request]:
    """What is asked of the secrets of an environment, one of them or all."""
    one = orjson.dumps({"mode": "merge", "set": {"KEY_005": "y"}})
    return {
        "read one": Request(service, ROOT, "GET", f"{PROD}/secrets/KEY_005", 200),
        "list all": Request(service, ROOT, "GET", f"{PROD}/secrets", 200),
        "export all": Request(service, ROOT, "GET", f"{PROD}/secrets:export", 200),
        "write one": Request(service, ROOT, "POST", f"{PROD}/secrets:batch", 200, body=one),
    }


def with_history(service: Service, count: int) -> dict[str, Request]:
    """So many versions, in two environments of 500 secrets."""
    slugs = ("prod", "dev")
    admin = arrange(service, "shop", *slugs)
    body = {"mode": "merge", "set": {f"KEY_{number:03}": "x" * 64 for number in range(500)}}
    # The versions that `lengthen` makes cannot be opened; those before and after them can.
    for more in (count // 1000 - 2, 0):
        for slug in slugs:
            admin.post(f"/projects/shop/environments/{slug}/secrets:batch", body)
        if more:
            lengthen(service, more)
    service.execute("ANALYZE")
    return of_secrets(service) | {
        "list at revision 1": Request(service, ROOT, "GET", f"{PROD}/secrets?rev=1", 200),
        "export at revision 1": Request(service, ROOT, "GET", f"{PROD}/secrets:export?rev=1", 200),
        "revisions": Request(service, ROOT, "GET", f"{PROD}/revisions?limit=1&cursor=3", 200),
        "editor": PageRequest(service, ROOT, "GET", PROD, 200),
        "matrix": PageRequest(service, ROOT, "GET", "/projects/shop", 200),
    }


def with_keys(service: Service, count: int) -> dict[str, Request]:
    """So many keys to be searched, by who sees them all and by who sees 200 of them."""
    search.fill(service, count)
    return {f"search, {name}": request for name, request in search.questions(service)}


CURVES: dict[str, tuple[Callable[[Service, int], dict[str, Request]], tuple[int, ...]]] = {
    "audit rows": (with_audit, (1_000, 10_000, 100_000, 1_000_000)),
    "grants of others": (with_grants, (100, 1_000, 10_000, 100_000)),
    "projects": (with_projects, (10, 100, 1_000, 10_000)),
    "secrets": (with_secrets, (10, 50, 100, 500)),
    "versions": (with_history, (2_000, 10_000, 50_000, 200_000)),
    "keys": (with_keys, (1_000, 10_000, 100_000)),
}


def exponent(sizes: tuple[int, ...], times: list[float]) -> float:
    """The slope of the line through the logarithms."""
    slope, _ = statistics.linear_regression([*map(math.log, sizes)], [*map(math.log, times)])
    return slope


def measure(engine: str, name: str, options: Namespace) -> Iterator[tuple[str, list[float]]]:
    """Each request of a curve with its medians by size."""
    fill, sizes = CURVES[name]
    with ExitStack() as stack:
        made: Any = stack.enter_context(databases(engine))
        asked = [fill(stack.enter_context(service_over(made)), size) for size in sizes]
        for request in asked[0]:
            rounds = in_turn(
                tuple(one[request] for one in asked),
                rounds=options.rounds,
                seconds=options.seconds,
                share=options.share,
            )
            yield request, [statistics.median(times) for times in zip(*rounds, strict=True)]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each size in each round")
    parser.add_argument("--share", type=float, default=0.5, help="the share of requests that a time is of")
    parser.add_argument("--only", choices=CURVES, action="append")
    options = parser.parse_args()
    report = Report(__file__, "smallest", "largest")
    for engine in options.engine or ENGINES:
        for name in options.only or CURVES:
            for request, times in measure(engine, name, options):
                line = f"{name}: {request}, n^{exponent(CURVES[name][1], times):.2f}"
                if max(times) > max(times[0], times[-1]):
                    line += f", up to {max(times) / times[0]:.2f}"
                report.add(engine, line, times[0], times[-1])
    report.save(options.json)


if __name__ == "__main__":
    main()
