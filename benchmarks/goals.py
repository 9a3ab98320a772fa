"""The goals in one run: each row of the table in docs/performance.md on both engines, and whether it is held.

Every row is measured as the other scripts do. On a machine with other load `--only` and `--engine` measure a
part, `--json` collects the parts in a file, and `--table` prints what is there.
"""

from __future__ import annotations

import json
import sqlite3
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import audit_pages
import clients
import psycopg
import served
from bench import ENGINES, Report, Sent, Service, compared, databases, in_turn, options_of, service_over
from growth import with_secrets
from operations import ADA, COUNT, OPERATIONS, fill, request_of
from query_plans import lengthen
from wire import Client, deployment

VERSIONS, FEW = 200_000, 10
GROWTH, NOT_MODIFIED = 1.2, 0.25
BY_NAME = {one.name: one for one in OPERATIONS}


class Found(NamedTuple):
    """A figure: what it is compared with, what was measured, their ratio, and the goal for that."""

    name: str
    base: float
    ours: float
    ratio: float
    goal: float


class Row(NamedTuple):
    """A row of the table: what stands above its columns, and how it is measured."""

    base: str
    ours: str
    measure: Callable[[str, Namespace], Iterator[Found]]
    at_least: bool = False
    unit: str = "us"


def in_pair(name: str, pair: tuple[Sent, ...], goal: float, options: Namespace) -> Found:
    rounds = in_turn(pair, rounds=options.rounds, seconds=options.seconds)
    return Found(name, *compared(rounds), goal)


def floor(engine: str, options: Namespace) -> Iterator[Found]:
    """Each operation over the wire beside its floor."""
    for operation, *figures in served.measure(engine, options):
        if operation.goals:
            yield Found(operation.name, *figures, operation.goals[engine])


def versions(engine: str, options: Namespace) -> Iterator[Found]:
    """A list and an export of 500 secrets, by how many versions there are of them."""
    with databases(engine) as made, service_over(made) as short, service_over(made) as long:
        for service in (short, long):
            fill(service)
        # Those that it makes cannot be opened: the present ones are written afterwards.
        lengthen(long, VERSIONS // COUNT - 2)
        request_of(long, BY_NAME["batch of 500 writes"]).send()
        for service in (short, long):
            vacuum(service)
        for one in (BY_NAME["list 500"], BY_NAME["export 500"]):
            yield in_pair(one.name, (request_of(short, one), request_of(long, one)), GROWTH, options)


def vacuum(service: Service) -> None:
    """As after hours: what was written at once is where it stays, and counted."""
    if service.engine.name == "postgresql":
        with psycopg.connect(service.url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        return
    service.engine.dispose()
    with closing(sqlite3.connect(service.url.removeprefix("sqlite:///"))) as connection:
        connection.execute("ANALYZE")
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def among(engine: str, options: Namespace) -> Iterator[Found]:
    """Writing one secret, by how many others there are."""
    with databases(engine) as made, service_over(made) as small, service_over(made) as large:
        pair = tuple(with_secrets(one, size)["write one"] for one, size in ((small, FEW), (large, COUNT)))
        yield in_pair("write one", pair, GROWTH, options)


def many(engine: str, options: Namespace) -> Iterator[Found]:
    """The throughput of one client and of 16."""
    asked = Namespace(rounds=options.rounds, seconds=2.0)
    for name, figures, goal in clients.measure(engine, asked):
        yield Found(name, *figures, goal)


def unchanged(engine: str, options: Namespace) -> Iterator[Found]:
    """A 304 beside the export that it saves, over the wire."""
    with deployment(engine, 1) as deployed:
        token = deployed.issuer.sign(ADA, exp=int(time.time()) + 3600)
        with closing(Client(deployed.processes[0].port, token)) as client:
            both = BY_NAME["export 500"], BY_NAME["export, 304"]
            pair = tuple(served.Asked(client, one, one.ours) for one in both)
            yield in_pair("304", pair, NOT_MODIFIED, options)


def pages(engine: str, _options: Namespace) -> Iterator[Found]:
    """Audit pages with any two filters, by the length of the log."""
    for name, *figures in audit_pages.measure(engine, audit_pages.SIZES, audit_pages.pairs):
        yield Found(name, *figures, figures[1] / figures[0], audit_pages.GOAL)


ROWS = {
    "floor": Row("floor", "ours", floor),
    "versions": Row("500", "200,000", versions),
    "among": Row("among 10", "among 500", among),
    "clients": Row("one client", "16 clients", many, at_least=True, unit="/s"),
    "304": Row("export", "304", unchanged),
    "audit": Row("10^4", "10^6", pages),
}


def measure(name: str, engine: str, options: Namespace) -> None:
    """One row on one engine, under a name of its own in the file."""
    row = ROWS[name]
    report = Report(f"{name} {engine}", row.base, row.ours)
    for found in row.measure(engine, options):
        report.add(
            engine, *found[:3], ratio=found.ratio, goal=found.goal, at_least=row.at_least, unit=row.unit
        )
    report.save(options.json)


def table(measured: dict[str, Any]) -> None:
    """Each row by engine: figures, the goals, whether all of them are held."""
    for name, row in ROWS.items():
        for engine in ENGINES:
            found = measured.get(f"{name} {engine}", [])
            ratios = ", ".join(f"{one['ratio']:.2f}" for one in found)
            goals = ", ".join(f"{one['goal']:g}" for one in found)
            missed = [one["name"] for one in found if is_missed(one["ratio"], one["goal"], row.at_least)]
            verdict = f"not held: {', '.join(missed)}" if missed else "held" if found else "not measured"
            print(f"{name:<10}{engine:<11}{ratios} of {goals}: {verdict}")


def is_missed(ratio: float, goal: float, at_least: bool) -> bool:
    return ratio < goal if at_least else ratio > goal


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each side in each round")
    parser.add_argument("--only", choices=ROWS, action="append", help="a row; all of them by default")
    parser.add_argument("--table", action="store_true", help="print what the file of --json has")
    options = parser.parse_args()
    if options.table:
        table(json.loads(options.json.read_text()))
        return
    for engine in options.engine or ENGINES:
        for name in options.only or ROWS:
            measure(name, engine, options)
    if options.json:
        table(json.loads(options.json.read_text()))


if __name__ == "__main__":
    main()
