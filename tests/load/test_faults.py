"""Four rows of the fault table (`make faults`), each for a shorter time; with `--long` all, and their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from extent import amount
from faults.around import AROUND
from faults.counting import COUNTING
from faults.database import BLACK_HOLE, DATABASE, DOWN, READ_ONLY, SMALL_POOL
from faults.failover import FAILOVERS
from faults.fault import Fault, run
from tokens import TestIssuer

#: Long enough for requests that wait for connections and answers to give up; the silence is longer than any
#: request may take.
SECONDS = {DOWN: 8.0, BLACK_HOLE: 36.0, READ_ONLY: 4.0, SMALL_POOL: 5.0}
#: Of the way back: `make faults` holds it to the bound itself, on a machine that does nothing else.
SLACK = 5.0


@pytest.mark.long
@pytest.mark.parametrize(
    "fault",
    amount([*SECONDS], [*DATABASE, *FAILOVERS, *AROUND, *COUNTING]),
    ids=lambda fault: fault.name.replace(" ", "-"),
)
def test_no_acknowledged_write_is_lost_and_no_client_waits_too_long(
    fault: Fault, issuer: TestIssuer, tmp_path: Path
) -> None:
    if fault.needs():
        pytest.skip(fault.needs())
    outcome = run(fault, issuer, tmp_path, amount(SECONDS.get(fault), None), SLACK)
    print(f"\n{outcome.row}")
    assert outcome.problems == []
