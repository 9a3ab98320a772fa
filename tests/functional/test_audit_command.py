"""`secretsvc-server audit`: an export, its verification and that of the database, and a tail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from resource_fields import log
from sqlalchemy import text

from secretsvc.db.engine import write_transaction
from secretsvc.transparency.merkle import leaf_hash
from secretsvc.transparency.tiles import unbundled

pytestmark = pytest.mark.both_engines

INI = "production.ini"
OFF = {
    "sqlite": ("DROP TRIGGER {0}_no_update", "DROP TRIGGER {0}_no_delete"),
    "postgresql": ("ALTER TABLE {0} DISABLE TRIGGER USER",),
}


@pytest.fixture
def audit(secretsvc):
    """Runs a subcommand: what it prints, or, with a status, what it fails with."""

    def run(*arguments, status=0):
        done = secretsvc("audit", *map(str, arguments))
        assert done.returncode == status, (done.stdout, done.stderr)
        return done.stdout if status in (0, 1) and done.stdout else done.stderr

    return run


@pytest.fixture
def exported(vault, service, audit, tmp_path):
    """A folder with 600 records and more, and the key by which it is verified."""
    vault.set(A="x")
    log(service, 600)
    folder = tmp_path / "export"
    audit("export", INI, folder)
    return folder


@pytest.fixture
def key(exported):
    return (exported / "key").read_text().strip()


def tamper(service, statement, table="audit_record", **values):
    """What somebody does who may do everything in the database."""
    with write_transaction(service.engine) as connection:
        for off in OFF[service.engine.name]:
            connection.execute(text(off.format(table)))
        connection.execute(text(statement), values)


@pytest.mark.slow
def test_an_export_holds_every_record_and_proves_to_be_whole(exported, key, audit, service):
    bundles = sorted((exported / "tile" / "entries").rglob("*"))
    entries = [one for path in bundles if path.is_file() for one in unbundled(path.read_bytes())]
    assert [json.loads(one)["id"] for one in entries] == [str(row["id"]) for row in service.audit()]
    names = {str(path.relative_to(exported)) for path in exported.rglob("*") if path.is_file()}
    width = len(entries) - 512
    assert {
        "checkpoint",
        "key",
        "tile/0/000",
        "tile/0/001",
        f"tile/0/002.p/{width}",
        "tile/1/000.p/2",
    } <= names
    assert audit("verify", exported, "--key", key) == "All is as it was sealed.\n"
    assert audit("verify", "--ini", INI, "--key", key, exported) == "All is as it was sealed.\n"


@pytest.mark.slow
def test_an_export_goes_on_where_it_stopped_and_holds_to_an_older_checkpoint(exported, key, audit, service):
    old = exported.parent / "old-checkpoint"
    old.write_bytes((exported / "checkpoint").read_bytes())
    kept = {path: path.stat().st_mtime_ns for path in (exported / "tile" / "0").glob("00[01]")}
    log(service, 300)
    audit("export", INI, exported)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert audit("verify", exported, "--key", key, "--checkpoint", old) == "All is as it was sealed.\n"
    again = audit("verify", "--ini", INI, "--key", key, "--checkpoint", old, exported)
    assert again == "All is as it was sealed.\n"


@pytest.mark.slow
def test_a_detail_beside_its_entry_is_exported_and_verified(exported, key, audit, service):
    index = len(service.audit())
    log(service, detail=json.dumps({"keys": ["K" * 70] * 1000}))
    audit("export", INI, exported)
    beside = exported / "detail" / f"{index}.json"
    assert len(json.loads(beside.read_text())["keys"]) == 1000
    beside.write_text("{}")
    assert f"export: index {index}: the detail beside" in audit("verify", exported, "--key", key, status=1)


CHANGED = """
    UPDATE audit_record SET reason = 'forged'
    WHERE id = (SELECT record_id FROM audit_seal WHERE position = 300)
"""
DELETED = "DELETE FROM audit_record WHERE id = (SELECT record_id FROM audit_seal WHERE position = 300)"
INSERTED = """
    INSERT INTO audit_record (id, created_at, action, outcome, actor_subject, request_id)
    SELECT '00000000000000000000000000000001', created_at, action, outcome, actor_subject, request_id
    FROM audit_record WHERE id = (SELECT record_id FROM audit_seal WHERE position = 300)
