"""The state of an environment at a revision beside its present one: 500 secrets with 10^5 versions.

There is a second environment of the same kind. The revisions asked for are the first, one in the middle, and
the newest, whose values can be opened.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from bench import ENGINES, Report, Request, Service, compared, databases, in_turn, options_of, service_over
from query_plans import lengthen
from service import arrange

ROOT = "root@example.com"
PROD = "/projects/shop/environments/prod"
SECRETS, HALF = 500, 99
REVISIONS = (1, HALF + 1, 2 * HALF + 1)
GOAL = 2.0


def fill(service: Service) -> None:
    """Some 200 versions of each secret; those that `lengthen` makes cannot be opened."""
    slugs = ("prod", "dev")
    admin = arrange(service, "shop", *slugs)
    body = {"mode": "merge", "set": {f"KEY_{number:03}": "x" * 64 for number in range(SECRETS)}}
    for more in (HALF - 1, HALF - 1, 0):
        for slug in slugs:
            admin.post(f"/projects/shop/environments/{slug}/secrets:batch", body)
        if more:
            lengthen(service, more)
    service.execute("ANALYZE")


def measure(engine: str, options: Namespace) -> Iterator[tuple[str, tuple[float, float, float]]]:
    """Each kind of read at each revision, in turns with the present one."""
    with ExitStack() as stack:
        made: Any = stack.enter_context(databases(engine))
        service = stack.enter_context(service_over(made))
        fill(service)
        for kind in ("secrets", "secrets:export"):
            present = Request(service, ROOT, "GET", f"{PROD}/{kind}", 200)
            for rev in REVISIONS:
                state = Request(service, ROOT, "GET", f"{PROD}/{kind}?rev={rev}", 200)
                rounds = in_turn((present, state), rounds=options.rounds, seconds=options.seconds)
                yield f"{kind} at revision {rev}", compared(rounds)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each side in each round")
    options = parser.parse_args()
    report = Report(__file__, "present", "then")
    for engine in options.engine or ENGINES:
        for name, (base, ours, ratio) in measure(engine, options):
            report.add(engine, name, base, ours, goal=GOAL, ratio=ratio)
    report.save(options.json)


if __name__ == "__main__":
    main()
