"""Pruning: what is sealed and exported may leave the database, and nothing else may (contract 7.5)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pages import Browser
from resource_fields import log
from secrets_client import Vault
from service import Service, arrange
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from secretsvc.audit.models import audit_key, audit_record
from secretsvc.db.engine import make_engine, snapshot, write_transaction
from secretsvc.deployment import audit as auditing
from secretsvc.deployment import audit_prune
from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import earliest_id
from secretsvc.sealedlog.models import audit_export, audit_pruned, audit_seal, audit_snapshot
from secretsvc.sealedlog.retention import prune as pruning_rules
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.retention.prune import Pruning
from secretsvc.sealedlog.verification.verify import verify_database, verify_files

pytestmark = pytest.mark.both_engines

INI = "production.ini"
WELL = "All is as it was sealed.\n"
UNKNOWN = "/access/unknown-identities"
OLDEST = "/audit?order=oldest"


@pytest.fixture
def audit(secretsvc):
    """Runs a subcommand: what it prints, or, with a status, what it fails with."""

    def run(*arguments, status=0):
        done = secretsvc("audit", *map(str, arguments))
        assert done.returncode == status, (done.stdout, done.stderr)
        return done.stdout if status in (0, 1) and done.stdout else done.stderr

    return run


@pytest.fixture
def folder(tmp_path):
    return Path(tmp_path / "export")


@pytest.fixture
def filled(service, request):
    """A log whose first 300 records are of long ago, and what a vault leaves behind them."""
    add_old(service, 300)
    vault = request.getfixturevalue("vault")
    vault.set(A="x", B="y")
    vault.get("secrets/A")
    return vault


@pytest.fixture
def prune(audit, folder):
    """Prunes what is from before a date."""
    return lambda date="2020-01-01", **how: audit("prune", INI, "--before", date, "--export", folder, **how)


def add_old(service, count, **columns):
    """Records of the first seconds of 1970, which have the next positions of the log."""
    log(service, count, ids=[earliest_id(1000 * number) for number in range(count)], **columns)


def left(service):
    """The positions of the records that are there."""
    positions = {row["record_id"]: row["position"] for row in service.rows(audit_seal)}
    return sorted(positions[row["id"]] for row in service.audit() if row["id"] in positions)


def position(service):
    return [row["position"] for row in service.rows(audit_pruned)]


@pytest.mark.slow
def test_what_was_exported_and_is_older_is_pruned_and_everything_is_explained(
    filled, service, audit, prune, folder, secretsvc
):
    service.user("eve@example.com").get("/projects/shop", 404)
    unknown = filled.client.get(UNKNOWN).json
    assert "300 records are pruned" in prune()
    found = left(service)
    assert found[0] == 300
    assert position(service) == [300]
    [row] = service.audit("audit.prune")
    detail = json.loads(row["detail"])
    assert (detail["count"], detail["size"], row["actor_subject"]) == (300, 300, "system")
    assert detail["before"] == 1577836800000
    assert len(bytes.fromhex(detail["digest"])) == 32
    key = (folder / "key").read_text().strip()
    old = folder.parent / "old"
    old.write_text((folder / "checkpoint").read_text())
    assert audit("verify", "--ini", INI, "--key", key, "--checkpoint", old, folder) == WELL
    done = secretsvc("audit", "verify", "--ini", INI, "--key", key)
    assert (done.stdout, auditing.NOT_REPLAYED in done.stderr) == (WELL, False)
    assert filled.client.get(UNKNOWN).json == unknown
    log(service, 3)
    assert "3 entries are in" not in audit("export", INI, folder)
    assert audit("verify", "--ini", INI, "--key", key, "--checkpoint", old, folder) == WELL
    assert "Nothing is left to prune" in prune()


@pytest.mark.slow
def test_nothing_is_pruned_that_is_newer_or_rests_on_a_damaged_export(filled, service, audit, prune, folder):
    assert "still to come" in prune("2999-01-01", status=2)
    assert "Nothing is left to prune" in prune("1960-01-01")
    assert service.audit("audit.prune") == []
    entries = folder / "tile" / "entries" / "000"
    content = bytearray(entries.read_bytes())
    content[100] ^= 1
    entries.write_bytes(content)
    assert "the export is damaged: index 0" in prune(status=1)
    assert position(service) == []
    assert "300 records are pruned" in audit(
        "prune", INI, "--before", "2020-01-01", "--export", folder.with_name("another")
    )


@pytest.mark.slow
def test_an_export_that_lacks_what_is_pruned_is_none_and_a_tail_does_not_skip_it(
    filled, service, audit, prune, folder
):
    file = folder.parent / "audit.jsonl"
    prune()
    assert "index 0 to 299 are pruned" in audit("export", INI, folder.with_name("another"), status=1)
    assert "index 0 to 299 are pruned" in audit("tail", INI, "--from", "0", status=1)
    audit("tail", INI, "--to", file)
    assert json.loads(file.read_bytes().splitlines()[0])["index"] == 300


class Crash(Exception):
    """Stands for the end of a process."""


@pytest.fixture
def exported(filled, service, folder):
    """A service whose log was exported, its pruning, and the key, without a process for it."""
    registry, files = service.app.registry, Files(folder)
    size = audit_prune._export_whole(registry, files)
    found = audit_prune._record(registry, files, 1_000_000, size)
    audit_prune._await_seal(registry, files, found)
    return found


def prune_some(engine, found, most):
    """One batch; where it ended."""
    with write_transaction(engine) as connection:
        return pruning_rules.prune_some(connection, found, most)


def problems(service, folder):
    """What a verification of the database finds, and of the export if there is one."""
    with snapshot(service.engine) as connection:
        verifier = auditing.own_key(connection, service.app.registry)
        files = None if folder is None else Files(folder)
        ring = service.app.registry.load_ring()
        found = verify_database(connection, verifier, [], files, ring)
        return [*found, *([] if files is None else verify_files(files, verifier, []))]


@pytest.mark.slow
def test_a_crash_at_any_batch_leaves_a_log_that_verifies_and_the_next_run_goes_on(exported, service, folder):
    assert problems(service, folder) == []
    assert prune_some(service.engine, exported, 100) == 100
    assert problems(service, folder) == []
    seen = []

    def crash():
        with write_transaction(service.engine) as connection:
            seen.append(pruning_rules.prune_some(connection, exported, 100))
            raise Crash

    with pytest.raises(Crash):
        crash()
    assert (seen, left(service)[0]) == ([200], 100)
    assert problems(service, folder) == []
    registry, files = service.app.registry, Files(folder)
    assert audit_prune._unfinished(registry) == exported
    audit_prune._export_whole(registry, files)
    audit_prune._remove(service.engine, exported)
    assert (left(service)[0], audit_prune._unfinished(registry)) == (300, None)
    assert audit_prune._record(registry, files, 1_000_000, exported.size) is None
    assert problems(service, folder) == []


@pytest.mark.slow
def test_a_replay_goes_on_from_the_state_that_a_pruning_has_kept(exported, filled, service, folder):
    prune_more(service, folder, exported)
    adopted = [path.name for path in sorted((folder / "state").iterdir())]
    assert len(adopted) == 2
    assert problems(service, folder) == problems(service, None) == []
    filled.set(C="z")
    ada = filled.client.post("/identities", {"kind": "user", "subject": "ada@example.com"}, 201).json["id"]
    size = prune_more(service, folder)
    assert left(service) == [size]
    filled.set(D="z")
    assert {*adopted, f"{size}.json", f"{size}.note"} == {one.name for one in (folder / "state").iterdir()}
    assert problems(service, folder) == problems(service, None) == []
    service.execute("UPDATE identity SET subject = 'eve@example.com' WHERE subject = 'ada@example.com'")
    assert problems(service, None) == []
    [found] = problems(service, folder)
    assert ada in found
    (folder / "state" / f"{size}.json").write_text("{}")
    assert "is not signed by this key" in problems(service, folder)[0]


@pytest.mark.slow
def test_an_older_state_does_not_pass_for_the_one_that_a_pruning_kept(exported, filled, service, folder):
    prune_more(service, folder, exported)
    filled.set(C="z")
    size = prune_more(service, folder)
    state = folder / "state"
    older = min(int(one.stem) for one in state.glob("*.json"))
    for kind in ("json", "note"):
        (state / f"{size}.{kind}").write_bytes((state / f"{older}.{kind}").read_bytes())
    assert "is of another time" in problems(service, folder)[0]


@pytest.mark.slow
def test_after_a_pruning_what_was_adopted_is_not_adopted_again(exported, filled, service, folder):
    prune_more(service, folder, exported)
    prune_more(service, folder)
    assert service.audit("audit.adopt") == []
    off = {
        "sqlite": "DROP TRIGGER audit_snapshot_no_delete",
        "postgresql": "ALTER TABLE audit_snapshot DISABLE TRIGGER USER",
    }[service.engine.name]
    for statement in (off, "DELETE FROM audit_snapshot", "UPDATE identity SET disabled = true"):
        service.execute(statement)
    audit_prune._export_whole(service.app.registry, Files(folder))
    assert service.rows(audit_snapshot) == []
    [found] = problems(service, folder)
    assert str(service.identity_id("root@example.com")) in found


@pytest.mark.slow
def test_a_replay_holds_while_the_record_of_what_was_adopted_is_about_to_go(
    exported, filled, service, folder, monkeypatch
):
    prune_more(service, folder, exported)
    monkeypatch.setattr(audit_prune, "_remove", lambda engine, found: prune_some(engine, found, 1))
    prune_more(service, folder)
    assert len(service.audit("audit.adopt")) == 1
    assert problems(service, folder) == []


def prune_more(service, folder, begun=None):
    """Finishes a pruning, or prunes all that is there; how many records are gone then."""
    registry, files = service.app.registry, Files(folder)
    if begun is None:
        size = audit_prune._export_whole(registry, files)
        begun = audit_prune._record(registry, files, now_ms() + 1000, size)
        audit_prune._await_seal(registry, files, begun)
    audit_prune._finish(registry, files, begun)
    return begun.size


@pytest.mark.slow
def test_records_that_are_missing_without_a_pruning_are_named(exported, service, folder):
    prune_some(service.engine, exported, 1000)
    off = {
        "sqlite": "DROP TRIGGER audit_record_no_delete",
        "postgresql": "ALTER TABLE audit_record DISABLE TRIGGER USER",
    }[service.engine.name]
    with write_transaction(service.engine) as connection:
        connection.execute(text(off))
        named = select(audit_seal.c.record_id).where(audit_seal.c.position == 300)
        connection.execute(audit_record.delete().where(audit_record.c.id.in_(named)))
    assert problems(service, folder) == ["index 300: the record is missing"]


@pytest.mark.slow
def test_hashes_that_are_not_those_that_the_pruning_rests_on_are_named(exported, service, folder):
    prune_some(service.engine, exported, 1000)
    off = {
        "sqlite": "DROP TRIGGER audit_seal_no_update",
        "postgresql": "ALTER TABLE audit_seal DISABLE TRIGGER USER",
    }[service.engine.name]
    with write_transaction(service.engine) as connection:
        connection.execute(text(off))
        forged = audit_seal.update().where(audit_seal.c.position == 7)
        connection.execute(forged.values(leaf_hash=bytes(32)))
    found = problems(service, folder)
    assert found[0] == "index 7: the hash is not the one that was exported"
    assert found[1].startswith("index 0 to 299: what is pruned is not what")


@pytest.mark.slow
def test_a_batch_counts_what_its_records_say_of_keys_and_takes_that_along(vault, service, folder):
    vault.set(A="x", B="x")
    vault.set(A="y", B="y")
    source = {"project": "shop", "environment": "prod"}
    for _ in range(3):
        vault.post("copy", {"from": source, "from_rev": 1, "keys": ["A", "B"], "existing": "overwrite"})
        vault.set(A="z", B="z")
    assert len(service.rows(audit_key)) == 6
    files = Files(folder)
    size = audit_prune._export_whole(service.app.registry, files)
    later = now_ms() + 1000
    everything = Pruning(later, size, size, "")
    ends, sizes = [], []
    while not ends or ends[-1] < size:
        before = len(service.audit()) + len(service.rows(audit_key))
        ends.append(prune_some(service.engine, everything, 3))
        sizes.append(before - len(service.audit()) - len(service.rows(audit_key)))
    assert max(sizes) == 3
    assert service.rows(audit_key) == []
    assert len(ends) > size / 3


REFUSED = [
    "DELETE FROM audit_record",
    "UPDATE audit_pruned SET position = 1",
    "UPDATE audit_pruned SET complete_since = 1",
    "DELETE FROM audit_pruned",
    "UPDATE audit_export SET size = size + 1",
    "UPDATE audit_export SET size = 1",
    "DELETE FROM audit_export",
]


@pytest.mark.slow
def test_the_database_refuses_to_prune_what_is_not_exported_or_not_older(exported, service):
    size = service.rows(audit_export)[0]["size"]
    log(service, 2)
    for beyond in (replace(exported, size=size + 1), replace(exported, before=1)):
        with pytest.raises(DBAPIError):
            prune_some(service.engine, beyond, 1000)
    assert len(left(service)) == size
    prune_some(service.engine, exported, 100)
    before = [service.audit(), service.rows(audit_pruned), service.rows(audit_export)]
    # Whoever writes to an SQLite file is the operator.
    by_hand = ["UPDATE audit_pruned SET position = 301"] if service.engine.name == "postgresql" else []
    for statement in REFUSED + by_hand:
        with pytest.raises(DBAPIError):
            service.execute(statement)
        assert [service.audit(), service.rows(audit_pruned), service.rows(audit_export)] == before, statement


@pytest.mark.slow
@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_who_serves_may_not_prune_and_who_migrates_may_by_the_function_alone(two_roles, issuer, folder):
    owner_url, service_url = two_roles
    service, owner = Service(service_url, issuer), make_engine(owner_url)
    Vault(arrange(service, "shop", "prod")).set(A="x")
    size = audit_prune._export_whole(service.app.registry, Files(folder))
    everything = Pruning(now_ms() + 1000, size, size, "")
    with pytest.raises(DBAPIError, match="permission denied for function audit_prune"):
        prune_some(service.engine, everything, 1000)
    for setting in ("off", "on"):
        for statement in ("DELETE FROM audit_record", "INSERT INTO audit_pruned VALUES (1, 1, 1)"):
            refused = pytest.raises(DBAPIError, match="permission denied for table")
            with refused, write_transaction(service.engine) as connection:
                connection.execute(text(f"SET LOCAL secretsvc.pruning = '{setting}'"))
                connection.execute(text(statement))
    with pytest.raises(DBAPIError, match="append-only"), write_transaction(owner) as connection:
        connection.execute(text("DELETE FROM audit_record"))
    assert len(left(service)) == size
    assert prune_some(owner, everything, 1000) == size
    assert left(service) == []
    owner.dispose()
    service.close()


@pytest.mark.slow
def test_pages_and_answers_after_a_pruning_are_those_of_what_is_left(exported, filled, service, folder):
    root = filled.client
    cursor = root.get(f"{OLDEST}&limit=2").json["next_cursor"]
    before = root.get("/audit?limit=500").json["items"]
    exposure = f"/identities/{service.identity_id('root@example.com')}/exposure"
    assert root.get(exposure).json["complete_since"] is None
    prune_some(service.engine, exported, 1000)
    answer = root.get("/audit?limit=500").json
    assert answer == {"items": [one for one in before if one["index"] >= 300], "next_cursor": None}
    refused = root.get(f"{OLDEST}&cursor={cursor}", 422).json
    assert refused["issues"][0]["path"] == "cursor"
    assert "operator's export" in refused["hint"]
    assert root.get(f"{OLDEST}&limit=1").json["items"][0]["index"] == 300
    assert root.get(exposure).json["complete_since"] == 1_000_000
    assert root.get("/audit?project=shop&environment=prod&key=A").json["next_cursor"] is None
    page = Browser(service).open("/audit")
    assert page.status_int == 200
