"""How long a start takes: from `pserve` to the first value that it gives, and the CPU time of the process.

The database is there, and so are compiled modules and pages, as after the first start of an installation.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path

from bench import ENGINES, Report, databases, options_of
from operations import ADA, ENVIRONMENT
from processes import Deployment
from wire import deployment_over

GOAL_MS, ROUNDS = 700.0, 7


def start(deployed: Deployment) -> tuple[float, float]:
    """Milliseconds: of the processor, and until the answer."""
    (process,) = deployed.processes
    process.stop()
    began = time.monotonic()
    process.start()
    deployed.client(0, deployed.issuer.sign(ADA)).expect(200, "GET", f"{ENVIRONMENT}/secrets/KEY_250")
    took = time.monotonic() - began
    # Behind the name, which may have spaces: what it spent as a user, and in the kernel.
    spent = Path(f"/proc/{process.pid}/stat").read_text("ascii").rpartition(")")[2].split()[11:13]
    return sum(map(int, spent)) * 1e3 / os.sysconf("SC_CLK_TCK"), took * 1e3


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--python", default=sys.executable, help="that of an installation without the tests")
    options = parser.parse_args()
    # What the processes are started with.
    sys.executable = options.python
    report = Report(__file__, "CPU", "ours")
    for engine in options.engine or ENGINES:
        with databases(engine) as made, deployment_over(made, 1) as deployed:
            deployed.processes[0].settings["PYTHONDONTWRITEBYTECODE"] = ""
            start(deployed)
            rounds = [start(deployed) for _ in range(ROUNDS)]
            cpu, took = (statistics.median(side) for side in zip(*rounds, strict=True))
            ratio = took / GOAL_MS
            report.add(engine, "start / 700 ms", cpu, took, ratio=ratio, goal=1.0, unit="ms")
    report.save(options.json)


if __name__ == "__main__":
    main()
