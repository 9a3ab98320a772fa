"""What sealing takes: of a backlog by the command, in service, and of the requests beside it.

10^5 records wait. In service a step has 20 ms of work, and the next comes 200 ms later. What is left is
sealed as `audit export` does it. Then reads of a value, each of which leaves a record, are sent without and
with the worker in turns, in rounds. The CPU of the thread that answers is compared, and that of the process,
until all that the round has left is sealed; the ratio is the upper bound of the 95 % interval of the rounds'
mean.
"""

from __future__ import annotations

import statistics
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from math import sqrt
from os import getpid

from audit_pages import fill
from bench import ENGINES, Report, Request, Service, databases, options_of, service_over
from process_memory import Peak, resident_kib
from sqlalchemy import insert, select

from secretsvc.audit.models import audit_record
from secretsvc.db.engine import write_transaction
from secretsvc.deployment.audit import STEP
from secretsvc.sealedlog.models import audit_seal, audit_unsealed
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.sealing import seal_some
from secretsvc.sealedlog.worker import STEP_SECONDS, WORK_SECONDS, Sealer

ROOT = "root@example.com"
PROD = "/projects/shop/environments/prod"
SIZE, A_SECOND, MORE_MIB = 100_000, 5_000, 32
SEALINGS = 40
#: Of Student's distribution with 29 degrees of freedom.
QUANTILE, MOST_CPU = 2.045, 1.10


def list_all(service: Service) -> None:
    """Has every record that is not sealed wait: on SQLite the log was filled without its triggers."""
    known = (select(audit_unsealed.c.record_id), select(audit_seal.c.record_id))
    missing = select(audit_record.c.id).except_(*known)
    with write_transaction(service.engine) as connection:
        connection.execute(insert(audit_unsealed).from_select(["record_id"], missing))


def seal_all(service: Service) -> int:
    """As the command does; how many records that were."""
    registry, sealed = service.app.registry, 0
    sealing = Sealing(registry.load_ring(), registry.service_settings.audit_origin)
    while done := seal_some(service.engine, sealing, STEP):
        sealed += done
    return sealed


def prepared(service: Service, count: int) -> None:
    """One secret, and so many records that wait."""
    fill(service, count)
    admin = service.user(ROOT)
    admin.post("/projects", {"slug": "shop", "name": "Shop"}, 201)
    admin.post("/projects/shop/environments", {"slug": "prod", "name": "Prod"}, 201)
    admin.post(f"{PROD}/secrets:batch", {"mode": "merge", "set": {"A": "x" * 64}})
    list_all(service)
    service.execute("ANALYZE")


def steps_ms(service: Service) -> list[float]:
    """The CPU of the thread in each step of the worker, once it knows how many records it can take."""
    sealer, taken = service.app.registry.audit_sealer, []
    for _ in range(SEALINGS):
        began = time.thread_time()
        if not sealer.step():
            raise SystemExit("there is nothing left to seal")
        taken.append((time.thread_time() - began) * 1000)
        time.sleep(STEP_SECONDS / 10)
    return taken[SEALINGS // 4 :]


@contextmanager
def sealing(service: Service) -> Iterator[None]:
    """The worker as the server runs it."""
    sealer, over = service.app.registry.audit_sealer, threading.Event()

    def work() -> None:
        while not over.wait(sealer.pause_after(sealer.step())):
            pass

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def cpu(request: Request, seconds: float, sealer: Sealer | None) -> tuple[float, float]:
    """The seconds of CPU of one request: of the thread that answers, and of the process that seals, too."""
    count, until = 0, time.monotonic() + seconds
    answering, all_of_it = time.thread_time(), time.process_time()
    while time.monotonic() < until:
        request.send()
        count += 1
    answering = time.thread_time() - answering
    while sealer is not None and sealer.step():
        pass
    return answering / count, (time.process_time() - all_of_it) / count


def pairs(service: Service, options: Namespace) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """What `cpu` tells of a read without and with sealing, in each round; in turns which comes first."""
    request = Request(service, ROOT, "GET", f"{PROD}/secrets/A", 200)
    for number in range(options.rounds):
        found = {}
        for beside in (False, True) if number % 2 else (True, False):
            seal_all(service)
            with sealing(service) if beside else nullcontext():
                sealer = service.app.registry.audit_sealer if beside else None
                found[beside] = cpu(request, options.seconds, sealer)
        yield found[False], found[True]


def upper_bound(ratios: list[float]) -> float:
    """Of the 95 % interval of their mean."""
    return statistics.mean(ratios) + QUANTILE * statistics.stdev(ratios) / sqrt(len(ratios))


def measure(engine: str, options: Namespace, report: Report) -> None:
    """All of it over one database."""
    with databases(engine) as made, service_over(made, AUDIT_SEAL_SECONDS="1") as service:
        prepared(service, options.size)
        taken = steps_ms(service)
        for name, found in (("median", statistics.median(taken)), ("longest", max(taken))):
            report.add(engine, f"a step, {name}", WORK_SECONDS * 1000, found, goal=1.0, unit="ms")
        before = resident_kib(getpid()) / 1024
        with Peak(getpid()) as peak:
            began = time.perf_counter()
            rate = seal_all(service) / (time.perf_counter() - began)
        report.add(engine, "records a second of a backlog", A_SECOND, rate, goal=1.0, at_least=True, unit="")
        report.add(engine, "memory that takes more", MORE_MIB, peak.mib - before, goal=1.0, unit="MiB")
        rounds = [*pairs(service, options)]
        for at, name in enumerate(("the thread that answers", "the process")):
            base, ours = (statistics.median(one[side][at] for one in rounds) * 1e6 for side in (0, 1))
            upper = upper_bound([other[at] / one[at] for one, other in rounds])
            report.add(engine, f"CPU of {name}, at most", base, ours, goal=MOST_CPU, ratio=upper)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.6, help="of each side in each round")
    options = parser.parse_args()
    report = Report(__file__, "base", "ours")
    for engine in options.engine or ENGINES:
        measure(engine, options, report)
    report.save(options.json)


if __name__ == "__main__":
    main()
