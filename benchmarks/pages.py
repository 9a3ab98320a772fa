"""How much longer the pages of 500 values take than their templates alone, and how long they are.

Ours is the whole request: the assertion, the snapshot, the rows, the opening of each. The floor draws the
same template from the same values, which are there already. The goal: at most three times the floor.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import time
from types import SimpleNamespace
from typing import Any

from bench import ENGINES, PageRequest, Service, databases, service_over
from pyramid.events import BeforeRender
from pyramid.renderers import get_renderer
from pyramid.threadlocal import RequestContext
from secrets_client import Vault
from service import arrange

GOAL = 3.0
ENVIRONMENT = "/projects/shop/environments/prod"
MATRIX = "secretsvc.secrets:templates/matrix.pt"
PAGES = {
    "editor of 500": (ENVIRONMENT, "secretsvc.secrets:templates/editor.pt"),
    "matrix, 500 x 2": ("/projects/shop", MATRIX),
    "matrix, 50 x 10": ("/projects/wide", MATRIX),
}


def bare(service: Service, page: PageRequest, template: str) -> Any:
    """Draws the page's template from the values of one real request."""
    drawn: dict[str, Any] = {}
    service.app.registry.registerHandler(
        lambda event: drawn.setdefault(event["renderer_name"], event), (BeforeRender,)
    )
    page.send()
    event = drawn[template]

    compiled, values = _compiled(service, template), {**event, **event.rendering_val}

    def draw() -> float:
        began = time.perf_counter()
        compiled(**values)
        return time.perf_counter() - began

    return draw


def _compiled(service: Service, template: str) -> Any:
    with RequestContext(SimpleNamespace(registry=service.app.registry)):
        return get_renderer(template).implementation()


def fill(service: Service) -> None:
    """Of one project an environment of 500 secrets, of another ten of 50."""
    keys = [f"KEY_{number:03}" for number in range(500)]
    admin = arrange(service, "shop", "prod", "dev")
    Vault(admin).batch(set=dict.fromkeys(keys, "x" * 40), descriptions={"KEY_000": "One"})
    slugs = [f"env-{number}" for number in range(10)]
    admin = arrange(service, "wide", *slugs)
    for slug in slugs:
        Vault(admin, f"/projects/wide/environments/{slug}").batch(set=dict.fromkeys(keys[:50], slug))


def measure(service: Service, rounds: int) -> None:
    """Prints one line for each page: both medians and their ratio."""
    fill(service)
    for name, (path, template) in PAGES.items():
        page = PageRequest(service, "root@example.com", "GET", path, 200)
        floor = bare(service, page, template)
        page.timed(), floor()
        pairs = [(page.timed(), floor()) for _ in range(rounds)]
        ours, least = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
        body = page.send()
        sizes = f"{len(body):>9,} bytes, compressed {len(gzip.compress(body, 6)):>7,}"
        print(f"{name:16} {ours:7.1f} ms   {least:7.1f} ms   {ours / least:5.2f}   goal {GOAL}   {sizes}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    for engine in ENGINES:
        print(f"{engine}: whole page, its template alone, ratio")
        with databases(engine) as made, service_over(made) as service:
            measure(service, rounds)


if __name__ == "__main__":
    main()
