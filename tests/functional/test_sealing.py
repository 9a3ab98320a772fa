"""Sealing: every record gets one position in an order that stays, under a head that is signed."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from pages import Browser, words
from resource_fields import log
from rotation import NEW_KEY, adopt, rotated
from sqlalchemy import event, insert, select, update
from sqlalchemy.exc import DBAPIError
from statements import recorded
from tampering import tampered

from secretsvc.audit.models import audit_record
from secretsvc.commands import system_call
from secretsvc.db.engine import set_mode, write_transaction
from secretsvc.deployment import audit
from secretsvc.kernel.ids import earliest_id
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.keyring import domain
from secretsvc.sealedlog import worker
from secretsvc.sealedlog.models import audit_head, audit_seal, audit_signer, audit_unsealed
from secretsvc.sealedlog.rules import heads, sealing
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.leaves import leaf_of
from secretsvc.sealedlog.rules.sealing import Bound, seal_some
from secretsvc.sealedlog.rules.signer import private_key
from secretsvc.sealedlog.worker import Sealer
from secretsvc.secrets.models import master_key
from secretsvc.transparency.merkle import leaf_hash, root_of
from secretsvc.transparency.signed_note import Verifier, read_checkpoint

pytestmark = pytest.mark.both_engines

PLENTY = Bound(1000, 60)


def with_ring(service) -> Sealing:
    return Sealing(service.app.registry.load_ring(), "secretsvc")


def seal(service, bound=PLENTY) -> int:
    """Seals by one step."""
    return seal_some(service.engine, with_ring(service), bound)


def new_sealer(service) -> Sealer:
    """As in a process that has just begun."""
    registry = service.app.registry
    return Sealer(registry.database, registry.service_settings, registry.load_ring)


@contextmanager
def running_for(spent: float) -> Iterator[None]:
    """The thread's clock shows so many seconds more each time that the worker looks at it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "time", SimpleNamespace(thread_time=count(0, spent).__next__))
        yield


def order(service) -> list[Any]:
    """The ids of the sealed records by their positions, which have no gaps."""
    rows = sorted(service.rows(audit_seal), key=lambda row: row["position"])
    assert [row["position"] for row in rows] == [*range(len(rows))]
    return [row["record_id"] for row in rows]


def is_whole(service) -> bool:
    """Whether every record is sealed once, by the bytes that it has, and the head is that of all."""
    records = {row["id"]: row for row in rows_of(service)}
    rows = sorted(service.rows(audit_seal), key=lambda row: row["position"])
    hashes = [row["leaf_hash"] for row in rows]
    [head], [signer] = service.rows(audit_head), service.rows(audit_signer)
    checkpoint = read_checkpoint(head["checkpoint"], Verifier("secretsvc", signer["public_key"]))
    return (
        {row["record_id"] for row in rows} == set(records)
        and len(rows) == len(records) == checkpoint.size == head["size"]
        and [leaf_hash(leaf_of(records[row["record_id"]]).data) for row in rows] == hashes
        and root_of(hashes) == checkpoint.root
        and service.rows(audit_unsealed) == []
    )


class Row(dict[str, Any]):
    """A row whose columns are attributes, too."""

    __getattr__ = dict.__getitem__


def rows_of(service) -> list[Row]:
    return [Row(row) for row in service.rows(audit_record)]


@pytest.fixture
def sealed(vault, service):
    """A service whose master key is adopted, and whose records are sealed."""
    vault.set(A="x")
    assert seal(service) == len(service.audit())
    return service


def test_every_record_is_sealed_in_the_order_in_which_it_was_made(vault, service):
    vault.set(A="x")
    vault.client.get("/projects/shop/environments/prod/secrets/A")
    service.user("eve@example.com").get("/projects/shop", 404)
    assert seal(service) == len(service.audit())
    assert order(service) == [row["id"] for row in service.audit()]
    assert is_whole(service)
    vault.set(B="y")
    before = order(service)
    assert seal(service) == 1
    assert order(service)[:-1] == before
    assert is_whole(service)


def test_what_commits_late_is_sealed_behind_what_was_sealed_before_it(sealed):
    before = order(sealed)
    [row] = [row for row in sealed.audit() if row["action"] == "secret.batch"]
    late = earliest_id(1)
    sealed.execute(insert(audit_record), {**row, "id": late})
    assert seal(sealed) == 1
    assert order(sealed) == [*before, late]
    assert is_whole(sealed)


