"""How much longer the pages of 500 secrets take than their templates alone.

Ours is the whole request: the assertion, the snapshot, the rows, the opening of each. The floor draws the
same template from the same values, which are there already. The goal: at most three times the floor.
"""

from __future__ import annotations

import argparse
import statistics
import time
from types import SimpleNamespace
from typing import Any

from bench import ENGINES, PageRequest, Service, databases, service_over
from pyramid.events import BeforeRender
from pyramid.renderers import get_renderer
from pyramid.threadlocal import RequestContext
from service import arrange
from vault import Vault

GOAL = 3.0
ENVIRONMENT = "/projects/shop/environments/prod"
PAGES = {
    "editor": (ENVIRONMENT, "secretsvc.secrets:templates/editor.pt"),
    "matrix": ("/projects/shop", "secretsvc.secrets:templates/matrix.pt"),
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


def measure(service: Service, rounds: int) -> None:
    """Prints one line for each page: both medians and their ratio."""
    vault = Vault(arrange(service, "shop", "prod", "dev"))
    vault.batch(set={f"KEY_{number:03}": "x" * 40 for number in range(500)}, descriptions={"KEY_000": "One"})
    for name, (path, template) in PAGES.items():
        page = PageRequest(service, "root@example.com", "GET", path, 200)
        floor = bare(service, page, template)
        page.timed(), floor()
        pairs = [(page.timed(), floor()) for _ in range(rounds)]
        ours, least = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
        print(f"{name:8} {ours:7.1f} ms   {least:7.1f} ms   {ours / least:5.2f}   goal {GOAL}")


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
