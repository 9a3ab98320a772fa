"""What explains that records are gone: a pruning that the log's own key has signed, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from resource_fields import log
from sqlalchemy import delete, select, update
from tampering import tampered

from secretsvc.audit.models import audit_record
from secretsvc.db.engine import snapshot, write_transaction
from secretsvc.deployment import audit, audit_prune
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import earliest_id
from secretsvc.sealedlog.models import audit_pruned, audit_seal
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.retention.prune import Pruning, prune_some, prunings_of, signed
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.key_replacement import replace_signing_key
from secretsvc.sealedlog.rules.signer import find_signer, private_key
from secretsvc.sealedlog.verification.verify import is_replayed, verify_database

OLD = 30
BEFORE = 1_000_000


@pytest.fixture
def files(tmp_path):
    return Files(Path(tmp_path / "export"))


@pytest.fixture
def pruned(service, files, request):
    """A service without its first 30 records, of long ago: who looked after it has the export."""
    log(service, OLD, ids=[earliest_id(1000 * number) for number in range(OLD)])
    vault = request.getfixturevalue("vault")
    vault.set(A="x")
    vault.get("secrets/A")
    prune(service, files, BEFORE)
    return service


def record(service, files, before):
    """A pruning that is recorded, sealed and exported, and not begun."""
    registry = service.app.registry
    size = audit_prune._export_whole(registry, files)
    found = audit_prune._record(registry, files, before, size)
    audit_prune._await_seal(registry, files, found)
    return found


def prune(service, files, before):
    found = record(service, files, before)
    audit_prune._remove(service.engine, found)
    return found


def problems(service, files=None):
    with snapshot(service.engine) as connection:
        signers = audit.own_key(connection, service.app.registry, None, files)
        return [*verify_database(connection, signers, [], files, service.app.registry.load_ring())]


def replayed(service, files=None):
    with snapshot(service.engine) as connection:
        return is_replayed(connection, audit.own_key(connection, service.app.registry), files)


def key_of(service):
    with snapshot(service.engine) as connection:
        return private_key(service.app.registry.load_ring(), find_signer(connection))


def believed(service):
    with snapshot(service.engine) as connection:
        signers = audit.own_key(connection, service.app.registry)
        return [one.pruning.size for one in prunings_of(connection, signers)]


def add(service, detail):
    """A record of a pruning, by SQL; the service seals it like every other."""
    log(service, action="audit.prune", detail=detail, actor_subject="system")
    while service.app.registry.audit_sealer.step():
        pass


@pytest.mark.slow
def test_who_adds_a_record_of_a_pruning_explains_nothing_and_keeps_nobody_from_a_replay(pruned, files):
    [true] = pruned.audit("audit.prune")
    detail = json.loads(true["detail"])
    more = Pruning(BEFORE, 1, OLD + 1, detail["digest"])
    forged = [
        {**detail, "size": OLD + 1},
        {**detail, "size": OLD + 1, "note": None},
        {**detail, "size": -1, "note": "x"},
        {name: detail[name] for name in ("before", "count", "size", "digest")},
        signed("secretsvc", bytes(range(32)), more),
        signed("another", key_of(pruned), more),
        [],
        "text",
    ]
    for one in forged:
        add(pruned, json.dumps(one))
    add(pruned, "{")
    add(pruned, true["detail"])
    assert set(believed(pruned)) == {OLD}
    assert problems(pruned) == problems(pruned, files) == []
    assert replayed(pruned)
    first = select(audit_seal.c.record_id).where(audit_seal.c.position == OLD)
    tampered(pruned, delete(audit_record).where(audit_record.c.id.in_(first)), "audit_record")
    assert problems(pruned) == [f"index {OLD}: the record is missing"]


def test_a_pruning_that_a_former_key_signs_after_its_replacement_explains_nothing(pruned):
    stolen, ring = key_of(pruned), pruned.app.registry.load_ring()
    replace_signing_key(pruned.engine, Sealing(ring, "secretsvc"), "made-by-a-test")
    add(pruned, json.dumps(signed("secretsvc", stolen, Pruning(BEFORE, 1, OLD + 1, "0" * 64))))
    assert believed(pruned) == [OLD]
    assert problems(pruned) == []


def test_what_the_database_says_of_its_prunings_is_held_against_the_log(pruned, files):
    tampered(pruned, update(audit_pruned).values(position=OLD - 1), "audit_pruned")
    told = f"the first {OLD} records are pruned, and the database says that {OLD - 1} are"
    assert told in problems(pruned)
    tampered(pruned, update(audit_pruned).values(position=OLD, complete_since=1))
    assert problems(pruned, files) == [
        "no pruning that the log tells of is from before 1, as the database says"
    ]
    tampered(pruned, delete(audit_pruned))
    assert f"the first {OLD} records are pruned, and the database says that 0 are" in problems(pruned)


@pytest.mark.slow
def test_between_the_record_of_a_pruning_and_its_end_nothing_is_wrong(pruned, vault, files):
    vault.set(B="y")
    found = record(pruned, files, now_ms() + 1000)
    assert (files.folder / "state" / f"{found.size}.note").exists()
    assert found.size > OLD + 5
    assert problems(pruned) == problems(pruned, files) == []
    assert replayed(pruned, files)
    with write_transaction(pruned.engine) as connection:
        assert OLD < prune_some(connection, found, 4) < found.size
    assert problems(pruned, files) == []
    assert (replayed(pruned, files), replayed(pruned)) == (True, True)
    audit_prune._finish(pruned.app.registry, files, found)
    assert problems(pruned, files) == problems(pruned) == []
    assert (replayed(pruned, files), replayed(pruned)) == (True, False)


@pytest.mark.slow
def test_an_auditors_own_export_lacks_the_state_and_is_told_so_without_an_alarm(
    pruned, vault, files, tmp_path, secretsvc
):
    vault.set(B="y")
    own = tmp_path / "own"
    assert secretsvc("audit", "export", "production.ini", str(files.folder)).returncode == 0
    own.mkdir()
    for path in files.folder.rglob("*"):
        if path.is_file() and "state" not in path.parts:
            target = own / path.relative_to(files.folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    prune(pruned, files, now_ms() + 1000)
    for arguments in (("export",), ("verify", "--ini")):
        done = secretsvc("audit", *arguments, "production.ini", str(own))
        assert done.returncode == 0, (done.stdout, done.stderr)
    assert done.stdout == "All is as it was sealed.\n"
    assert audit.NOT_REPLAYED in done.stderr
    done = secretsvc("audit", "verify", "--ini", "production.ini", str(files.folder))
    assert (done.stdout, audit.NOT_REPLAYED in done.stderr) == ("All is as it was sealed.\n", False)