def test_a_record_that_was_not_committed_when_younger_ones_were_sealed_is_not_skipped(sealed):
    if sealed.engine.name == "sqlite":
        pytest.skip("one writer at a time")
    [row] = [row for row in sealed.audit() if row["action"] == "secret.batch"]
    with sealed.engine.connect() as slow:
        writer = set_mode(slow, Mode.WRITE)
        older = earliest_id(2)
        writer.execute(insert(audit_record), {**row, "id": older})
        [younger] = log(sealed)
        assert seal(sealed) == 1
        writer.commit()
    assert seal(sealed) == 1
    assert order(sealed)[-2:] == [younger, older]
    assert is_whole(sealed)


def test_where_nothing_waits_one_statement_asks_and_nothing_is_written(sealed):
    before = sealed.rows(audit_head)
    with recorded(sealed.engine) as statements:
        assert sealed.app.registry.audit_sealer.step() == 0
    assert len(statements) == 1
    assert "audit_unsealed" in statements[0]
    assert sealed.rows(audit_head) == before


def test_a_step_is_bounded_by_records_and_by_time(sealed):
    log(sealed, 10)
    assert seal(sealed, Bound(4, 60)) == 4
    assert seal(sealed, Bound(4, -1)) == 1
    assert seal(sealed) == 5
    assert is_whole(sealed)


def test_the_worker_seals_in_steps_until_nothing_is_left_and_then_waits(vault, service):
    vault.set(A="x")
    log(service, 300)
    sealer = service.app.registry.audit_sealer
    steps = [sealer.step()]
    while sum(steps) < len(service.audit()):
        assert sealer.pause_after(steps[-1]) == pytest.approx(0.2)
        steps.append(sealer.step())
    assert sealer.step() == 0
    assert sealer.pause_after(0) == 5
    assert is_whole(service)


def test_where_little_waits_a_step_takes_all_of_it_and_more_is_left_to_gather(sealed):
    log(sealed, 3)
    sealer = new_sealer(sealed)
    with running_for(0.002):
        assert (sealer.step(), sealer.pause_after(3)) == (3, 5)


def test_a_step_that_took_little_time_is_followed_by_one_of_more_records_and_else_of_fewer(sealed):
    log(sealed, 400)
    sealer, steps = new_sealer(sealed), []
    for spent in (0.002, 0.002, 0.1, 0.002):
        with running_for(spent):
            steps.append(sealer.step())
    assert steps == [32, 48, 72, 8]


def test_the_head_of_this_process_is_held_against_its_signature_once(sealed, monkeypatch):
    verified, looked_at = heads.read_checkpoint, []
    monkeypatch.setattr(heads, "read_checkpoint", lambda *args: looked_at.append(1) or verified(*args))
    sealing_here = with_ring(sealed)
    for _ in range(3):
        log(sealed)
        assert seal_some(sealed.engine, sealing_here, PLENTY) == 1
    assert len(looked_at) == 1
    log(sealed, 2)
    assert [seal(sealed, Bound(1, 60)), seal_some(sealed.engine, sealing_here, PLENTY)] == [1, 1]
    assert len(looked_at) == 3
    assert is_whole(sealed)


def test_a_malformed_setting_stops_the_sealing_and_is_told(make_service, caplog):
    service = make_service(AUDIT_SEAL_SECONDS="soon")
    sealer = service.app.registry.audit_sealer
    assert (sealer.step(), sealer.pause_after(0)) == (0, 60)
    assert "the audit log is not being sealed: SERVER_MISCONFIGURED" in caplog.text


def test_before_a_master_key_is_adopted_nothing_is_sealed_and_none_is_adopted(admin, service):
    assert seal(service) == 0
    assert service.rows(audit_signer) == service.rows(audit_seal) == service.rows(master_key) == []


def test_a_process_without_an_adopted_key_seals_nothing(sealed):
    log(sealed)
    before = sealed.rows(master_key)
    other = sealed.restarted(MASTER_KEY=NEW_KEY)
    assert seal(other) == 0
    assert sealed.rows(master_key) == before
    assert seal(sealed) == 1


def test_who_comes_second_leaves_the_step_to_the_first(sealed, monkeypatch):
    log(sealed)
    if sealed.engine.name == "postgresql":
        with write_transaction(sealed.engine) as connection:
            assert connection.execute(sealing._TRY).scalar_one()
            assert seal(sealed) == 0
    else:
        put = sealing._put

        def late(connection, batch):
            monkeypatch.setattr(sealing, "_put", put)
            assert put(connection, batch) == 1
            return put(connection, batch)

        monkeypatch.setattr(sealing, "_put", late)
    assert seal(sealed) == (sealed.engine.name == "postgresql")
    assert is_whole(sealed)


class Crash(Exception):
    """Stands for the end of a process."""


