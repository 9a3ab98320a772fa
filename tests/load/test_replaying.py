"""The log is replayed while writers run, and explains everything."""

from __future__ import annotations

from audited_writers import fill, verified, writing
from waiting import eventually

#: `benchmarks/replay.py` does the same with 100,000 records.
WRITERS, CHANGES, READS, TIMES = 4, 150, 2000, 3


def test_all_is_well_whenever_it_is_verified_while_writers_run(vault, service):
    fill(service, CHANGES, READS)
    with writing(service, WRITERS) as made:
        for _ in range(TIMES):
            before = sum(made)
            assert verified(service) == []
            assert eventually(lambda before=before: sum(made) > before + WRITERS)
    assert verified(service) == []
