"""`make faults`: injects every fault under load, and prints the table of what came of each."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import processes
from faults.around import AROUND
from faults.counting import COUNTING
from faults.database import DATABASE
from faults.failover import FAILOVERS
from faults.fault import HEAD, run
from tokens import TestIssuer


def main(wanted: list[str]) -> int:
    """Those whose names hold one of the words, or all; the exit code is 1 where one does not hold."""
    rows = (*DATABASE, *FAILOVERS, *AROUND, *COUNTING)
    faults = [one for one in rows if not wanted or any(word in one.name for word in wanted)]
    # What is injected may come on top of whatever else the machine does.
    processes.START_SECONDS = 120.0
    failed = False
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="secretsvc-faults-") as folder:
        # A server may run as a user of its own.
        Path(folder).chmod(0o755)
        issuer = TestIssuer(Path(folder))
        for number, fault in enumerate(faults):
            if fault.needs():
                print(f"| {fault.name} | left out: {fault.needs()} | | | | | |", flush=True)
                continue
            outcome = run(fault, issuer, Path(folder, str(number)))
            failed = failed or bool(outcome.problems)
            print(outcome.row, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