"""
TAMPERED = {
    "changed": (CHANGED, "index 300: the record is not the one that was sealed"),
    "deleted": (DELETED, "index 300: the record is missing"),
    "inserted": (INSERTED, "is neither sealed nor waits to be"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TAMPERED)
def test_a_record_that_was_tampered_with_is_named_and_never_exported(exported, key, audit, service, kind):
    statement, told = TAMPERED[kind]
    if kind == "inserted" and service.engine.name == "sqlite":
        service.execute("DROP TRIGGER audit_record_waits")
    uuid = "1'" if service.engine.name == "sqlite" else "1'::uuid"
    tamper(service, statement.replace("1'", uuid))
    assert told in audit("verify", "--ini", INI, "--key", key, status=1)
    assert audit("verify", exported, "--key", key) == "All is as it was sealed.\n"
    if kind != "inserted":
        empty = exported.parent / "another"
        assert "index 300: the record" in audit("export", INI, empty, status=1)
        assert not (empty / "checkpoint").exists()


@pytest.mark.slow
def test_a_changed_record_whose_hash_was_changed_too_is_named_by_an_older_export(
    exported, key, audit, service
):
    tamper(service, CHANGED)
    forged = "UPDATE audit_seal SET leaf_hash = :forged WHERE position = 300"
    tamper(service, forged, "audit_seal", forged=leaf_hash(b"forged"))
    size = len(service.audit())
    alone = audit("verify", "--ini", INI, "--key", key, status=1)
    assert f"database: index 0 to {size - 1}: something in there" in alone
    beside = audit("verify", "--ini", INI, "--key", key, exported, status=1)
    assert "database: index 300: the hash is not the one that was exported" in beside


@pytest.mark.slow
def test_a_log_that_was_cut_off_with_its_head_is_seen_by_an_older_checkpoint(exported, key, audit, service):
    size = len(service.audit())
    records = (
        "DELETE FROM audit_record WHERE id IN (SELECT record_id FROM audit_seal WHERE position >= :first)"
    )
    tamper(service, records, first=size - 5)
    tamper(service, "DELETE FROM audit_seal WHERE position >= :first", "audit_seal", first=size - 5)
    told = audit("verify", "--ini", INI, "--key", key, "--checkpoint", exported / "checkpoint", status=1)
    assert f"database: index {size - 5}: it is missing" in told


@pytest.mark.slow
def test_a_checkpoint_by_another_key_is_seen(exported, key, audit):
    wrong = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    assert "is not signed by this key" in audit("verify", exported, "--key", wrong, status=1)
    assert "is not signed by this key" in audit("verify", "--ini", INI, "--key", wrong, status=1)


FILES = {
    "an entry": ("tile/entries/001", "index 256: the entry is not the one that was sealed"),
    "a hash": ("tile/0/001", "index 256: the entry is not the one that was sealed"),
    "a hash above": ("tile/1/000.p/2", "index 0 to 255: a hash in there was changed"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FILES)
def test_a_changed_file_of_an_export_is_named_by_its_first_index(exported, key, audit, kind):
    name, told = FILES[kind]
    path = exported / name
    content = bytearray(path.read_bytes())
    content[2] ^= 1
    path.write_bytes(content)
    assert told in audit("verify", exported, "--key", key, status=1).splitlines()[0]
    path.unlink()
    assert audit("verify", exported, "--key", key, status=1)


@pytest.mark.slow
def test_under_another_name_each_command_says_plainly_what_the_log_is_called(exported, key, secretsvc):
    prune = ("prune", INI, "--before", "2020-01-01", "--export", exported)
    failing = (("export", INI, exported), ("verify", "--ini", INI, exported), prune, ("replace-key", INI))
    for arguments in failing:
        done = secretsvc("audit", *map(str, arguments), AUDIT_ORIGIN="log.example.com")
        assert done.returncode == 1
        said = done.stdout + done.stderr
        assert "not signed by this key" in said
        assert "it is of the log secretsvc, and the key of log.example.com (AUDIT_ORIGIN" in said
        assert "Traceback" not in said
    kept = secretsvc("audit", "verify", "--ini", INI, "--key", key, AUDIT_ORIGIN="log.example.com")
    assert kept.stdout == "All is as it was sealed.\n"


@pytest.mark.slow
def test_a_tail_leaves_nothing_out_and_repeats_nothing_wherever_it_was_cut_off(exported, audit, service):
    file = Path(exported.parent / "audit.jsonl")
    audit("tail", INI, "--to", file)
    whole = file.read_bytes()
    assert [json.loads(line)["index"] for line in whole.splitlines()] == [*range(len(service.audit()))]
    for cut in (0, 1, len(whole) // 2, len(whole) - 1, len(whole)):
        file.write_bytes(whole[:cut])
        file.with_name("audit.jsonl.position").unlink()
        audit("tail", INI, "--to", file)
        assert file.read_bytes() == whole
    last = len(service.audit()) - 1
    assert json.loads(audit("tail", INI, "--from", last)) == json.loads(whole.splitlines()[-1])


@pytest.mark.slow
def test_before_anything_is_sealed_there_is_nothing_to_export(admin, audit, tmp_path):
    assert "nothing is sealed yet" in audit("export", INI, tmp_path / "export", status=1)
    assert "Name a folder" in audit("verify", status=2)
    assert "no key is there" in audit("verify", tmp_path, status=1)
