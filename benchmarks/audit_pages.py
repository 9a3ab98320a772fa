"""How the pages of GET /audit grow with the log: 10^4 against 10^6 records, on both engines.

200 projects of Zipf popularity, 600 environments. A project's admin reads a hot, a rare and an empty
project; a global admin reads everything, deep in the log, and through filters. Prints medians of the whole
request in process, sent in turns, and the ratio of the two sizes; the goal is 1.5 at most.

Of two filters the worst cases are asked for, too: each finds much by itself, and both together find nothing.
"""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
from bench import ENGINES, Report, Request, Service, databases, options_of, service_over

from secretsvc.audit.models import FULL_EXPORT, audit_record
from secretsvc.db.engine import write_transaction
from secretsvc.kernel.ids import new_id
from secretsvc.tables.projects import environment, project

SIZES = (10_000, 1_000_000)
PROJECTS, ENVIRONMENTS = 200, 3
STEP_MS = 1000
GOAL = 1.5
ROOT, OWNER, ROBOT = "root@example.com", "ada@example.com", "robot"
HOT, RARE, EMPTY = "p-000", "p-198", "p-199"
SECONDS, LEAST = 3, 100
#: That all records tell of.
REV = 12
#: What a row that is loaded has.
COLUMNS = tuple(one.name for one in audit_record.c if one.name != "client_address")


def fill(service: Service, count: int, step_ms: int = STEP_MS) -> None:
    """Projects, their environments, and as many records as asked for, the last project having none."""
    load(service, _records(count, make_projects(service), step_ms))


def load(service: Service, rows: Iterator[tuple[Any, ...]]) -> None:
    """Puts rows into the log, each with the columns of `COLUMNS` in their order, ids as hex digits."""
    if service.engine.name == "postgresql":
        _copy(service.url, rows)
    else:
        _insert(service.url, rows)


