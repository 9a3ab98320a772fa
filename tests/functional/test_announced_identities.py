"""Identities that are announced before their first visit (contract 5.12)."""

from __future__ import annotations

import json

import pytest
from fault_injection import at_once
from resource_fields import IDENTITY, paths
from service import ADMIN, Client
from stopped_clock import StoppedClock

from secretsvc.authorization.rules.admission import IdentityAdmission
from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant
from secretsvc.tables.identities import identity

ADA = "ada@example.com"
PERSON = {"kind": "user", "subject": ADA}
ROBOT = {"kind": "service", "subject": "deploy access"}
ON_SHOP = {"scope_type": "project", "project": "shop", "role": "reader"}


def announce(client, body=None, status=201):
    return client.post("/identities", body or PERSON, status)


def record_of(row):
    return row["actor_subject"], row["outcome"], json.loads(row["detail"])


def test_it_is_made_with_201_its_fields_and_its_path(service, admin, monkeypatch):
    clock = StoppedClock(monkeypatch)
    answer = announce(admin, PERSON | {"display_name": "  Ada L. "})
    made = answer.json
    assert made.keys() == IDENTITY
    assert {name: made[name] for name in IDENTITY - {"id"}} == {
        "kind": "user",
        "subject": ADA,
        "display_name": "Ada L.",
        "disabled": False,
        "created_at": clock.now,
        "last_seen_at": None,
    }
    assert answer.headers["Location"] == f"/api/v1/identities/{made['id']}"
    assert made in admin.get("/identities").json["items"]


@pytest.mark.both_engines
@pytest.mark.parametrize("scope", ["global", "shop", "shop/dev"])
@pytest.mark.parametrize("shared", [False, True], ids=["direct", "group"])
def test_an_admin_at_any_scope_may_announce(service, admin, scope, shared):
    service.grant(
        service.group("crew", "boss@example.com") if shared else "boss@example.com",
        "admin",
        scope,
        group=shared,
    )
    assert announce(service.user("boss@example.com")).json["subject"] == ADA


@pytest.mark.parametrize("role", ["writer", "reader", None])
def test_nobody_else_may_and_that_is_recorded(service, admin, role):
    if role:
        service.grant("bob@example.com", role)
    announce(service.user("bob@example.com"), status=403)
    # Whether or not it is there, and before the role nothing is judged of it (contract 4.2).
    service.user("bob@example.com").post("/identities", {"kind": "user", "subject": ADMIN}, 403)
    assert [row["action"] for row in service.denials()] == ["authz.global.admin"] * 2
    assert service.rows(identity, identity.c.subject == ADA) == []


@pytest.mark.parametrize("body", [PERSON, ROBOT], ids=lambda body: body["kind"])
def test_one_that_is_there_is_a_409(service, admin, body):
    announce(admin, body)
    before = admin.get("/identities").json
    assert announce(admin, body | {"display_name": "Another"}, 409).json["code"] == "CONFLICT"
    assert announce(admin, {"kind": "user", "subject": ADMIN.upper()}, 409)
    assert admin.get("/identities").json["items"] == before["items"]
    assert len(service.audit("identity.create")) == 2


@pytest.mark.both_engines
def test_of_twenty_announcements_at_once_one_is_made(service, admin):
    token = service.issuer.sign(ADMIN)
    statuses = at_once(
        20, lambda _: Client(service.app, token).request("POST", "/identities", PERSON).status_int
    )
    assert sorted(statuses) == [201] + [409] * 19
    assert len(service.rows(identity, identity.c.subject == ADA)) == 1


def test_a_person_and_a_service_token_of_one_subject_are_two(service, admin):
    ids = {announce(admin, {"kind": kind, "subject": ADA}).json["id"] for kind in ("user", "service")}
    assert len(ids) == 2


def test_an_e_mail_is_lower_cased_and_a_common_name_is_not(service, admin):
    assert announce(admin, {"kind": "user", "subject": "Ada@Example.COM"}).json["subject"] == ADA
    assert (
        announce(admin, {"kind": "user", "subject": "ÄDA@example.com"}).json["subject"] == "äda@example.com"
    )
    assert announce(admin, {"kind": "service", "subject": "Deploy Access"}).json["subject"] == "Deploy Access"
    # What a workload's assertions will be named by.
    assert announce(admin, {"kind": "service", "subject": "ci:acme/shop"}).json["subject"] == "ci:acme/shop"


