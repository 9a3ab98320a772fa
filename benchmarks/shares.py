"""What a request of the service does by its CPU time, by a deterministic profile: the shares of its parts.

Each function's own time counts for the part that its module belongs to; a profile that sees each call makes
those with many calls heavier than they are. The application is called in process.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator

from bench import ENGINES, Service, databases, options_of, service_over
from operations import OPERATIONS, Operation, fill, request_of

#: The parts, and what names their modules; the first that fits counts.
PARTS = {
    "driver and database": ("/psycopg", "sqlite3.", "psycopg_binary", "/db/fast/driver.py"),
    "SQLAlchemy's connection and pool, our statements on them": ("/sqlalchemy/", "secretsvc/db/"),
    "Pyramid, WebOb, zope.interface, the transaction manager": (
        "/pyramid",
        "/webob/",
        "/zope/",
        "/transaction/",
        "zope.",
        "/plaster",
    ),
    "our tweens, derivers, headers, log and figures": ("secretsvc/web/", "/tweens.py", "/prometheus_client/"),
    "authentication, snapshot, decisions": ("secretsvc/authentication/", "secretsvc/authorization/", "/jwt/"),
    "opening, sealing, building the answer": ("secretsvc/", "cryptography", "orjson"),
}
OTHERS = "Python's own library and built-in functions"


def part_of(function: tuple[str, int, str]) -> str:
    """The part that a function of a profile belongs to; those in C have their module in the name."""
    path, _, name = function
    where = name if path == "~" else path
    return next((part for part, marks in PARTS.items() if any(mark in where for mark in marks)), OTHERS)


def shares(service: Service, operation: Operation, count: int) -> tuple[Counter[str], int]:
    """Seconds by part of so many requests, and the calls of one."""
    request = request_of(service, operation)
    for _ in range(5):
        request.send()
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    for _ in range(count):
        request.send()
    profile.disable()
    stats = pstats.Stats(profile)
    found: Counter[str] = Counter()
    for function, (_, _, own, *_) in stats.stats.items():  # type: ignore[attr-defined]  # not in the stubs
        found[part_of(function)] += own
    return found, stats.total_calls // count  # type: ignore[attr-defined]


def measure(engine: str, options: Namespace) -> Iterator[tuple[str, Counter[str], int]]:
    """Each operation with the seconds of its parts, and the calls of functions of one request."""
    with databases(engine) as made, service_over(made) as service:
        fill(service)
        for operation in OPERATIONS:
            if not options.only or options.only in operation.name:
                yield operation.name, *shares(service, operation, options.count)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--count", type=int, default=300, help="requests of each operation")
    parser.add_argument("--only", help="part of the name of an operation")
    options = parser.parse_args()
    for engine in options.engine or ENGINES:
        found = [*measure(engine, options)]
        print(f"{engine + ', %':<58}" + "".join(f"{name:>21}" for name, _, _ in found))
        for part in (*PARTS, OTHERS):
            row = (spent[part] / sum(spent.values()) * 100 for _, spent, _ in found)
            print(f"{part:<58}" + "".join(f"{share:>21.0f}" for share in row))
        print(f"{'calls of functions':<58}" + "".join(f"{calls:>21}" for _, _, calls in found), flush=True)


if __name__ == "__main__":
    main()
