"""What the benchmarks share: databases as in production, and requests to the application without a server.

The application is called in process, over the WSGI interface, with an environ made beforehand.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import psycopg  # noqa: E402
from databases import ENGINES, PostgresqlDatabases, SqliteDatabases, postgresql_server  # noqa: E402
from service import API, HEADER, Service  # noqa: E402
from tokens import TestIssuer  # noqa: E402

__all__ = [
    "ENGINES",
    "HEADER",
    "PageRequest",
    "Report",
    "Request",
    "Service",
    "compared",
    "databases",
    "in_turn",
    "options_of",
    "service_over",
]

#: What PostgreSQL has by default. Only statistics are made anew more often: each minute a benchmark is over.
PRODUCTION = {"fsync": "on", "autovacuum": "on", "autovacuum_naptime": "5s", "max_wal_size": "1GB"}


@contextmanager
def databases(engine: str) -> Iterator[Any]:
    """Makes fresh databases of one engine, as durable as in production."""
    logging.getLogger("alembic").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="secretsvc-bench-") as directory:
        if engine == "sqlite":
            yield SqliteDatabases(Path(directory))
            return
        with postgresql_server(on_disk=True) as server:
            # The suite does without this, and in memory. What is durable takes its time; with old statistics
            # a history that has grown is read by the plans of a short one; and the less of the WAL is kept,
            # the more pages are written to it whole.
            with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
                for name, value in PRODUCTION.items():
                    connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
                connection.execute("SELECT pg_reload_conf()")
            yield PostgresqlDatabases(server)


@contextmanager
def service_over(made: Any, **settings: str) -> Iterator[Service]:
    """The application over a fresh database; nobody is touched within an hour."""
    with tempfile.TemporaryDirectory(prefix="secretsvc-issuer-") as directory:
        usual = {"LAST_SEEN_RESOLUTION": "3600000", "WRITE_LIMIT": ""}
        service = Service(made.create(), TestIssuer(Path(directory)), **usual | settings)
        # As the server does.
        gc.collect()
        gc.freeze()
        try:
            yield service
        finally:
            service.close()


@cache
def assertion(issuer: TestIssuer, subject: str) -> str:
    """One assertion of a person, for all of its requests within the hour, as a proxy would send."""
    return issuer.sign(subject, exp=int(time.time()) + 3600)


class Request:
    """One request of one person, to be sent any number of times; `app` may be another than the service."""

    prefix = API
    clock = staticmethod(time.perf_counter)

    def __init__(
        self,
        service: Service,
        subject: str,
        method: str,
        target: str,
        status: int,
        *,
        body: bytes = b"",
        app: Any = None,
    ) -> None:
        path, _, query = target.partition("?")
        self.app, self.status, self.body = app or service.app, status, body
        self.token = assertion(service.issuer, subject)
        self.environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": self.prefix + path,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "localhost",
            "HTTP_" + HEADER.upper().replace("-", "_"): self.token,
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }

    def send(self) -> bytes:
        """The body of the answer, whose status must be the one expected."""
        return self._send()[1]

    def timed(self) -> float:
        """The seconds that it took."""
        return self._send()[0]

    def _send(self) -> tuple[float, bytes]:
        environ, sent = {**self.environ, "wsgi.input": io.BytesIO(self.body)}, []
        respond: Callable[..., Any] = lambda status, fields, exc_info=None: sent.append(status)  # noqa: E731
        began = self.clock()
        answer = self.app(environ, respond)
        body = b"".join(answer)
        if hasattr(answer, "close"):
            # It gives back what the answer was admitted for.
            answer.close()
        took = self.clock() - began
        if not sent[-1].startswith(str(self.status)):
            raise SystemExit(f"{self.environ['PATH_INFO']}: {sent[-1]} {body[:300]!r}")
        return took, body


class PageRequest(Request):
    """A request for a page."""

    prefix = ""


class Sent(Protocol):
    """What can be asked again and again."""

    def send(self) -> Any: ...
    def timed(self) -> float:
        """The seconds that it took."""


def in_turn(
    requests: tuple[Sent, ...], *, rounds: int, seconds: float, least: int = 3, share: float = 0.5
) -> list[tuple[float, ...]]:
    """The median microseconds of each request in each round.

    In a round each has its share of the time; whatever else the machine does then slows all of them. With
    another `share` than a half it is the percentile of that share.
    """
    for request in requests:
        for _ in range(least):
            request.send()
    found = []
    for _ in range(rounds):
        medians = []
        for request in requests:
            times, deadline = [], time.monotonic() + seconds
            while len(times) < least or time.monotonic() < deadline:
                times.append(request.timed() * 1e6)
            medians.append(sorted(times)[int(share * len(times))])
        found.append(tuple(medians))
    return found


def compared(rounds: list[tuple[float, ...]]) -> tuple[float, float, float]:
    """The medians of both sides of all rounds, and that of the rounds' ratios, the second to the first."""
    base, ours = (statistics.median(side) for side in zip(*rounds, strict=True))
    return base, ours, statistics.median(second / first for first, second in rounds)


@dataclass(frozen=True, slots=True)
class Measured:
    """One line of a table: a value, what it is compared with, their ratio, and its goal if there is one."""

    engine: str
    name: str
    base: float
    ours: float
    ratio: float
    goal: float | None
    at_least: bool
    unit: str


class Report:
    """The table of one script, printed as it is made; `save` puts it into a JSON file beside the others."""

    def __init__(self, script: str, base: str, ours: str) -> None:
        self.script = Path(script).stem
        self.rows: list[Measured] = []
        print(f"{'engine':<11}{self.script:<40}{base:>14}{ours:>14}{'ratio':>8}", flush=True)

    def add(
        self,
        engine: str,
        name: str,
        base: float,
        ours: float,
        *,
        goal: float | None = None,
        at_least: bool = False,
        unit: str = "us",
        ratio: float | None = None,
    ) -> None:
        """Adds a line; the ratio is `ours / base` unless a better one was measured."""
        ratio = ours / base if ratio is None else ratio
        self.rows.append(Measured(engine, name, base, ours, ratio, goal, at_least, unit))
        missed = goal is not None and (ratio < goal if at_least else ratio > goal)
        verdict = f"  misses the goal of {goal}" if missed else "" if goal is None else f"  goal {goal}"
        print(
            f"{engine:<11}{name:<40}{base:>9.0f} {unit:<4}{ours:>9.0f} {unit:<4}{ratio:>8.2f}{verdict}",
            flush=True,
        )

    def save(self, path: Path | None) -> None:
        """Into the file, where there is one; what other scripts wrote there stays."""
        if path is not None:
            tables = json.loads(path.read_text()) if path.exists() else {}
            tables[self.script] = [asdict(row) for row in self.rows]
            path.write_text(json.dumps(tables, indent=1))


def options_of(description: str | None) -> argparse.ArgumentParser:
    """The options that every script has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--engine", choices=ENGINES, action="append", help="one of the two; both by default")
    parser.add_argument("--json", type=Path, help="a file to put the table into")
    return parser