def crash_at(engine, number: int) -> Any:
    """Has the statement of that number fail before it is executed, or the end of a transaction after all."""
    seen = iter(range(1000))

    def fail(*_: object) -> None:
        if next(seen) == number:
            raise Crash

    names = ("before_cursor_execute", "commit")
    for name in names:
        event.listen(engine, name, fail)
    return lambda: [event.remove(engine, name, fail) for name in names]


@pytest.mark.slow
def test_a_crash_at_any_statement_leaves_a_log_that_goes_on(vault, service):
    vault.set(A="x")
    crashes = 0
    for number in range(40):
        log(service, 3)
        stop = crash_at(service.engine, number)
        try:
            seal(service, Bound(2, 60))
        except Crash:
            crashes += 1
        finally:
            stop()
        sealed = order(service)
        assert len(set(sealed)) == len(sealed)
    assert crashes > 8
    while seal(service):
        pass
    assert is_whole(service)


def test_the_leaf_of_a_record_is_its_canonical_json(sealed):
    [row] = [row for row in rows_of(sealed) if row["action"] == "secret.batch"]
    found = json.loads(leaf_of(row).data)
    shown = next(one for one in sealed.user().get("/audit").json["items"] if one["id"] == str(row["id"]))
    shown.pop("index", None)
    assert found == {**shown, "v": 1}


def test_a_detail_that_is_too_long_or_that_has_no_canonical_json_is_there_by_its_digest(sealed):
    long = json.dumps({"keys": ["K" * 70] * 1000})
    texts = {"long": long, "float": '{"a": 1.5}', "no json": "{"}
    for action, text in texts.items():
        log(sealed, action=f"test.{action.replace(' ', '_')}", detail=text)
    assert seal(sealed) == 3
    assert is_whole(sealed)
    found = {row["action"]: leaf_of(row) for row in rows_of(sealed) if row["action"].startswith("test.")}
    for leaf in found.values():
        digest = hashlib.sha256(leaf.beside).hexdigest()
        assert json.loads(leaf.data)["detail"] == {"sha256": digest}
    assert found["test.long"].beside == long.replace(" ", "").encode()
    assert found["test.float"].beside == b'{"a": 1.5}'


REFUSED = {
    "sqlite": [
        "INSERT OR REPLACE INTO audit_seal SELECT position, record_id, x'00' FROM audit_seal",
        "INSERT OR REPLACE INTO audit_head SELECT * FROM audit_head",
    ],
    "postgresql": [f"TRUNCATE {table}" for table in ("audit_seal", "audit_unsealed", "audit_head")],
}
ON_BOTH = [
    "UPDATE audit_seal SET position = position + 100",
    "DELETE FROM audit_seal WHERE position = 0",
    "DELETE FROM audit_unsealed",
    "UPDATE audit_head SET size = 1",
    "DELETE FROM audit_head",
    "UPDATE audit_signer SET public_key = envelope",
    "DELETE FROM audit_signer",
]


def test_the_database_refuses_what_would_undo_a_seal_or_leave_a_record_out(sealed):
    log(sealed)
    tables = (audit_seal, audit_unsealed, audit_head, audit_signer)
    before = [sealed.rows(table) for table in tables]
    for statement in ON_BOTH + REFUSED[sealed.engine.name]:
        with pytest.raises(DBAPIError):
            sealed.execute(statement)
        assert [sealed.rows(table) for table in tables] == before, statement


def test_the_signing_key_cannot_be_had_from_the_database_alone(sealed):
    [row] = sealed.rows(audit_signer)
    key = private_key(sealed.app.registry.load_ring(), Row(row))
    assert all(key not in value for value in row.values() if isinstance(value, bytes))
    assert Row(row).kid == sealed.app.registry.load_ring().active_kid


def test_a_rotation_moves_the_signing_key_with_its_first_page_and_does_not_count_it(sealed, vault):
    vault.set(A="y", B="z")
    now = rotated(sealed)
    user = now.user()
    report = user.get("/admin/keyring").json
    assert [key["rows"] for key in report["keys"]] == [0, 3]
    assert user.post("/admin/rekey", {"limit": 1}).json == {"rekeyed": 1, "remaining": 2}
    assert {row["kid"] for row in sealed.rows(audit_signer)} == {report["active_kid"]}
    assert user.post("/admin/rekey", {"limit": 5}).json == {"rekeyed": 2, "remaining": 0}
    assert user.get("/admin/keyring").json["safeToRemoveOldKey"] is True
    alone = sealed.restarted(MASTER_KEY=NEW_KEY)
    assert seal(alone) > 0
    assert is_whole(alone)


