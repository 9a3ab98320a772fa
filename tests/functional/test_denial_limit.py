"""Denials of one identity are recorded up to a limit (contract 3.19)."""

from __future__ import annotations

import json

import pytest
from fault_injection import at_once, refuse_inserts
from service import Maker, Service, arrange
from statements import recorded
from stopped_clock import StoppedClock

from secretsvc.audit.models import denial_tally
from secretsvc.audit.rules.denials import SuppressedCounts
from secretsvc.kernel.ids import new_id

EVE = "eve@example.com"


def town(make_service: Maker, limit: str | None) -> Service:
    """A service with a project, and somebody who is known and holds nothing."""
    service = make_service(DENIAL_LIMIT=limit, LAST_SEEN_RESOLUTION="100000000")
    arrange(service)
    service.user(EVE).get("/whoami")
    return service


def details(service: Service) -> list[object]:
    """What the denials tell beside themselves, oldest first."""
    return [row["detail"] and json.loads(row["detail"]) for row in service.denials()]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StoppedClock:
    """The clock by which a limit's time passes."""
    clock = StoppedClock(monkeypatch)
    monkeypatch.setattr("limits.storage.memory.time.time", lambda: clock.now / 1000)
    return clock


def test_beyond_the_limit_the_answer_stays_and_nothing_is_written(make_service: Maker) -> None:
    service = town(make_service, "2/day")
    eve = service.user(EVE)
    answers = [eve.get("/projects/shop", 404) for _ in range(4)]
    assert len({answer.json["message"] for answer in answers}) == 1
    assert len(service.denials()) == 2
    assert [row["denials"] for row in service.user().get("/access/unknown-identities").json["items"]] == [2]


@pytest.mark.parametrize("path", ["/projects/shop", "/projects/nope", "/projects/shop/environments/prod"])
def test_beyond_the_limit_there_is_no_transaction_for_it(make_service: Maker, path: str) -> None:
    service = town(make_service, "1/day")
    eve = service.user(EVE)
    eve.get("/projects/nope", 404)
    with recorded(service.engine) as statements:
        eve.get(path, 404)
    # Whose request it is, and whether the thing exists.
    assert [statement.split()[0] for statement in statements] == ["WITH", "SELECT"]


def test_the_absent_and_the_invisible_and_the_forbidden_count_alike(make_service: Maker) -> None:
    service = town(make_service, "3/day")
    eve = service.user(EVE)
    eve.get("/projects/nope", 404)
    eve.get("/projects/shop", 404)
    eve.get("/groups", 403)
    before = len(service.denials())
    eve.get("/groups", 403)
    eve.get("/projects/shop", 404)
    assert len(service.denials()) == before == 2


def test_each_identity_has_a_limit_of_its_own(make_service: Maker) -> None:
    service = town(make_service, "1/day")
    for client in (service.user(EVE), service.robot(EVE), service.user("bob@example.com")):
        for _ in range(2):
            client.get("/projects/shop", 404)
    assert len(service.denials()) == 3


def test_the_next_denial_tells_how_many_real_ones_were_left_out(
    make_service: Maker, clock: StoppedClock
) -> None:
    service = town(make_service, "2/minute")
    eve = service.user(EVE)
    for _ in range(5):
        eve.get("/projects/shop", 404)
        eve.get("/projects/nope", 404)
    clock.now += 60_001
    # What is undone tells nobody.
    eve.get("/projects/nope", 404)
    eve.get("/projects/shop", 404)
    clock.now += 60_001
    eve.get("/projects/shop", 404)
    assert details(service) == [None, {"unrecorded": 4}, None]


def test_what_was_left_out_is_told_once_and_of_its_own_identity(
    make_service: Maker, clock: StoppedClock
) -> None:
    service = town(make_service, "1/minute")
    eve, bob = service.user(EVE), service.user("bob@example.com")
    for client in (eve, eve, eve, bob, bob):
        client.get("/projects/shop", 404)
    clock.now += 60_001
    for client in (bob, eve):
        client.get("/projects/shop", 404)
    clock.now += 60_001
    eve.get("/projects/shop", 404)
    assert details(service) == [None, None, {"unrecorded": 1}, {"unrecorded": 2}, None]


@pytest.mark.both_engines
def test_a_denial_that_cannot_be_written_keeps_what_was_left_out(
    make_service: Maker, clock: StoppedClock
) -> None:
    service = town(make_service, "1/minute")
    eve = service.user(EVE)
    for _ in range(3):
        eve.get("/projects/shop", 404)
    refuse_inserts(service, "audit_record")
    clock.now += 60_001
    eve.get("/projects/shop", 404)
    service.execute(
        "DROP TRIGGER refuse_audit_record" + ("" if service.engine.name == "sqlite" else " ON audit_record")
    )
    clock.now += 60_001
    eve.get("/projects/shop", 404)
    assert details(service) == [None, {"unrecorded": 2}]


def test_what_is_allowed_is_never_refused_for_it(make_service: Maker) -> None:
    service = town(make_service, "1/day")
    service.grant(EVE, "reader", "shop/prod")
    eve = service.user(EVE)
    for _ in range(3):
        eve.delete("/projects/shop", 403)
    eve.get("/projects/shop")
    eve.get("/projects/shop/environments/prod/secrets")


@pytest.mark.slow
def test_an_empty_limit_turns_it_off(make_service: Maker) -> None:
    service = town(make_service, "")
    for _ in range(70):
        service.user(EVE).get("/projects/shop", 404)
    assert details(service) == [None] * 70


def test_by_default_it_is_sixty_a_minute(make_service: Maker, clock: StoppedClock) -> None:
    service = town(make_service, None)
    for _ in range(65):
        service.user(EVE).get("/projects/shop", 404)
    assert len(service.denials()) == 60


@pytest.mark.parametrize("limit", ["lots", "1/day; 2/second", "0/minute"])
def test_a_malformed_limit_is_no_limit_by_default(make_service: Maker, limit: str) -> None:
    service = town(make_service, limit)
    for path in ("/projects/shop", "/projects/nope"):
        assert service.user(EVE).get(path, 500).json["code"] == "SERVER_MISCONFIGURED"
    assert service.denials() == []


@pytest.mark.both_engines
def test_denials_that_come_at_once_are_all_counted(make_service: Maker) -> None:
    service = town(make_service, "5/day")
    eve = service.user(EVE)
    at_once(8, lambda _: eve.get("/projects/shop", 404).status_int)
    assert len(service.denials()) == 5
    [mine] = service.rows(denial_tally, denial_tally.c.scope_id == service.scope("shop")["project_id"])
    assert mine["denials"] == 5


def test_of_many_identities_the_one_left_out_longest_ago_is_told_by_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    left_out = SuppressedCounts(2)
    first, second, third = new_id(), new_id(), new_id()
    for one in (first, second, first, third):
        left_out.add(one, 1)
    [message] = caplog.messages
    assert message == f"of identity {second} 1 denials were not recorded, and no record will tell"
    assert [left_out.take(one) for one in (first, second, third, first)] == [2, 0, 1, 0]


def test_who_has_nothing_left_out_takes_no_place() -> None:
    left_out = SuppressedCounts(1)
    known = new_id()
    left_out.add(known, 1)
    left_out.add(new_id(), 0)
    assert left_out.take(known) == 1
