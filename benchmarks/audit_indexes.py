"""What the indexes of two filters cost a read of one value: CPU time with them ÷ without.

Two services over logs of the same 10^5 records; one has lost the indexes of migration 0012. Each pair is so
many reads of the one and of the other, request by request in turn. On PostgreSQL the time of the server's
process counts, too. The ratio is that of the pairs: its mean, and the upper end of its interval of 95 %.
"""

from __future__ import annotations

import math
import statistics
import time
from contextlib import ExitStack
from pathlib import Path

from audit_pages import fill
from bench import ENGINES, Report, Request, Service, databases, options_of, service_over
from service import arrange
from sqlalchemy import text

from secretsvc.audit.models import audit_record

RECORDS, PAIRS, READS, GOAL = 100_000, 30, 60, 1.1
#: Student's t of 29 degrees of freedom, both sides.
T_95 = 2.045
ADA, PATH = "ada@example.com", "/projects/shop/environments/prod"
#: The indexes that were there before.
ALONE = {
    f"ix_audit_record_{name}"
    for name in ("project_id", "environment_id", "actor_subject", "action", "denied", "key", "given")
}


class Reads:
    """Reads of one value, and what they take of the processors."""

    def __init__(self, service: Service, *, indexed: bool) -> None:
        fill(service, RECORDS)
        arrange(service, "shop", "prod").post(f"{PATH}/secrets:batch", {"mode": "merge", "set": {"K": "v"}})
        service.grant(ADA, "reader", "shop/prod")
        for index in audit_record.indexes if not indexed else ():
            if index.name not in ALONE:
                service.execute(f"DROP INDEX {index.name}")
        self._request = Request(service, ADA, "GET", f"{PATH}/secrets/K", 200)
        self._request.send()
        self._server: Path | None = None
        if service.engine.name == "postgresql":
            with service.engine.connect() as connection:
                pid = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
            self._server = Path(f"/proc/{pid}/schedstat")

    def cpu(self) -> float:
        """The microseconds of one read."""
        began = self._spent()
        self._request.send()
        return self._spent() - began

    def _spent(self) -> float:
        server = 0 if self._server is None else int(self._server.read_text("ascii").split()[0])
        return (time.process_time_ns() + server) / 1e3


def pair(base: Reads, other: Reads) -> tuple[float, float]:
    """Microseconds of one read of each, the mean of many."""
    taken = [0.0, 0.0]
    for number in range(READS):
        for index in (0, 1) if number % 2 else (1, 0):
            taken[index] += (base, other)[index].cpu() / READS
    return taken[0], taken[1]


def main() -> None:
    options = options_of(__doc__).parse_args()
    report = Report(__file__, "without", "with")
    for engine in options.engine or ENGINES:
        with ExitStack() as stack:
            made = stack.enter_context(databases(engine))
            base, other = (
                Reads(stack.enter_context(service_over(made, RATE_LIMIT="")), indexed=indexed)
                for indexed in (False, True)
            )
            pair(base, other)
            pairs = [pair(base, other) for _ in range(PAIRS)]
            ratios = [second / first for first, second in pairs]
            mean = statistics.mean(ratios)
            upper = mean + T_95 * statistics.stdev(ratios) / math.sqrt(PAIRS)
            sides = [statistics.median(side) for side in zip(*pairs, strict=True)]
            report.add(engine, f"read one, mean {mean:.3f}", *sides, ratio=upper, goal=GOAL)
    report.save(options.json)


if __name__ == "__main__":
    main()
