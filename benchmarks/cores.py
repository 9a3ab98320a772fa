"""Requests a core: the CPU time that a request takes of the process that answers it, and of PostgreSQL.

Four clients keep one process busy. CPU time is counted by the kernel, so that it matters less what else the
machine does, and not what the clients take; requests a core are a second by the time of one request. What
requests leave to be sealed is sealed before the count ends.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any, NamedTuple

import psutil
import psycopg
from bench import ENGINES, databases, options_of
from operations import ADA, OPERATIONS, Operation
from processes import Deployment
from sqlalchemy import text
from wire import Client, at_once, deployment_over

from secretsvc.db.engine import make_engine

CLIENTS = 4
NAMES = ("read one", "list 500", "export 500", "export, 304", "write one")
#: What a client that watches asks for beside the 304.
WHICH = Operation("the environment", "GET", "", "", {})
#: So many in turn that none is remembered until it comes again, as where there are that many clients.
TOKENS = 6_000
#: Every request of an identity writes when it was last seen, as where it comes less often than that is kept.
SELDOM = {"LAST_SEEN_RESOLUTION": "1"}
SOON = {"AUDIT_SEAL_SECONDS": "1"}


class Taken(NamedTuple):
    """What was counted while some requests were answered: seconds of CPU time, bytes of PostgreSQL's log."""

    process: float
    server: float
    log: int


def seconds_of(processes: list[psutil.Process]) -> float:
    """CPU time, also of children that have ended."""
    return float(sum(sum(one.cpu_times()[:4]) for one in processes))


def taken(deployed: Deployment) -> Taken:
    """What was taken until now."""
    process = seconds_of([psutil.Process(one.pid) for one in deployed.processes])
    if not deployed.url.startswith("postgresql"):
        return Taken(process, 0, 0)
    statement = "SELECT pg_backend_pid(), pg_current_wal_lsn() - '0/0'::pg_lsn"
    with psycopg.connect(deployed.url.replace("+psycopg", "")) as connection:
        found: Any = connection.execute(statement).fetchone()
        postmaster = psutil.Process(found[0]).parent()
        if postmaster is None:
            raise SystemExit("the server has ended")
        return Taken(process, seconds_of([postmaster, *postmaster.children()]), int(found[1]))


def request_of(client: Client, operation: Operation) -> bytes:
    return client.request(operation.method, operation.ours, operation.body, operation.tag)


def asked(
    deployed: Deployment, operation: Operation, seconds: float, tokens: Sequence[str] = ()
) -> tuple[int, float]:
    """How many requests were answered, and in which time. `tokens` are borne in turn, if there are any."""
    answered = [0] * CLIENTS
    deadline = time.monotonic() + seconds

    def work(number: int, client: Client) -> None:
        requests = []
        for token in tokens[number::CLIENTS] or [client.token]:
            client.token = token
            requests.append(request_of(client, operation))
        turns = cycle(requests)
        while time.monotonic() < deadline:
            if client.send(next(turns)) != operation.status:
                raise SystemExit("a request failed")
            answered[number] += 1

    took = at_once(deployed, CLIENTS, work)
    return sum(answered), took


def wait_until_sealed(deployed: Deployment) -> None:
    engine, waiting = make_engine(deployed.url), text("SELECT count(*) FROM audit_unsealed")
    with engine.connect() as connection:
        while connection.execute(waiting).scalar_one():
            connection.rollback()
            time.sleep(0.2)
    engine.dispose()


def measured(
    deployed: Deployment, operation: Operation, seconds: float, tokens: Sequence[str] = ()
) -> tuple[int, float, Taken]:
    """The answers of an operation, the seconds that they took, and what was taken meanwhile."""
    asked(deployed, operation, 1, tokens)
    wait_until_sealed(deployed)
    before = taken(deployed)
    count, took = asked(deployed, operation, seconds, tokens)
    wait_until_sealed(deployed)
    spent = (now - then for now, then in zip(taken(deployed), before, strict=True))
    return count, took, Taken._make(spent)


def measure(engine: str, options: Namespace) -> Iterator[tuple[str, int, float, Taken]]:
    """Each operation with its answers, the seconds that they took, and what was taken meanwhile."""
    chosen = [*(one for one in OPERATIONS if one.name in NAMES), WHICH]
    for settings, suffix in (({}, ""), (SELDOM, ", last seen")):
        with databases(engine) as made, deployment_over(made, 1, **SOON, **settings) as deployed:
            for one in chosen if not settings else [each for each in chosen if each.tag]:
                yield one.name + suffix, *measured(deployed, one, options.seconds)
    with databases(engine) as made, deployment_over(made, 1, **SOON) as deployed:
        tokens = [deployed.issuer.sign(ADA, iat=int(time.time()) - number) for number in range(TOKENS)]
        for one in (each for each in chosen if each.tag):
            yield f"{one.name}, bearers", *measured(deployed, one, options.seconds, tokens)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each operation")
    options = parser.parse_args()
    heads = ("answers/s", "process, us", "server, us", "a core, /s", "log, bytes")
    print(f"{'engine':<11}{'cores':<24}" + "".join(f"{head:>14}" for head in heads), flush=True)
    for engine in options.engine or ENGINES:
        for name, count, took, spent in measure(engine, options):
            process, server = (seconds / count * 1e6 for seconds in (spent.process, spent.server))
            figures = (count / took, process, server, 1e6 / process, spent.log / count)
            print(f"{engine:<11}{name:<24}" + "".join(f"{figure:>14.0f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