def test_without_a_secret_under_it_the_old_key_is_needed_until_the_signing_key_has_moved(sealed, vault):
    vault.client.delete("/projects/shop")
    now = rotated(sealed)
    user = now.user()
    assert user.get("/admin/keyring").json["safeToRemoveOldKey"] is False
    adopt(now)
    with system_call(now.app.registry, writes=False) as call:
        assert domain.unused_keys(call) == []
    page, safe = Browser(now), "It is safe to remove"
    assert safe not in words(page.open("/admin/keyring"))
    assert user.post("/admin/rekey", {"limit": 5}).json == {"rekeyed": 0, "remaining": 0}
    assert safe in words(page.open("/admin/keyring"))
    assert user.get("/admin/keyring").json["safeToRemoveOldKey"] is True
    assert user.post("/admin/rekey", {"limit": 5}).json == {"rekeyed": 0, "remaining": 0}
    assert len(now.audit("keyring.rekey")) == 1
    assert seal(now) > 0


def exchange_signer(service) -> None:
    """Puts another public key beside the envelope, as the owner of the database can."""
    statement = {
        "sqlite": "DROP TRIGGER audit_signer_no_change",
        "postgresql": "ALTER TABLE audit_signer DISABLE TRIGGER audit_signer_no_change",
    }[service.engine.name]
    with write_transaction(service.engine) as connection:
        connection.exec_driver_sql(statement)
        connection.execute(audit_signer.update().values(public_key=bytes(32)))


def test_a_signing_key_whose_row_was_exchanged_is_not_moved_and_the_old_key_stays_needed(sealed, caplog):
    exchange_signer(sealed)
    user = rotated(sealed).user()
    assert user.post("/admin/rekey", {"limit": 5}).json["remaining"] == 0
    assert "the signing key of the audit log cannot be moved: DECRYPT_FAILED" in caplog.text
    assert user.get("/admin/keyring").json["safeToRemoveOldKey"] is False


def test_a_signing_key_whose_row_was_exchanged_signs_nothing(sealed, caplog):
    log(sealed)
    exchange_signer(sealed)
    assert new_sealer(sealed).step() == 0
    assert "the audit log is not being sealed: DECRYPT_FAILED" in caplog.text
    with sealed.engine.connect() as connection:
        assert connection.execute(select(audit_head.c.size)).scalar_one() == len(order(sealed))


REWRITTEN = {
    "frontier": lambda head: {"frontier": bytes(len(head["frontier"]))},
    "frontier of another size": lambda head: {"frontier": head["frontier"] + bytes(32)},
    "size": lambda head: {"size": head["size"] + 1, "frontier": bytes(32) * (head["size"] + 1).bit_count()},
}


@pytest.mark.parametrize("what", REWRITTEN)
def test_what_the_key_has_not_signed_is_not_sealed_on(sealed, what, caplog):
    sealer = new_sealer(sealed)
    log(sealed)
    assert sealer.step() == 1
    log(sealed)
    [head] = sealed.rows(audit_head)
    tampered(sealed, update(audit_head).values(REWRITTEN[what](head)), "audit_head")
    before = sealed.rows(audit_head)
    assert (sealer.step(), sealer.failures) == (0, 1)
    told = "the audit log is not being sealed: the tree that is stored is not the one that was signed last"
    assert told in caplog.text
    assert sealed.rows(audit_head) == before
    tampered(sealed, update(audit_head).values(**head))
    assert sealer.step() == 1
    assert is_whole(sealed)


@pytest.mark.slow
def test_under_another_name_a_log_that_has_begun_is_not_sealed_on(sealed, caplog):
    log(sealed)
    sealer = sealed.restarted(AUDIT_ORIGIN="log.example.com").app.registry.audit_sealer
    assert (sealer.step(), sealer.failures) == (0, 1)
    assert "it is of the log secretsvc, and the key of log.example.com (AUDIT_ORIGIN" in caplog.text
    assert seal(sealed) == 1
    assert is_whole(sealed)


def test_a_checkpoint_has_the_form_of_the_specification(sealed):
    [head] = sealed.rows(audit_head)
    origin, size, root, empty, signature, end = head["checkpoint"].split("\n")
    assert (origin, size, empty, end) == ("secretsvc", str(head["size"]), "", "")
    assert len(base64.b64decode(root)) == 32
    assert signature.startswith("\N{EM DASH} secretsvc ")


def test_a_backlog_is_sealed_to_what_waited_then_though_others_go_on_writing(service, vault, monkeypatch):
    vault.set(A="x")
    log(service, 5)
    waited = [row["record_id"] for row in service.rows(audit_unsealed)]

    def beside(engine, sealing, bound):
        log(service, 1)
        return seal_some(engine, sealing, bound._replace(records=2))

    monkeypatch.setattr(audit, "seal_some", beside)
    audit.seal_all(service.engine, with_ring(service))
    assert set(waited) <= set(order(service))
    assert service.rows(audit_unsealed) != []