@pytest.mark.parametrize(
    ("kind", "subject"),
    [
        *(("user", text) for text in ("ada", "@example.com", "ada@", "a@b@c", "a da@example.com", "")),
        *(
            ("user", text)
            for text in (" ada@example.com", "İ@example.com", "a" * 309 + "@example.com", 1, None)
        ),
        *(
            ("service", text)
            for text in ("", " ", "a ", " a", "a\n", "a\u00a0b", "a\u200bb", "\ufb01", 1, None)
        ),
        *(("service", text) for text in ("a" * 321, "a\x00b", ["a"])),
    ],
)
def test_a_subject_against_the_rules_of_its_kind_is_a_422(service, admin, kind, subject):
    refused = announce(admin, {"kind": kind, "subject": subject}, 422)
    assert paths(refused) == {"subject"}
    assert service.count(identity) == 1


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, {"kind"}),
        ({"kind": "user"}, {"subject"}),
        ({"subject": ADA}, {"kind"}),
        (PERSON | {"kind": "group"}, {"kind"}),
        (PERSON | {"kind": None}, {"kind"}),
        (PERSON | {"display_name": ""}, {"display_name"}),
        (PERSON | {"display_name": None}, {"display_name"}),
        (PERSON | {"display_name": "A" * 257}, {"display_name"}),
        (PERSON | {"display_name": "a\x00"}, {"display_name"}),
        (PERSON | {"disabled": True}, {"disabled"}),
        (PERSON | {"last_seen_at": 1}, {"last_seen_at"}),
        ({"kind": "user", "subject": "x", "display_name": 1, "id": "x"}, {"subject", "display_name", "id"}),
    ],
    ids=lambda value: str(value if isinstance(value, dict) else sorted(value))[:40],
)
def test_a_body_outside_its_schema_is_a_422(service, admin, body, where):
    assert paths(admin.post("/identities", body, 422)) == where


def test_it_is_recorded_once_as_made_by_the_caller(service, admin):
    service.grant("boss@example.com", "admin", "shop")
    service.user("boss@example.com").get("/whoami")
    made = announce(service.user("boss@example.com")).json
    service.user(ADA).get("/whoami")
    service.user(ADA).get("/projects")
    detail = {"identity_id": made["id"], "kind": "user", "subject": ADA}
    assert record_of(service.audit("identity.create")[-1]) == ("boss@example.com", "success", detail)
    assert [row["actor_subject"] for row in service.audit("identity.create")] == [
        ADMIN,
        "boss@example.com",
    ]


def test_it_is_last_seen_at_its_first_visit_and_never_before(service, admin, monkeypatch):
    clock = StoppedClock(monkeypatch)
    made = announce(admin).json
    admin.patch(f"/identities/{made['id']}", {"display_name": "Ada"})
    clock.now += 5_000
    assert [one["last_seen_at"] for one in admin.get("/identities").json["items"]][1] is None
    seen = service.user(ADA).get("/whoami").json["identity"]
    assert seen == made | {"display_name": "Ada", "last_seen_at": clock.now}


def test_grants_can_be_made_before_the_first_visit_and_hold_from_it(service, admin):
    person, robot = announce(admin).json["id"], announce(admin, ROBOT).json["id"]
    for holder in (person, robot):
        admin.post("/grants", ON_SHOP | {"identity_id": holder}, 201)
    for client in (service.user(ADA.upper()), service.robot("deploy access")):
        client.get("/projects/shop")
    assert service.denials() == []


def test_it_can_be_put_into_a_group_before_its_first_visit(service, admin):
    made = announce(admin).json
    group = admin.post("/groups", {"slug": "crew", "name": "Crew"}, 201).json["id"]
    admin.post(f"/groups/{group}/grants", ON_SHOP, 201)
    assert admin.post(f"/groups/{group}/members", {"identity_id": made["id"]}, 201).json == made
    assert admin.get(f"/groups/{group}/members").json["items"] == [made]
    [entry] = admin.get(f"/identities/{made['id']}/effective-permissions").json["items"]
    assert (entry["project"], entry["role"], entry["sources"][0]["group"]["slug"]) == (
        "shop",
        "reader",
        "crew",
    )
    service.user(ADA).get("/projects/shop")


