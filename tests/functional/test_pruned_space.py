"""What a pruning leaves to others: the space of what went, and the time between its batches."""

from __future__ import annotations

from itertools import accumulate, cycle
from types import SimpleNamespace

import psycopg
import pytest
from resource_fields import log
from sqlalchemy import text

from secretsvc.deployment import audit_prune
from secretsvc.deployment.audit import export_to
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import earliest_id
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.retention.prune import Pruning

COUNT = 2000


def size_of(service):
    """What the file has of pages, on PostgreSQL the table of records."""
    asked = {"sqlite": "PRAGMA page_count", "postgresql": "SELECT pg_relation_size('audit_record')"}
    return number(service, asked[service.engine.name])


def number(service, statement):
    with service.engine.connect() as connection:
        return connection.execute(text(statement)).scalar_one()


def add(service, first):
    """Records of the first seconds of 1970, sealed."""
    log(service, COUNT, ids=[earliest_id(1000 * (first + each)) for each in range(COUNT)])


@pytest.fixture
def everything(vault, service, tmp_path):
    """A pruning of all that is there, and exported."""
    vault.set(A="x")
    size = export_to(service.app.registry, Files(tmp_path / "export")).size
    return Pruning(now_ms() + 1000, size, size, "")


@pytest.mark.parametrize(("held", "tidied", "pause"), [(3, 1, 2), (3, 5, 0)])
def test_the_lock_is_free_for_as_long_as_it_was_held_and_the_tidying_counts(
    everything, service, monkeypatch, held, tidied, pause
):
    pauses = []
    # A batch looks at the clock three times; nothing passes until the next.
    clock = accumulate(cycle([0, held, tidied]))
    monkeypatch.setattr(
        audit_prune, "time", SimpleNamespace(perf_counter=clock.__next__, sleep=pauses.append)
    )
    monkeypatch.setattr(audit_prune, "FIRST_ROWS", 2)
    monkeypatch.setattr(audit_prune, "LEAST_ROWS", 2)
    audit_prune._remove(service.engine, everything)
    assert len(pauses) > 1
    assert pauses == [pause] * len(pauses)


@pytest.fixture
def pruned(vault, service, tmp_path):
    """A service of whose log that many records went; its size with them, and how much of that was theirs."""
    vault.set(A="x")
    empty = size_of(service)
    add(service, 0)
    size = export_to(service.app.registry, Files(tmp_path / "export")).size
    before = size_of(service)
    audit_prune._remove(service.engine, Pruning(now_ms() + 1000, size, size, ""))
    assert len(service.audit()) == 0
    return service, before, before - empty


def vacuum(service):
    """What autovacuum does by itself."""
    url = service.url.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM audit_record")


@pytest.mark.slow
def test_after_a_pruning_as_many_records_take_the_space_of_those_that_went(pruned):
    service, before, theirs = pruned
    if service.engine.name == "postgresql":
        vacuum(service)
    else:
        assert number(service, "PRAGMA freelist_count") > theirs / 2
    add(service, COUNT)
    assert len(service.audit()) == COUNT
    # The hashes of those that went stay.
    assert size_of(service) - before < theirs / 10
