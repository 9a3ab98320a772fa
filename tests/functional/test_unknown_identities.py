"""Unknown identities: who was denied without holding anything (specification, "Access"; contract 3.7)."""

from __future__ import annotations

import pytest
from pages import Browser
from resource_fields import UNKNOWN
from service import Client
from statements import recorded
from stopped_clock import StoppedClock

EVE = "eve@example.com"
SECRETS = "/projects/shop/environments/prod/secrets"


def unknown(client):
    items = client.get("/access/unknown-identities").json["items"]
    return {item["subject"]: item["denials"] for item in items}


def test_it_has_the_fields_of_the_contract_the_latest_first(service, admin, monkeypatch):
    clock = StoppedClock(monkeypatch)
    eve, robot = service.user(EVE), service.robot("Deploy.access")
    first = clock.now
    eve.get("/projects/shop", 404)
    clock.now += 1_000
    robot.get(SECRETS, 404)
    clock.now += 1_000
    eve.get(SECRETS, 404)
    answer = admin.get("/access/unknown-identities").json
    assert answer.keys() == {"items"}
    assert [item.keys() for item in answer["items"]] == [UNKNOWN] * 2
    assert answer["items"] == [
        {
            "subject": EVE,
            "kind": "user",
            "denials": 2,
            "first_denied_at": first,
            "last_denied_at": clock.now,
        },
        {
            "subject": "Deploy.access",
            "kind": "service",
            "denials": 1,
            "first_denied_at": first + 1_000,
            "last_denied_at": first + 1_000,
        },
    ]


def test_who_was_never_denied_is_not_unknown(service, admin):
    service.user(EVE).get("/projects")
    service.user(EVE).get("/projects/absent", 404)
    assert unknown(admin) == {}


def test_a_person_and_a_service_token_of_one_name_are_two(service, admin):
    service.user(EVE).get("/projects/shop", 404)
    service.robot(EVE).get("/projects/shop", 404)
    items = admin.get("/access/unknown-identities").json["items"]
    assert sorted(item["kind"] for item in items) == ["service", "user"]


@pytest.mark.both_engines
@pytest.mark.parametrize("scope", ["global", "shop", "shop/dev"])
@pytest.mark.parametrize("shared", [False, True], ids=["direct", "group"])
def test_a_live_grant_anywhere_makes_known(service, admin, monkeypatch, scope, shared):
    clock = StoppedClock(monkeypatch)
    service.user(EVE).post("/projects", {"slug": "a", "name": "A"}, 403)
    holder = service.group("team", EVE) if shared else EVE
    assert unknown(admin) == {EVE: 1}
    service.grant(holder, "reader", scope, group=shared, expires_at=clock.now)
    assert unknown(admin) == {EVE: 1}
    clock.now -= 1
    assert unknown(admin) == {}


def test_another_members_grant_or_another_groups_does_not(service, admin):
    service.user(EVE).get("/projects/shop", 404)
    service.group("idle", EVE)
    service.grant(service.group("busy", "ada@example.com"), "reader", group=True)
    service.grant("bob@example.com", "reader")
    assert unknown(admin) == {EVE: 1}


def test_who_lost_its_grants_is_unknown_again(service, admin):
    held = service.grant(EVE, "reader", "shop")
    service.user(EVE).patch("/projects/shop", {"name": "X"}, 403)
    assert unknown(admin) == {}
    admin.delete(f"/grants/{held}")
    assert unknown(admin) == {EVE: 1}


def test_each_admin_counts_the_denials_that_it_may_audit(service, admin):
    admin.post("/projects", {"slug": "depot", "name": "Depot"}, 201)
    admin.post("/projects/depot/environments", {"slug": "prod", "name": "Prod"}, 201)
    eve = service.user(EVE)
    eve.get("/projects/shop", 404)
    for path in (SECRETS, SECRETS, SECRETS.replace("prod", "dev"), SECRETS.replace("shop", "depot")):
        eve.get(path, 404)
    eve.get("/groups", 403)
    service.robot("deploy").get(SECRETS.replace("shop", "depot"), 404)
    counts = {}
    for scope in ("shop", "shop/prod", "shop/dev", "depot", "depot/prod"):
        service.grant(f"{scope.replace('/', '-')}@example.com", "admin", scope)
        counts[scope] = unknown(service.user(f"{scope.replace('/', '-')}@example.com"))
    assert counts == {
        "shop": {EVE: 4},
        "shop/prod": {EVE: 2},
        "shop/dev": {EVE: 1},
        "depot": {EVE: 1, "deploy": 1},
        "depot/prod": {EVE: 1, "deploy": 1},
    }
    assert unknown(admin) == {EVE: 6, "deploy": 1}


def test_only_denials_count(service, admin):
    eve = service.user(EVE)
    for _ in range(3):
        eve.get("/projects")
        eve.get("/whoami")
    assert unknown(admin) == {}
    eve.get("/projects/shop", 404)
    eve.get("/projects/shop", 404)
    assert unknown(admin) == {EVE: 2}


def test_denials_of_a_scope_that_is_gone_are_counted_for_those_who_may_audit_everything(service, admin):
    eve = service.user(EVE)
    eve.get(SECRETS, 404)
    eve.get("/projects/shop", 404)
    service.grant("ada@example.com", "admin", "shop")
    admin.delete("/projects/shop/environments/prod")
    assert unknown(service.user("ada@example.com")) == {EVE: 1}
    admin.delete("/projects/shop")
    assert unknown(admin) == {EVE: 2}


def test_what_is_denied_is_counted_beside_the_log_and_not_looked_for_there(service, admin):
    service.user(EVE).get("/projects/shop", 404)
    with recorded(service.engine) as statements:
        unknown(admin)
        Browser(service).open("/access/unknown-identities")
    assert not any("audit_record" in statement for statement in statements)


def test_the_unknown_are_found_among_the_identities(service, admin):
    service.robot("deploy").get("/projects/shop", 404)
    [found] = admin.get("/access/unknown-identities").json["items"]
    [match] = [one for one in admin.get("/identities").json["items"] if one["subject"] == found["subject"]]
    body = {"scope_type": "project", "project": "shop", "role": "reader", "identity_id": match["id"]}
    admin.post("/grants", body, 201)
    service.robot("deploy").get("/projects/shop")
    assert unknown(admin) == {}


def test_a_caller_who_is_refused_the_list_is_on_it(service, admin):
    Client(service.app, service.issuer.sign(EVE)).get("/access/unknown-identities", 403)
    assert unknown(admin) == {EVE: 1}
