"""What SQL can leave in the tables of the log: it is named, never a traceback, and the sealing goes on."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from doc_blocks import blocks
from processes import ROOT
from resource_fields import log
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from secretsvc.audit.models import audit_key, audit_record
from secretsvc.db.engine import read_once, snapshot, write_transaction
from secretsvc.deployment import audit
from secretsvc.kernel.ids import earliest_id, new_id
from secretsvc.kernel.log_throttle import LogThrottle
from secretsvc.sealedlog.models import audit_seal, audit_unsealed
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.retention.tail_file import tail_file
from secretsvc.sealedlog.rules import sealing, unsealed
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.leaves import leaf_of
from secretsvc.sealedlog.rules.sealing import Bound, seal_some
from secretsvc.sealedlog.rules.state import log_state
from secretsvc.sealedlog.verification.verify import verify_database, verify_files
from secretsvc.sealedlog.worker import Sealer
from secretsvc.transparency.canonical_json import canonical
from secretsvc.transparency.merkle import leaf_hash

pytestmark = pytest.mark.both_engines

DIGEST = {"sha256": "0" * 64}


@pytest.fixture
def sealed(vault, service, monkeypatch):
    """A service whose records are sealed, and that has not complained of anything."""
    monkeypatch.setattr(unsealed, "_complaints", LogThrottle())
    vault.set(A="x")
    seal(service)
    return service


def step(service, records=1000):
    """Seals some records, and says how many."""
    ring = service.app.registry.load_ring()
    return seal_some(service.engine, Sealing(ring, "secretsvc"), Bound(records, 60))


def seal(service):
    while step(service):
        pass


def listed_ids(service):
    """The ids of what waits to be sealed, in the order of these."""
    return sorted(row["record_id"] for row in service.rows(audit_unsealed))


def problems(service, files=None):
    """What a verification of the database finds."""
    with snapshot(service.engine) as connection:
        signers = audit.own_key(connection, service.app.registry)
        ring = service.app.registry.load_ring()
        found = [*verify_database(connection, signers, [], files, ring)]
        return [*found, *([] if files is None else verify_files(files, signers, []))]


def let(service, table):
    """No trigger of a table stands in the way."""
    with write_transaction(service.engine) as connection:
        if service.engine.name == "postgresql":
            connection.execute(text(f"ALTER TABLE {table} DISABLE TRIGGER USER"))
            return
        named = text("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = :table")
        for name in connection.execute(named, {"table": table}).scalars().all():
            connection.execute(text(f"DROP TRIGGER {name}"))


def test_a_place_below_zero_is_refused_and_named_where_it_was_made(sealed):
    [hidden] = log(sealed)
    entry = {"position": -1, "record_id": hidden, "leaf_hash": bytes(32)}
    with pytest.raises(DBAPIError):
        sealed.execute(audit_seal.insert(), [entry])
    let(sealed, "audit_seal")
    sealed.execute(audit_seal.insert(), [entry])
    sealed.execute("DELETE FROM audit_unsealed")
    size = len(sealed.rows(audit_seal)) - 1
    assert problems(sealed) == [f"index {size}: 1 records are sealed that the checkpoint does not have"]


def test_what_waits_may_not_be_exchanged(sealed):
    [waiting] = log(sealed)
    with pytest.raises(DBAPIError, match="the sealed log only grows"):
        sealed.execute(audit_unsealed.update().values(record_id=new_id()))
    assert listed_ids(sealed) == [waiting]


def test_a_record_that_is_listed_though_it_is_sealed_is_named_not_replayed_and_comes_off_the_list(
    sealed, vault
):
    vault.set(A="y")
    seal(sealed)
    [*_, newest] = sealed.audit("secret.batch")
    listed = {"record_id": newest["id"]}
    for count in (0, 2):
        sealed.execute(audit_unsealed.insert(), [listed])
        assert problems(sealed) == [f"record {newest['id']} is sealed, and is listed to be sealed again"]
        if count:
            log(sealed, count)
        before = len(sealed.rows(audit_seal))
        assert (step(sealed), len(sealed.rows(audit_seal))) == (count, before + count)
        assert sealed.rows(audit_unsealed) == []
    assert problems(sealed) == []


def test_what_is_listed_and_missing_is_named_told_once_and_keeps_nothing_from_being_sealed(sealed, caplog):
    lost = sorted(earliest_id(number) for number in range(20))
    sealed.execute(audit_unsealed.insert(), [{"record_id": one} for one in lost])
    log(sealed, 3, created_at=7)
    with read_once(sealed.engine) as connection:
        assert log_state(connection).waiting_since == 7
    assert [step(sealed, 8) for _ in range(3)] == [3, 0, 0]
    assert caplog.text.count("records that are listed to be sealed are missing (20): verify the log") == 1
    assert problems(sealed) == [f"record {one} is listed to be sealed, and is missing" for one in lost]
    assert listed_ids(sealed) == lost


def test_what_is_listed_and_missing_is_no_part_of_a_state_that_is_adopted(sealed, tmp_path):
    again = sealed.audit()[0]["id"]
    missing = new_id()
    sealed.execute(audit_unsealed.insert(), [{"record_id": one} for one in (again, missing)])
    audit.export_to(sealed.app.registry, Files(Path(tmp_path / "export")))
    assert len(sealed.audit("audit.adopt")) == 1
    assert problems(sealed) == [f"record {missing} is listed to be sealed, and is missing"]


def test_rows_that_the_service_never_writes_are_sealed_exported_verified_and_told(sealed, tmp_path):
    odd = [
        {"created_at": 2**60},
        {"created_at": -(2**62), "detail": "{"},
        {"reason": "x" * 70_000},
        {"actor_subject": "x" * 70_000, "detail": json.dumps("y" * 70_000)},
        {"detail": "[" * 600 + "]" * 600},
        {"detail": json.dumps(DIGEST)},
        {"detail": None, "action": "secret.batch"},
    ]
    for columns in odd:
        log(sealed, **columns)
    files = Files(Path(tmp_path / "export"))
    audit.export_to(sealed.app.registry, files)
    assert sealed.rows(audit_unsealed) == []
    assert problems(sealed, files) == []
    out = tmp_path / "lines"
    with out.open("wb") as lines:
        size = audit.write_lines(sealed.engine, lines, None)
    told = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert [one["index"] for one in told] == [*range(size)]
    assert {json.dumps(one["detail"]) for one in told} > {
        json.dumps("[" * 600 + "]" * 600),
        json.dumps(DIGEST),
    }


def test_a_long_detail_is_not_exchanged_for_its_digest_unseen(sealed):
    long = json.dumps({"keys": ["K" * 70] * 1000})
    [exchanged] = log(sealed, detail=long)
    seal(sealed)
    assert problems(sealed) == []
    let(sealed, "audit_record")
    digest = json.loads(leaf_of(one_of(sealed, exchanged)).data)["detail"]
    where = audit_record.c.id == exchanged
    sealed.execute(audit_record.update().where(where).values(detail=json.dumps(digest)))
    index = len(sealed.rows(audit_seal)) - 1
    assert problems(sealed) == [f"index {index}: its detail is a digest, and of what cannot be told"]


@pytest.mark.slow
def test_of_two_tails_to_one_file_the_second_is_refused(sealed, secretsvc, tmp_path):
    path = tmp_path / "lines"
    with tail_file(path, None):
        done = secretsvc("audit", "tail", "production.ini", "--to", str(path))
        told = "Error: another tail writes to this file"
        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, told)
    assert secretsvc("audit", "tail", "production.ini", "--to", str(path)).returncode == 0
    assert len(path.read_bytes().splitlines()) == len(sealed.audit())


def one_of(service, record_id):
    with read_once(service.engine) as connection:
        return connection.execute(audit_record.select().where(audit_record.c.id == record_id)).one()


def test_a_digest_that_was_sealed_as_it_was_is_exported_as_it_was_sealed(sealed, tmp_path, monkeypatch):
    [older] = log(sealed, detail=json.dumps(DIGEST))
    row = one_of(sealed, older)
    data = canonical(json.loads(leaf_of(row).data) | {"detail": DIGEST})
    monkeypatch.setattr(sealing, "leaf_of", lambda _: leaf_of(row)._replace(data=data))
    assert step(sealed) == 1
    monkeypatch.undo()
    assert sorted(sealed.rows(audit_seal), key=lambda one: one["position"])[-1]["leaf_hash"] == leaf_hash(
        data
    )
    files = Files(Path(tmp_path / "export"))
    audit.export_to(sealed.app.registry, files)
    [found] = problems(sealed)
    assert "its detail is a digest" in found


ODD = "no id at all"
#: What of one row is no id: a statement, and what is said of the row.
NO_IDS = {
    "of a record that waits": (
        "INSERT INTO audit_record SELECT '{odd}', created_at, action, outcome, identity_id, actor_kind,"
        " actor_subject, project_id, environment_id, request_id, reason, detail, client_address, key, given"
        " FROM audit_record WHERE action = 'secret.batch'",
        ["audit_record {odd}: its id is no id", "audit_unsealed {odd}: its record_id is no id"],
    ),
    "of a record that is sealed": (
        "UPDATE audit_record SET id = '{odd}' WHERE action = 'secret.batch'",
        [
            "index {position}: the record is missing",
            "audit_record {odd}: its id is no id",
            "record {odd} is neither sealed nor waits to be",
        ],
    ),
    "of an actor": (
        "UPDATE audit_record SET identity_id = '{odd}' WHERE action = 'secret.batch'",
        ["index {position}: the record is not the one that was sealed", "its identity_id is no id"],
    ),
    "of an identity": ("UPDATE identity SET id = '{odd}'", ["identity {odd}: its id is no id"]),
    "of an environment": (
        "UPDATE secret SET environment_id = '{odd}'",
        ["its environment_id is no id", "key A of environment {odd}: the log does not tell of it"],
    ),
    "of a member": (
        "INSERT INTO group_member (group_id, identity_id, created_at) VALUES ('{odd}', '{odd}', 1)",
        ["group_member {odd}: its group_id, identity_id is no id"],
    ),
}


@pytest.mark.parametrize("whose", NO_IDS)
def test_what_is_no_id_is_named_with_its_row_and_keeps_nothing_from_being_sealed(sealed, whose):
    if sealed.engine.name == "postgresql":
        pytest.skip("it has a type for ids")
    statement, told = NO_IDS[whose]
    [written] = sealed.audit("secret.batch")
    [position] = [row["position"] for row in sealed.rows(audit_seal) if row["record_id"] == written["id"]]
    let(sealed, "audit_record")
    waits = "INSERT INTO audit_unsealed (record_id) VALUES (NEW.id)"
    with closing(sqlite3.connect(sealed.url.removeprefix("sqlite:///"))) as connection:
        connection.execute(f"CREATE TRIGGER waits AFTER INSERT ON audit_record BEGIN {waits}; END")
        connection.execute(statement.format(odd=ODD))
        connection.commit()
    log(sealed)
    assert (step(sealed), step(sealed)) == (1, 0)
    found = "\n".join(problems(sealed))
    for one in told:
        assert one.format(odd=ODD, position=position) in found


def test_a_flag_that_is_neither_true_nor_false_is_named(sealed, admin):
    if sealed.engine.name == "postgresql":
        pytest.skip("it has a type for flags")
    bob = admin.post("/identities", {"kind": "user", "subject": "bob@example.com"}, 201).json["id"]
    admin.patch(f"/identities/{bob}", {"disabled": True})
    seal(sealed)
    assert problems(sealed) == []
    # In SQL a text is not true, so that he would count as enabled there.
    for odd in ("x", 2, 0.5):
        sealed.execute("UPDATE identity SET disabled = :odd WHERE subject = 'bob@example.com'", {"odd": odd})
        assert problems(sealed) == [f"identity {bob}: the log has another disabled"]


def test_each_of_several_records_that_are_not_listed_is_named(sealed):
    unlisted = sorted(log(sealed, 3))
    let(sealed, "audit_unsealed")
    sealed.execute(audit_unsealed.delete())
    strays = sorted(new_id() for _ in range(2))
    [environment] = {row["environment_id"] for row in sealed.audit("secret.batch")}
    rows = [{"record_id": one, "key": "B", "environment_id": environment, "created_at": 1} for one in strays]
    sealed.execute(audit_key.insert(), rows)
    assert problems(sealed) == [
        *(f"record {one} is not there, and audit_key has rows of it" for one in strays),
        *(f"record {one} is neither sealed nor waits to be" for one in unlisted),
    ]


BEYOND = "audit_seal holds positions that no head speaks of (below 0, or from {} on)"


def remove_beyond(service):
    """What the page says of both databases, as who owns the tables."""
    [script] = blocks((ROOT / "docs" / "audit.md").read_text("utf-8"), "Positions beyond the head", "sql")
    if service.engine.name == "postgresql":
        with psycopg.connect(service.url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute(script)
        return
    with closing(sqlite3.connect(service.url.removeprefix("sqlite:///"))) as connection:
        shown = "SELECT sql FROM sqlite_master WHERE name = 'audit_seal_no_delete'"
        [trigger] = connection.execute(shown).fetchone()
        off, on = re.findall(r"(?m)^ALTER TABLE .*$", script)
        script = script.replace(off, "DROP TRIGGER audit_seal_no_delete;").replace(on, f"{trigger};")
        connection.executescript(script)


@pytest.mark.parametrize("far", [0, 10**6])
def test_a_position_beyond_the_head_stops_the_sealing_until_it_is_gone_and_is_told(sealed, caplog, far):
    [waiting] = log(sealed)
    registry, size = sealed.app.registry, len(sealed.rows(audit_seal))
    sealer = Sealer(registry.database, registry.service_settings, registry.load_ring)
    seal = {"position": size + far, "record_id": waiting if far else new_id(), "leaf_hash": bytes(32)}
    sealed.execute(audit_seal.insert(), [seal])
    assert [(sealer.step(), sealer.failures) for _ in range(2)] == [(0, 1), (0, 2)]
    assert caplog.text.count(BEYOND.format(size)) == 1
    assert f"index {size}: 1 records are sealed that the checkpoint does not have" in problems(sealed)
    remove_beyond(sealed)
    assert len(sealed.rows(audit_seal)) == size
    assert sealer.step() == 1
    with pytest.raises(DBAPIError, match="the sealed log only grows"):
        sealed.execute(audit_seal.delete())
    assert problems(sealed) == []
