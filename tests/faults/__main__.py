"""`make faults`: injects every fault under load, and prints the table of what came of each."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from faults.database import DATABASE
from faults.fault import HEAD, run
from tokens import TestIssuer


def main(wanted: list[str]) -> int:
    """Those whose names hold one of the words, or all; the exit code is 1 where one does not hold."""
    faults = [one for one in DATABASE if not wanted or any(word in one.name for word in wanted)]
    failed = False
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="secretsvc-faults-") as folder:
        issuer = TestIssuer(Path(folder))
        for number, fault in enumerate(faults):
            outcome = run(fault, issuer, Path(folder, str(number)))
            failed = failed or bool(outcome.problems)
            print(outcome.row, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
