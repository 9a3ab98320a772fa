"""Records are sealed and replayed in the order in which they were written, whatever clocks say."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from databases import alembic_config
from resource_fields import log
from sqlalchemy import text, update

from alembic import command
from secretsvc.audit.rules import records
from secretsvc.audit.rules.records import write_record
from secretsvc.db.engine import read_once, set_mode, snapshot
from secretsvc.deployment import audit
from secretsvc.kernel.actors import SYSTEM
from secretsvc.kernel.ids import earliest_id
from secretsvc.kernel.transaction_mode import Mode
from secretsvc.sealedlog.models import audit_seal, audit_unsealed
from secretsvc.sealedlog.rules import unsealed
from secretsvc.sealedlog.rules.heads import Sealing
from secretsvc.sealedlog.rules.log_reader import PAGE, waiting_leaves
from secretsvc.sealedlog.rules.sealing import Bound, seal_some
from secretsvc.sealedlog.verification.verify import verify_database
from secretsvc.tables.identities import identity

pytestmark = pytest.mark.both_engines

PROD = "/projects/shop/environments/prod"


@pytest.fixture
def sealed(vault, service):
    """A service whose records are sealed."""
    vault.set(A="x")
    seal(service)
    return service


@pytest.fixture
def clocks(monkeypatch) -> None:
    """Each record is written by a host whose clock is behind that of the one before."""
    hosts = count(1)
    monkeypatch.setattr(records, "new_id", lambda: earliest_id(10**12 - next(hosts)))


def seal(service, records=1000) -> None:
    """Seals all that waits, so many records a step."""
    sealing = Sealing(service.app.registry.load_ring(), "secretsvc")
    while seal_some(service.engine, sealing, Bound(records, 60)):
        pass


def order(service) -> list[Any]:
    """The ids of the sealed records by their positions."""
    return [row["record_id"] for row in sorted(service.rows(audit_seal), key=lambda row: row["position"])]


def problems(service) -> list[str]:
    """What a verification of the database finds."""
    registry = service.app.registry
    with snapshot(service.engine) as connection:
        signers = audit.own_key(connection, registry)
        return [*verify_database(connection, signers, [], None, registry.load_ring())]


def back_to_front(number: int) -> list[Any]:
    """Ids of which each is older than the one before."""
    return [earliest_id(10**6 - one) for one in range(number)]


@pytest.mark.parametrize("records", [1, 3, 1000])
def test_records_are_sealed_as_they_were_written_however_many_a_step_takes(sealed, records):
    before, written = order(sealed), back_to_front(10)
    for one in written:
        log(sealed, ids=[one])
    seal(sealed, records)
    assert order(sealed) == [*before, *written]
    assert problems(sealed) == []


def test_what_is_listed_and_missing_is_passed_by_in_the_same_order(sealed, monkeypatch):
    monkeypatch.setattr(unsealed.log, "error", lambda *_: None)
    written = back_to_front(9)
    sealed.execute(audit_unsealed.insert(), [{"record_id": one, "number": 0} for one in written[:5]])
    for one in written[5:]:
        log(sealed, ids=[one])
    seal(sealed, 2)
    assert order(sealed)[-4:] == written[5:]


def test_what_waits_is_replayed_as_it_was_written_page_by_page(sealed):
    written = back_to_front(PAGE + 2)
    log(sealed, ids=written)
    with read_once(sealed.engine) as connection:
        assert [record_id for record_id, _ in waiting_leaves(connection)] == [*map(str, written)]


Change = Callable[[Any, bool], object]


def disable(admin: Any, is_so: bool) -> object:
    [bot] = [one for one in admin.get("/identities").json["items"] if one["subject"] == "bot"]
    return admin.patch(f"/identities/{bot['id']}", {"disabled": is_so})


def protect(admin: Any, is_so: bool) -> object:
    return admin.patch(PROD, {"protected": is_so})


@pytest.mark.usefixtures("clocks")
@pytest.mark.parametrize("change", [disable, protect])
@pytest.mark.parametrize("last", [True, False])
def test_of_changes_by_hosts_whose_clocks_differ_the_last_is_told_as_the_last(sealed, admin, change, last):
    admin.post("/identities", {"kind": "service", "subject": "bot"}, 201)
    for is_so in (not last, last):
        change(admin, is_so)
    assert problems(sealed) == []
    seal(sealed, 2)
    assert problems(sealed) == []
    change(admin, not last)
    assert problems(sealed) == []


@pytest.mark.usefixtures("clocks")
def test_whoever_waited_for_the_row_is_told_after_whom_it_waited_for(sealed, admin):
    bot = admin.post("/identities", {"kind": "service", "subject": "bot"}, 201).json["id"]
    waits = threading.Thread(target=disable, args=(admin, False))
    with sealed.engine.connect() as first:
        writer = set_mode(first, Mode.WRITE)
        writer.execute(update(identity).where(identity.c.subject == "bot").values(disabled=True))
        waits.start()
        waits.join(0.3)
        assert waits.is_alive()
        detail = {"identity_id": bot, "fields": ["disabled"], "disabled": True}
        write_record(writer, SYSTEM, 1, "by-a-test", "identity.update", detail=detail)
        writer.commit()
    waits.join()
    assert [row["disabled"] for row in sealed.rows(identity, identity.c.subject == "bot")] == [False]
    assert problems(sealed) == []
    seal(sealed)
    assert problems(sealed) == []


def test_what_waited_before_there_were_numbers_comes_first_in_the_order_of_ids(sealed):
    config = alembic_config(sealed.engine.url.render_as_string(hide_password=False))
    command.downgrade(config, "0016")
    before, written = order(sealed), back_to_front(6)
    log(sealed, ids=written[1:3])
    command.upgrade(config, "head")
    log(sealed, ids=written[:1])
    log(sealed, ids=written[4:])
    seal(sealed)
    assert order(sealed) == [*before, written[2], written[1], written[0], *written[4:]]
    assert problems(sealed) == []


def test_a_way_down_keeps_what_waits(sealed):
    config = alembic_config(sealed.engine.url.render_as_string(hide_password=False))
    written = back_to_front(3)
    log(sealed, ids=written)
    command.downgrade(config, "0016")
    with read_once(sealed.engine) as connection:
        assert connection.execute(text("SELECT count(*) FROM audit_unsealed")).scalar_one() == 3
    command.upgrade(config, "head")
    seal(sealed)
    assert order(sealed)[-3:] == sorted(written)


def test_a_step_reads_what_waits_off_an_index(sealed):
    log(sealed, 2000)
    sealed.execute("ANALYZE")
    asked = unsealed.oldest(sealed.engine.name).limit(10)
    with sealed.engine.connect() as connection:
        sql = asked.compile(connection, compile_kwargs={"literal_binds": True})
        explain = "EXPLAIN QUERY PLAN" if sealed.engine.name == "sqlite" else "EXPLAIN"
        plan = [str(row) for row in connection.exec_driver_sql(f"{explain} {sql}")]
    assert "ix_audit_unsealed_number" in "".join(plan)
    assert "SORT" not in "".join(plan).upper().replace("TEMP B-TREE", "SORT")
