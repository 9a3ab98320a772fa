"""What administrators wait for when one subject was denied 10^6 times within a week, on both engines.

The home page, the unknown identities over the API and as a page, and the audit log from several sides, for a
global admin and for the admin of the project. Prints medians of the whole request in process beside those of
a log without the denials. The goal for the home page and the unknown identities: 100 ms.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator
from typing import Any

from audit_pages import load
from bench import ENGINES, Report, Request, Service, databases, options_of, service_over

from secretsvc.audit.models import denial_tally

ROOT, OWNER, EVE = "root@example.com", "ada@example.com", "eve@example.com"
DAY_MS = 86_400_000
GOAL_US = 100_000
SECONDS, LEAST = 1, 5


class PageRequest(Request):
    """As a browser asks for a page."""

    prefix = ""


def arrange(service: Service, denials: int) -> None:
    """A project whose admin is not a global one, and a subject that was denied there so often."""
    admin = service.user()
    admin.post("/projects", {"slug": "shop", "name": "Shop"}, 201)
    admin.post("/projects/shop/environments", {"slug": "prod", "name": "Prod"}, 201)
    service.grant(OWNER, "admin", "shop")
    # One that is written by the service, so that the tally has its row.
    service.user(EVE).get("/projects/shop/environments/prod", 404)
    if denials:
        load(service, _denials(service, denials))
        # As the service counts them.
        within = denial_tally.c.scope_id == service.scope("shop/prod")["environment_id"]
        service.execute(denial_tally.update().where(within).values(denials=denials + 1))


def _denials(service: Service, count: int) -> Iterator[tuple[Any, ...]]:
    """In the order of time, over the last six days."""
    eve, environment = service.identity_id(EVE).hex, service.scope("shop/prod")["environment_id"].hex
    generator, now = random.Random(7), int(time.time() * 1000)
    for number in range(count):
        at = now - 6 * DAY_MS + number * 6 * DAY_MS // count
        made = f"{at:012x}7{number % 4096:03x}8{generator.getrandbits(60):015x}"
        action = "authz.environment.reader"
        yield (made, at, action, "denied", eve, "user", EVE, None, environment, made, *(None,) * 4)


def questions(service: Service) -> Iterator[tuple[str, Request, float | None]]:
    """The name of a page, the request for it, and how many microseconds it may take."""
    for who, subject in (("global", ROOT), ("project", OWNER)):
        yield f"home, {who} admin", PageRequest(service, subject, "GET", "/", 200), GOAL_US
        asked = "/access/unknown-identities"
        yield f"unknown identities, {who} admin", Request(service, subject, "GET", asked, 200), GOAL_US
        yield f"their page, {who} admin", PageRequest(service, subject, "GET", asked, 200), GOAL_US
        for query in ("", f"?actor={EVE}", "?outcome=denied", "?actor=nobody@example.com"):
            name = f"/audit{query.partition('@')[0]}, {who} admin"
            yield name, Request(service, subject, "GET", f"/audit{query}", 200), None
            yield f"page of {name}", PageRequest(service, subject, "GET", f"/audit{query}", 200), None


def median_us(request: Request) -> float:
    """Of some seconds."""
    request.send()
    times: list[float] = []
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline or len(times) < LEAST:
        times.append(request.timed() * 1e6)
    return statistics.median(times)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--denials", type=int, default=1_000_000)
    options = parser.parse_args()
    report = Report(__file__, "none", f"{options.denials}")
    for engine in options.engine or ENGINES:
        with databases(engine) as made, service_over(made) as quiet, service_over(made) as noisy:
            arrange(quiet, 0)
            arrange(noisy, options.denials)
            for (name, one, limit), (_, other, _) in zip(questions(quiet), questions(noisy), strict=True):
                base, ours = median_us(one), median_us(other)
                report.add(engine, name, base, ours, goal=limit and round(limit / base, 1))
    report.save(options.json)


if __name__ == "__main__":
    main()
