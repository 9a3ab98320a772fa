"""Four rows of the fault table (`make faults`), each for a shorter time: what is bounded there holds here."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.database import BLACK_HOLE, DOWN, READ_ONLY, SMALL_POOL
from faults.fault import Fault, run
from tokens import TestIssuer

#: Long enough for requests that wait for connections and answers to give up; the silence is longer than any
#: request may take.
SECONDS = {DOWN: 8.0, BLACK_HOLE: 36.0, READ_ONLY: 4.0, SMALL_POOL: 5.0}
#: Of the way back: `make faults` holds it to the bound itself, on a machine that does nothing else.
SLACK = 5.0


@pytest.mark.parametrize("fault", SECONDS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_no_acknowledged_write_is_lost_and_no_client_waits_too_long(
    fault: Fault, issuer: TestIssuer, tmp_path: Path
) -> None:
    outcome = run(fault, issuer, tmp_path, SECONDS[fault], SLACK)
    print(f"\n{outcome.row}")
    assert outcome.problems == []