def test_it_can_be_disabled_before_its_first_visit(service, admin):
    made = announce(admin).json
    admin.post("/grants", ON_SHOP | {"identity_id": made["id"]}, 201)
    assert admin.patch(f"/identities/{made['id']}", {"disabled": True}).json == made | {"disabled": True}
    ada = service.user(ADA)
    ada.get("/projects/shop", 404)
    answered = ada.get("/whoami").json["identity"]
    assert (answered["disabled"], answered["last_seen_at"] is None) == (True, False)
    [entry] = admin.get(f"/identities/{made['id']}/effective-permissions").json["items"]
    assert entry["role"] is None


def test_the_first_visit_of_a_listed_address_makes_it_an_admin_as_ever(make_service):
    service = make_service(BOOTSTRAP_ADMINS=f"{ADMIN},{ADA}")
    made = announce(service.user()).json
    [entry] = service.user().get(f"/identities/{made['id']}/effective-permissions").json["items"]
    assert (entry["role"], entry["sources"][0]["grant_id"]) == ("admin", None)
    assert service.user(ADA).get("/whoami").json["global_role"] == "admin"
    [row] = service.rows(grant, grant.c.identity_id == service.identity_id(ADA))
    assert (row["scope_type"], row["role"], row["created_by"]) == ("global", "admin", None)
    assert len(service.audit("grant.bootstrap")) == 2


def test_a_listed_address_that_was_disabled_before_its_first_visit_gets_nothing(make_service):
    service = make_service(BOOTSTRAP_ADMINS=f"{ADMIN},{ADA}")
    admin = service.user()
    admin.patch(f"/identities/{announce(admin).json['id']}", {"disabled": True})
    assert service.user(ADA).get("/whoami").json["global_role"] is None
    assert len(service.audit("grant.bootstrap")) == 1


@pytest.mark.both_engines
def test_twenty_first_visits_at_once_beside_the_announcement_make_one_that_was_seen(service, admin):
    admin.get("/whoami")
    tokens = {True: service.issuer.sign(ADMIN), False: service.issuer.sign(ADA)}

    def act(number):
        client = Client(service.app, tokens[number == 7])
        if number == 7:
            return client.request("POST", "/identities", PERSON).status_int
        return client.request("GET", "/whoami").json["identity"]["last_seen_at"] is not None

    answers = at_once(20, act)
    assert answers[7] in (201, 409)
    assert all(answer is True for number, answer in enumerate(answers) if number != 7), answers
    assert len(service.rows(identity, identity.c.subject == ADA)) == 1
    assert len(service.audit("identity.create")) == 2


@pytest.mark.both_engines
def test_a_first_visit_that_an_announcement_overtakes_is_seen(service, admin, monkeypatch):
    create_or_touch, overtaken = IdentityAdmission._create_or_touch, []

    def overtake(self, connection, principal, known, *rest):
        # Between the look for the identity and its making.
        if principal.subject == ADA and not overtaken:
            overtaken.append(known)
            row = {"id": new_id(), "kind": "user", "subject": ADA, "disabled": False, "created_at": 1}
            connection.execute(identity.insert(), row)
        create_or_touch(self, connection, principal, known, *rest)

    monkeypatch.setattr(IdentityAdmission, "_create_or_touch", overtake)
    answered = service.user(ADA).get("/whoami").json["identity"]
    assert overtaken == [None]
    assert answered["last_seen_at"] is not None
    assert len(service.audit("identity.create")) == 1


@pytest.fixture
def bare(make_service):
    """A service without `BOOTSTRAP_ADMINS`, whose one admin announced another."""
    service = make_service(BOOTSTRAP_ADMINS="")
    service.boss = service.grant("boss@example.com", "admin")
    boss = service.user("boss@example.com")
    body = {"scope_type": "global", "role": "admin", "identity_id": announce(boss).json["id"]}
    service.heir = boss.post("/grants", body, 201).json
    return service


def test_an_announced_admin_is_usable_to_the_last_admin_guard(bare):
    boss = bare.user("boss@example.com")
    boss.delete(f"/grants/{bare.boss}")
    boss.get("/groups", 403)
    ada = bare.user(ADA)
    assert ada.get("/whoami").json["global_role"] == "admin"
    assert ada.delete(f"/grants/{bare.heir['id']}", 409).json["code"] == "LAST_ADMIN"


def test_a_disabled_announced_admin_is_not(bare):
    boss = bare.user("boss@example.com")
    boss.patch(f"/identities/{bare.heir['identity_id']}", {"disabled": True})
    assert boss.delete(f"/grants/{bare.boss}", 409).json["code"] == "LAST_ADMIN"
    boss.patch(f"/identities/{bare.identity_id('boss@example.com')}", {"disabled": True}, 409)
