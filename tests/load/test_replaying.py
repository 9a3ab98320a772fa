"""The log is replayed while writers run, and explains everything."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from itertools import islice

from honest import Writer
from shapes import log
from waiting import eventually

from secretsvc.db.engine import snapshot
from secretsvc.kernel.notes import Verifier
from secretsvc.sealedlog.models import audit_signer
from secretsvc.sealedlog.rules.verifying import verify_database

#: `benchmarks/replay.py` does the same with 100,000 records.
WRITERS, CHANGES, READS, TIMES = 4, 150, 2000, 3


@contextmanager
def writing(service, count):
    """So many writers, and the sealer beside them; how many changes they have made."""
    end, made, failed = threading.Event(), [0] * count, []

    def until_the_end(act):
        try:
            while not end.is_set():
                act()
        except BaseException as error:
            failed.append(error)
            raise

    def write(number, steps):
        next(steps)
        made[number] += 1

    def seal():
        if not service.app.registry.audit_sealer.step():
            end.wait(0.01)

    writers = [iter(Writer(service.user(), f"writer-{number}")) for number in range(count)]
    acts = [seal, *(lambda n=n, steps=steps: write(n, steps) for n, steps in enumerate(writers))]
    threads = [threading.Thread(target=until_the_end, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    try:
        yield made
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert failed == []


def fill(service, changes, reads):
    """So many changes by a writer, and so many reads by others, sealed."""
    for _ in islice(Writer(service.user(), "first"), changes):
        pass
    said = json.dumps({"key": "K1", "version": 1})
    log(service, reads, action="secret.reveal", reason="reveal", detail=said)
    while service.app.registry.audit_sealer.step():
        pass


def verified(service):
    """What a verification says, in one state of the database."""
    [signer] = service.rows(audit_signer)
    with snapshot(service.engine) as connection:
        verifier = Verifier("secretsvc", signer["public_key"])
        return [*verify_database(connection, verifier, [], None, service.app.registry.load_ring())]


def test_all_is_well_whenever_it_is_verified_while_writers_run(vault, service):
    fill(service, CHANGES, READS)
    with writing(service, WRITERS) as made:
        for _ in range(TIMES):
            before = sum(made)
            assert verified(service) == []
            assert eventually(lambda before=before: sum(made) > before + WRITERS)
    assert verified(service) == []
