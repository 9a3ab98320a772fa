"""Removal of an identity that never signed in, and `IDENTITY_LIMIT` (contract 17.2)."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest
from fault_injection import at_once
from pages import Browser, form_of, submit
from service import ADMIN, Client, arrange

from secretsvc.authorization.rules.admission import IdentityAdmission
from secretsvc.identity import domain
from secretsvc.tables.grants import grant, group_member
from secretsvc.tables.identities import identity
from secretsvc.tables.service_tokens import service_token

pytestmark = pytest.mark.both_engines

ADA, BOSS = "ada@example.com", "boss@example.com"
ROBOT = {"kind": "service", "subject": "deploy"}
ON_SHOP = {"scope_type": "project", "project": "shop", "role": "reader"}


def announce(client, body=None, status=201):
    return client.post("/identities", body or {"kind": "user", "subject": ADA}, status)


@pytest.fixture
def service(make_service):
    """With service tokens, which an identity can have before it comes."""
    return make_service(SERVICE_TOKENS="on")


@pytest.fixture
def robot(service, admin):
    """A service that never came, with a grant, a membership and a token."""
    made = announce(admin, ROBOT).json["id"]
    admin.post("/grants", ON_SHOP | {"identity_id": made}, 201)
    group = admin.post("/groups", {"slug": "crew", "name": "Crew"}, 201).json["id"]
    admin.post(f"/groups/{group}/members", {"identity_id": made}, 201)
    expires_at = admin.get("/whoami").json["identity"]["last_seen_at"] + 86_400_000
    body = {"name": "early", "expires_at": expires_at}
    service.token = admin.post(f"/identities/{made}/tokens", body, 201).json["token"]
    return made


@pytest.mark.both_engines
def test_it_goes_with_its_grants_memberships_and_tokens_and_one_record(service, admin, robot):
    kept = service.count(grant) - 1
    admin.delete(f"/identities/{robot}")
    assert service.rows(identity, identity.c.subject == "deploy") == []
    assert (service.count(grant), service.count(group_member), service.count(service_token)) == (kept, 0, 0)
    row = service.audit()[-1]
    assert (row["action"], row["outcome"]) == ("identity.delete", "success")
    assert json.loads(row["detail"]) == {"identity_id": robot, "kind": "service", "subject": "deploy"}
    Client(service.app, service.token).get("/whoami", 401)
    for _ in range(2):
        assert admin.delete(f"/identities/{robot}", 404).json["code"] == "NOT_FOUND"
    assert announce(admin, ROBOT).json["id"] != robot


def test_one_that_signed_in_is_409_and_stays(service, admin):
    made = announce(admin).json["id"]
    service.user(ADA).get("/whoami")
    refused = admin.delete(f"/identities/{made}", 409).json
    assert refused["code"] == "CONFLICT"
    assert "Disable" in refused["hint"]
    assert len(service.rows(identity, identity.c.subject == ADA)) == 1
    assert service.audit("identity.delete") == []


@pytest.mark.parametrize("role", ["admin", "writer", None])
def test_nobody_but_a_global_admin_can_whether_or_not_it_is_there(service, admin, role):
    made = announce(admin).json["id"]
    if role:
        service.grant(BOSS, role, "shop")
    for one in (made, made[:-4] + "0000"):
        service.user(BOSS).delete(f"/identities/{one}", 403)
    admin.delete(f"/identities/{made}")


@pytest.mark.both_engines
def test_the_last_usable_global_admin_stays(make_service, monkeypatch):
    service = make_service(BOOTSTRAP_ADMINS="")
    mine = service.grant(BOSS, "admin")
    boss = service.user(BOSS)
    heir = announce(boss).json["id"]
    boss.post("/grants", {"scope_type": "global", "role": "admin", "identity_id": heir}, 201)
    guard = domain.last_enabled_admin_guard

    @contextmanager
    def overtaken(call):
        # Between the decision and the guard: the caller was admin, and is not any more.
        call.connection.execute(grant.delete().where(grant.c.id == mine))
        with guard(call):
            yield

    monkeypatch.setattr(domain, "last_enabled_admin_guard", overtaken)
    assert boss.delete(f"/identities/{heir}", 409).json["code"] == "LAST_ADMIN"
    assert len(service.rows(identity, identity.c.subject == ADA)) == 1


@pytest.mark.both_engines
@pytest.mark.parametrize("kind", ["known", "listed"])
def test_a_first_visit_that_a_removal_overtakes_makes_it_again(make_service, monkeypatch, kind):
    service = make_service(BOOTSTRAP_ADMINS=f"{ADMIN},{ADA}" if kind == "listed" else ADMIN)
    admin = service.user()
    made = announce(admin).json["id"]
    create_or_touch, overtaken = IdentityAdmission._create_or_touch, []

    def overtake(self, connection, principal, known, *rest):
        # Between the look for the identity and its first visit.
        if principal.subject == ADA and not overtaken:
            overtaken.append(known.id)
            connection.execute(identity.delete().where(identity.c.id == known.id))
        create_or_touch(self, connection, principal, known, *rest)

    monkeypatch.setattr(IdentityAdmission, "_create_or_touch", overtake)
    answered = service.user(ADA).get("/whoami").json
    assert [str(one) for one in overtaken] == [made]
    assert answered["identity"]["id"] != made
    assert answered["identity"]["last_seen_at"] is not None
    assert answered["global_role"] == ("admin" if kind == "listed" else None)


def test_a_token_whose_identity_a_removal_overtakes_is_refused(service, admin, robot, monkeypatch):
    touch = IdentityAdmission._touch

    def overtake(self, connection, principal, now):
        if principal.subject == "deploy":
            for table in (service_token, grant, group_member):
                connection.execute(table.delete().where(table.c.identity_id == robot_id))
            connection.execute(identity.delete().where(identity.c.id == robot_id))
        return touch(self, connection, principal, now)

    robot_id = service.identity_id("deploy", "service")
    monkeypatch.setattr(IdentityAdmission, "_touch", overtake)
    Client(service.app, service.token).get("/whoami", 401)
    assert service.rows(identity, identity.c.subject == "deploy") == []


@pytest.mark.both_engines
def test_removals_beside_first_visits_and_grants_lose_nothing(service, admin):
    admin.get("/whoami")
    tokens = [service.issuer.sign(ADMIN), service.issuer.sign(ADA)]
    for _ in range(3):
        made = announce(admin).json["id"]

        def act(number, made=made):
            if number % 3 == 0:
                return Client(service.app, tokens[1]).request("GET", "/whoami").status_int
            boss = Client(service.app, tokens[0])
            if number % 3 == 1:
                return boss.request("DELETE", f"/identities/{made}").status_int
            return boss.request("POST", "/grants", ON_SHOP | {"identity_id": made}).status_int

        answers = at_once(9, act)
        assert set(answers[0::3]) == {200}
        assert set(answers[1::3]) <= {204, 404, 409}
        assert set(answers[2::3]) <= {201, 404, 409}
        (row,) = service.rows(identity, identity.c.subject == ADA)
        assert row["last_seen_at"] is not None
        for table in (grant, identity):
            column = table.c.identity_id if table is grant else table.c.id
            service.execute(table.delete().where(column == row["id"]))


@pytest.mark.parametrize("what", ["member", "token"])
def test_what_is_added_to_one_that_is_removed_meanwhile_is_404(service, admin, robot, monkeypatch, what):
    group = admin.get("/groups").json["items"][0]["id"]
    made = announce(admin, {"kind": "service", "subject": "other"}).json["id"]
    found = domain.find_identity

    def overtake(call, identity_id):
        one = found(call, identity_id)
        call.connection.execute(identity.delete().where(identity.c.id == identity_id))
        return one

    for module in ("groups", "tokens"):
        monkeypatch.setattr(f"secretsvc.{module}.domain.find_identity", overtake)
    if what == "member":
        refused = admin.post(f"/groups/{group}/members", {"identity_id": made}, 404)
    else:
        expires_at = admin.get("/whoami").json["identity"]["last_seen_at"] + 86_400_000
        refused = admin.post(f"/identities/{made}/tokens", {"name": "x", "expires_at": expires_at}, 404)
    assert refused.json["code"] == "NOT_FOUND"


def test_the_page_removes_it_after_it_was_asked(service, admin, robot):
    browser = Browser(service)
    page = browser.open(f"/identities/{robot}")
    page = page.click("Remove…", href="remove-identity")
    assert "never signed in" in page.html.text
    page = submit(page, "/remove", 303)
    assert page.request.path == "/identities"
    assert "deploy" not in page.html.find("main").text
    assert "removed" in page.html.find(role="status").text
    # A form that is sent twice.
    answer = browser.post(f"/identities/{robot}/remove", {"csrf": form_csrf(browser)}, status=303)
    assert "nothing-to-remove" in answer.headers["Location"]


def form_csrf(browser):
    return browser.open("/identities?new=user").html.find("input", {"name": "csrf"})["value"]


def test_the_page_of_one_that_signed_in_has_no_such_entry_and_says_why(service, admin):
    made = announce(admin).json["id"]
    browser = Browser(service)
    page = browser.open(f"/identities/{made}?remove-identity")
    service.user(ADA).get("/whoami")
    refused = form_of(page, "/remove").submit(status=409)
    assert "Disable it instead" in refused.html.find(role="alert").text
    assert not browser.open(f"/identities/{made}").html.select("a[href$='?remove-identity']")
    service.grant(BOSS, "admin", "shop")
    other = announce(admin, ROBOT).json["id"]
    assert not Browser(service, BOSS).open(f"/identities/{other}").html.select("a[href*='remove-identity']")


def of(number):
    return {"kind": "service", "subject": f"robot-{number}"}


@pytest.mark.both_engines
def test_who_adds_too_many_identities_is_429(make_service):
    service = make_service(IDENTITY_LIMIT="2/day")
    arrange(service)
    for subject in (BOSS, "other@example.com"):
        service.grant(subject, "admin", "shop")
    boss = service.user(BOSS)
    announce(boss, of(1))
    # What was refused is not counted.
    announce(boss, of(1), 409)
    announce(boss, {"kind": "user", "subject": "nobody"}, 422)
    announce(boss, of(2))
    refused = announce(boss, of(3), 429)
    assert refused.json["code"] == "RATE_LIMITED"
    assert "IDENTITY_LIMIT" in refused.json["hint"]
    assert 86_000 <= int(refused.headers["Retry-After"]) <= 86_400
    assert service.rows(identity, identity.c.subject == "robot-3") == []
    announce(service.user("other@example.com"), of(3))
    announce(service.user(), of(4))


def test_global_admins_and_all_where_it_is_empty_are_exempt(make_service):
    service = make_service(IDENTITY_LIMIT="1/day")
    arrange(service)
    for number in range(3):
        announce(service.user(), of(number))
    service = service.restarted(IDENTITY_LIMIT="")
    service.grant(BOSS, "admin", "shop")
    for number in range(3, 6):
        announce(service.user(BOSS), of(number))


def test_the_form_over_the_limit_keeps_what_was_typed(make_service):
    service = make_service(IDENTITY_LIMIT="1/day")
    arrange(service)
    service.grant(BOSS, "admin", "shop")
    announce(service.user(BOSS), of(1))
    page = Browser(service, BOSS).open("/identities?new=service")
    page = submit(page, "/identities", 429, subject="robot-2", display_name="Robot two")
    assert "IDENTITY_LIMIT" in page.html.find(role="alert").text
    assert form_of(page, "/identities")["subject"].value == "robot-2"
    assert form_of(page, "/identities")["display_name"].value == "Robot two"