def _insert(url: str, rows: Iterator[tuple[Any, ...]]) -> None:
    """Without the indexes and triggers, which come back afterwards."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        found = "SELECT type, name, sql FROM sqlite_master WHERE tbl_name = 'audit_record' AND sql > ''"
        extras = [row for row in connection.execute(found) if row[0] != "table"]
        for kind, name, _ in extras:
            connection.execute(f"DROP {kind} {name}")
        values = ", ".join("?" * len(COLUMNS))
        connection.executemany(f"INSERT INTO audit_record ({', '.join(COLUMNS)}) VALUES ({values})", rows)  # noqa: S608
        for *_, statement in extras:
            connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _copy(url: str, rows: Iterator[tuple[Any, ...]]) -> None:
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        with connection.cursor().copy(f"COPY audit_record ({', '.join(COLUMNS)}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        connection.execute("VACUUM ANALYZE")


def make_projects(service: Service) -> list[tuple[str, list[str]]]:
    """Projects and their environments, by their ids as hex digits; three have admins, `ROOT` has all."""
    common = {"name": "Name", "created_at": 1, "updated_at": 1}
    scopes = [(new_id(), [new_id() for _ in range(ENVIRONMENTS)]) for _ in range(PROJECTS)]
    projects = [
        {"id": project_id, "slug": f"p-{number:03}", **common}
        for number, (project_id, _) in enumerate(scopes)
    ]
    environments = [
        {"id": one, "project_id": project_id, "slug": f"e-{number}", "rev": 0, **common}
        for project_id, ids in scopes
        for number, one in enumerate(ids)
    ]
    with write_transaction(service.engine) as connection:
        connection.execute(project.insert(), projects)
        connection.execute(environment.insert(), environments)
    for slug in (HOT, RARE, EMPTY):
        service.grant(f"{slug}@example.com", "admin", slug)
    service.grant(ROOT, "admin")
    return [(project_id.hex, [one.hex for one in ids]) for project_id, ids in scopes]


def _records(count: int, scopes: list[tuple[str, list[str]]], step_ms: int) -> Iterator[tuple[Any, ...]]:
    """In the order of time, one each step, up to now; one in fifty is a denial."""
    generator = random.Random(7)
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(PROJECTS - 1)))
    chosen = generator.choices(scopes[:-1], cum_weights=weights, k=count)
    first = int(time.time() * 1000) - count * step_ms
    detail = json.dumps({"rev": REV, "changes": [{"key": "API_KEY", "kind": "changed", "version": 4}]})
    actors = [(new_id().hex, f"user-{number}@example.com") for number in range(300)]
    robot = new_id().hex, ROBOT
    for number, (project_id, environments) in enumerate(chosen):
        at = first + number * step_ms
        made = f"{at:012x}7{number % 4096:03x}8{generator.getrandbits(60):015x}"
        identity_id, subject = actors[min(int(generator.expovariate(0.02)), 299)]
        denied, inside = generator.random() < 0.02, generator.random() < 0.8
        action = "authz.environment.reader" if denied else "secret.batch"
        if number % 20 == 0:
            # Of one project alone; the others have no record of that actor, and none of that action.
            (project_id, environments), denied, action = scopes[1], False, "secret.export"
            identity_id, subject = robot
        yield (
            made,
            at,
            action,
            "denied" if denied else "success",
            identity_id,
            "user",
            subject,
            None if denied else project_id,
            generator.choice(environments) if inside or denied else None,
            made,
            None,
            None if denied else detail,
            # A verification holds them against the detail.
            *((FULL_EXPORT, REV) if action == "secret.export" else (None, None)),
        )


def question(service: Service, subject: str, query: str = "") -> Request:
    return Request(service, subject, "GET", f"/audit{query}", 200)


def questions(service: Service, count: int) -> Iterator[tuple[str, Request]]:
    """The name of a page and the request for it, with two filters at the end."""
    ask = partial(question, service)
    at = int(time.time() * 1000) - count // 2 * STEP_MS
    middle = UUID(int=at << 80 | 7 << 76 | 2 << 62)
    yield "project admin, hot", ask(f"{HOT}@example.com")
    # As many as a small log has of them, too: a fuller page takes longer.
    yield "project admin, rare", ask(f"{RARE}@example.com", "?limit=5")
    yield "project admin, empty", ask(f"{EMPTY}@example.com")
    yield "project admin, hot, deep", ask(f"{HOT}@example.com", f"?cursor={middle}")
    yield "project admin, rare, denied", ask(f"{RARE}@example.com", "?outcome=denied")
    yield "global admin", ask(ROOT)
    yield "global admin, deep", ask(ROOT, f"?cursor={middle}")
    yield "global admin, ?project= hot", ask(ROOT, f"?project={HOT}")
    yield "global admin, ?project= empty", ask(ROOT, f"?project={EMPTY}")
    yield "global admin, actor", ask(ROOT, "?actor=user-150@example.com")
    yield "global admin, no such actor", ask(ROOT, "?actor=nobody@example.com")
    yield "global admin, denied", ask(ROOT, "?outcome=denied")
    yield "global admin, since the middle", ask(ROOT, f"?since={at}&until={at + 1000 * STEP_MS}")
    yield "global admin, rare action", ask(ROOT, "?action=keyring.rekey")
    yield from pairs(service, count)


def pairs(service: Service, _count: int) -> Iterator[tuple[str, Request]]:
    """The pages of `questions` with any two filters."""
    ask = partial(question, service)
    here = f"?project={HOT}&environment=e-0"
    yield "project, actor: nothing in common", ask(ROOT, f"?project={HOT}&actor={ROBOT}")
    yield "project, action: nothing in common", ask(ROOT, f"?project={HOT}&action=secret.export")
    yield "project, denied", ask(ROOT, f"?project={HOT}&outcome=denied")
    yield "environment, actor: nothing in common", ask(ROOT, f"{here}&actor={ROBOT}")
    yield "environment, action: nothing in common", ask(ROOT, f"{here}&action=secret.export")
    yield "environment, denied", ask(ROOT, f"{here}&outcome=denied")
    yield "actor, action: nothing in common", ask(ROOT, f"?actor={ROBOT}&action=secret.batch")
    yield "actor, denied: nothing in common", ask(ROOT, f"?actor={ROBOT}&outcome=denied")
    yield "action, denied: nothing in common", ask(ROOT, "?action=secret.batch&outcome=denied")


Questions = Callable[[Service, int], Iterator[tuple[str, Request]]]


def medians_us(small: Request, large: Request) -> tuple[float, float]:
    """Sent in turns, so that a machine that has other things to do slows both."""
    times: tuple[list[float], list[float]] = ([], [])
    for request in (small, large):
        request.send()
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline or len(times[0]) < LEAST:
        for request, taken in zip((small, large), times, strict=True):
            taken.append(request.timed() * 1e6)
    return statistics.median(times[0]), statistics.median(times[1])


def measure(
    engine: str, sizes: Sequence[int], questions: Questions = questions
) -> Iterator[tuple[str, float, float]]:
    """The name of each page, and its medians for a small and a large log."""
    with databases(engine) as made, service_over(made) as small, service_over(made) as large:
        asked = []
        for service, count in zip((small, large), sizes, strict=True):
            began = time.monotonic()
            fill(service, count)
            print(f"{engine}: {count} records in {time.monotonic() - began:.0f} s", flush=True)
            asked.append(list(questions(service, count)))
        for (name, one), (_, other) in zip(*asked, strict=True):
            yield name, *medians_us(one, other)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--sizes", type=int, nargs=2, default=list(SIZES))
    options = parser.parse_args()
    report = Report(__file__, *(f"{size} rows" for size in options.sizes))
    for engine in options.engine or ENGINES:
        for name, small, large in measure(engine, options.sizes):
            report.add(engine, name, small, large, goal=GOAL)
    report.save(options.json)


if __name__ == "__main__":
    main()
