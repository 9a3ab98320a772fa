"""What the benchmarks share: databases as in production, and requests to the application without a server.

The application is called in process, over the WSGI interface, with an environ made beforehand.
"""

from __future__ import annotations

import io
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import psycopg  # noqa: E402
from databases import ENGINES, PostgresqlDatabases, SqliteDatabases, postgresql_server  # noqa: E402
from service import API, HEADER, Service  # noqa: E402
from tokens import TestIssuer  # noqa: E402

__all__ = ["ENGINES", "Request", "Service", "databases", "service_over"]


@contextmanager
def databases(engine: str) -> Iterator[Any]:
    """Makes fresh databases of one engine, as durable as in production."""
    logging.getLogger("alembic").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="secretsvc-bench-") as directory:
        if engine == "sqlite":
            yield SqliteDatabases(Path(directory))
            return
        with postgresql_server() as server:
            # The suite's server does without; what is durable takes its time.
            with psycopg.connect(server.replace("+psycopg", ""), autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET fsync = on")
                connection.execute("SELECT pg_reload_conf()")
            yield PostgresqlDatabases(server)


@contextmanager
def service_over(made: Any, **settings: str) -> Iterator[Service]:
    """The application over a fresh database; nobody is touched within an hour."""
    with tempfile.TemporaryDirectory(prefix="secretsvc-issuer-") as directory:
        service = Service(
            made.create(), TestIssuer(Path(directory)), **{"LAST_SEEN_RESOLUTION": "3600000", **settings}
        )
        try:
            yield service
        finally:
            service.close()


class Request:
    """One request of one person, to be sent any number of times."""

    prefix = API

    def __init__(self, service: Service, subject: str, method: str, target: str, status: int) -> None:
        path, _, query = target.partition("?")
        self.app, self.status = service.app, status
        self.environ: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": self.prefix + path,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "localhost",
            "HTTP_" + HEADER.upper().replace("-", "_"): service.issuer.sign(
                subject, exp=int(time.time()) + 3600
            ),
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
        environ, sent = {**self.environ, "wsgi.input": io.BytesIO()}, []
        respond: Callable[..., Any] = lambda status, fields, exc_info=None: sent.append(status)  # noqa: E731
        began = time.perf_counter()
        body = b"".join(self.app(environ, respond))
        took = time.perf_counter() - began
        if not sent[-1].startswith(str(self.status)):
            raise SystemExit(f"{self.environ['PATH_INFO']}: {sent[-1]} {body[:300]!r}")
        return took, body
