"""Export and prune twelve of thirteen months under load: how long writes wait, and how long pages take.

Four clients write to a process over the wire, with a pause after each write, first with nothing beside them
and then while `secretsvc-server audit prune` exports, verifies and removes. First pages of the log are asked
for before and after it, in process. Prints what the command took, its record, what `audit verify` says of
what is left, and how the database answers who would remove records without being the operator.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from audit_pages import EMPTY, HOT, RARE, fill
from audit_pages import ROOT as ADMIN
from bench import ENGINES, Report, Request, Service, databases, options_of, service_over
from processes import Deployment
from rotation import Operator
from sealing import list_all, seal_all
from service import MASTER_KEY
from sqlalchemy.exc import DBAPIError
from tokens import TestIssuer
from wire import VALUE, Client, at_once

SIZE, MONTHS, MONTHS_KEPT = 100_000, 13, 1
MONTH_MS = 30 * 24 * 3600 * 1000
WRITERS, PAUSE, ALONE = 4, 0.05, 15.0
MOST_MS, GOAL = 100.0, 1.0
PAGES = {
    "global admin": (ADMIN, ""),
    "project admin, hot": (f"{HOT}@example.com", ""),
    "project admin, rare": (f"{RARE}@example.com", "?limit=5"),
    "project admin, empty": (f"{EMPTY}@example.com", ""),
    "global admin, denied": (ADMIN, "?outcome=denied&limit=5"),
    "global admin, rare action": (ADMIN, "?action=keyring.rekey"),
}


def prepared(service: Service, count: int) -> None:
    """An environment to write to, and a log of thirteen months that is sealed."""
    fill(service, count, MONTHS * MONTH_MS // count)
    admin = service.user(ADMIN)
    admin.post("/projects", {"slug": "shop", "name": "Shop"}, 201)
    admin.post("/projects/shop/environments", {"slug": "prod", "name": "Prod"}, 201)
    service.grant("ada@example.com", "writer", "shop/prod")
    admin.post("/projects/shop/environments/prod/secrets:batch", VALUE)
    list_all(service)
    service.execute("ANALYZE")
    seal_all(service)
    service.execute("ANALYZE")


def pages_us(service: Service) -> dict[str, float]:
    """The median of each page."""
    asked = {
        name: Request(service, who, "GET", f"/audit{query}", 200) for name, (who, query) in PAGES.items()
    }
    times: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(100):
        for name, request in asked.items():
            times[name].append(request.timed() * 1e6)
    return {name: statistics.median(found) for name, found in times.items()}


def waits_ms(deployed: Deployment, going_on: Callable[[], bool]) -> list[float]:
    """How long each write took, in order, while something goes on."""
    found: list[float] = []

    def work(_number: int, client: Client) -> None:
        request = client.request("POST", "/secrets:batch", VALUE)
        while going_on():
            began = time.perf_counter()
            if client.send(request) not in (200, 409):
                raise SystemExit("a write failed")
            found.append((time.perf_counter() - began) * 1000)
            time.sleep(PAUSE)

    at_once(deployed, WRITERS, work)
    return sorted(found)


def pruned(deployed: Deployment, folder: Path, count: int) -> list[float]:
    """The same while the command runs, which must end well."""
    before = datetime.fromtimestamp(time.time() - MONTHS_KEPT * MONTH_MS / 1000, UTC)
    operator = Operator(folder / "operator", deployed.url)
    export = ("--before", f"{before:%Y-%m-%dT%H:%M:%S}", "--export", str(folder / "export"))
    began = time.perf_counter()
    process = operator.start("audit", "prune", "production.ini", *export, MASTER_KEY=MASTER_KEY)
    found: list[float] = []
    writing = threading.Thread(
        target=lambda: found.extend(waits_ms(deployed, lambda: process.poll() is None))
    )
    writing.start()
    out, error = process.communicate()
    took = time.perf_counter() - began
    writing.join()
    if process.returncode:
        raise SystemExit(error)
    print(f"{out.strip()} {took:.0f} s for all of it, of {count} records.", flush=True)
    began = time.perf_counter()
    verify = ("audit", "verify", "--ini", "production.ini", str(folder / "export"))
    done = operator.run(*verify, MASTER_KEY=MASTER_KEY)
    print(f"{done.stdout.strip()} {time.perf_counter() - began:.0f} s to verify.", flush=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return found


def refusals(service: Service) -> list[str]:
    """What the database says to the service's role, on SQLite to any, that removes records."""
    if service.engine.name == "sqlite":
        try:
            service.execute("DELETE FROM audit_record")
        except DBAPIError as error:
            return [str(error.orig)]
        raise SystemExit("records were removed")
    found = []
    with psycopg.connect(service.url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE ROLE serving")
        connection.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO serving")
        connection.execute("SET ROLE serving")
        for statement in ("DELETE FROM audit_record", "SELECT audit_prune(1, 1, 1)"):
            try:
                connection.execute(statement)
            except psycopg.Error as error:
                found.append(str(error).splitlines()[0])
            else:
                raise SystemExit(f"it was let do {statement}")
    return found


def told(service: Service) -> None:
    """Prints the records of prunings, without what signs them, and how others are refused."""
    for row in service.audit("audit.prune"):
        print({**json.loads(row["detail"]), "note": "…"}, "by", row["actor_subject"], flush=True)
    print("refused:", *refusals(service), sep="\n  ", flush=True)


def measure(service: Service, options: Namespace, report: Report) -> None:
    """Over a log of that size; a write, then the pages."""
    engine, before = service.engine.name, pages_us(service)
    with tempfile.TemporaryDirectory(prefix="secretsvc-prune-") as directory:
        folder = Path(directory)
        issuer = TestIssuer(folder)
        with Deployment(folder, service.url, issuer, LAST_SEEN_RESOLUTION="3600000").start(1) as deployed:
            until = time.monotonic() + ALONE
            alone = waits_ms(deployed, lambda: time.monotonic() < until)
            beside = pruned(deployed, folder, options.size)
    told(service)
    for name, share in (("median", 0.5), ("99 of 100", 0.99), ("longest", 1.0)):
        base, ours = (found[min(int(share * len(found)), len(found) - 1)] for found in (alone, beside))
        report.add(engine, f"a write, {name}", base, ours, unit="ms")
    report.add(engine, "a write, longest, and its bound", MOST_MS, beside[-1], goal=GOAL, unit="ms")
    late = sum(one > MOST_MS for one in beside)
    print(f"{late} of {len(beside)} writes took more than {MOST_MS:.0f} ms.", flush=True)
    for name, after in pages_us(service).items():
        report.add(engine, name, before[name], after)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--size", type=int, default=SIZE)
    options = parser.parse_args()
    report = Report(__file__, "before", "pruning, after")
    for engine in options.engine or ENGINES:
        with databases(engine) as made, service_over(made) as service:
            began = time.perf_counter()
            prepared(service, options.size)
            print(f"{engine}: {options.size} records in {time.perf_counter() - began:.0f} s", flush=True)
            measure(service, options, report)
    report.save(options.json)


if __name__ == "__main__":
    main()
