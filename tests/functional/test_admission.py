"""The order of steps on each authenticated request, and the first administrator (specification)."""

from __future__ import annotations

import pytest
from fault_injection import at_once
from service import ADMIN, HEADER, Client

from secretsvc.authorization import tweens
from secretsvc.kernel.clock import now_ms
from secretsvc.tables.grants import grant
from secretsvc.tables.identities import identity


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets, in milliseconds after now."""
    start = now_ms()
    ahead = [0]
    monkeypatch.setattr(tweens, "now_ms", lambda: start + ahead[0])

    def advance(milliseconds):
        ahead[0] = milliseconds
        return start + milliseconds

    return advance


def seen(service, subject):
    return service.rows(identity, identity.c.subject == subject)[0]["last_seen_at"]


def test_without_any_admin_nobody_leaves_a_trace(make_service):
    service = make_service(BOOTSTRAP_ADMINS="")
    refused = service.user("ada@example.com").get("/projects", 503)
    assert refused.json["code"] == "NO_ADMINS_CONFIGURED"
    assert service.count(identity) == 0
    assert service.audit() == []


def test_the_assertion_is_judged_before_the_lack_of_admins(make_service):
    service = make_service(BOOTSTRAP_ADMINS="")
    assert service.nobody().get("/projects", 401)
    assert service.nobody().get("/health")


def test_unknown_paths_too_wait_for_an_admin(make_service):
    assert make_service(BOOTSTRAP_ADMINS="").user().get("/nothing", 503)


@pytest.mark.parametrize("holder", ["direct", "group"])
def test_a_usable_global_admin_grant_is_enough(make_service, holder):
    service = make_service(BOOTSTRAP_ADMINS="")
    if holder == "direct":
        service.grant("boss@example.com", "admin")
    else:
        service.grant(service.group("bosses", "boss@example.com"), "admin", group=True)
    assert service.user("ada@example.com").get("/projects").json["items"] == []
    assert service.user("boss@example.com").get("/whoami").json["global_role"] == "admin"


@pytest.mark.parametrize("defect", ["writer", "expired", "disabled", "empty group", "disabled member"])
def test_an_unusable_admin_grant_is_none(make_service, defect):
    service = make_service(BOOTSTRAP_ADMINS="")
    if "group" in defect or "member" in defect:
        members = ["boss@example.com"] if defect == "disabled member" else []
        service.grant(service.group("bosses", *members), "admin", group=True)
    else:
        role = "writer" if defect == "writer" else "admin"
        service.grant("boss@example.com", role, expires_at=1 if defect == "expired" else None)
    if "disabled" in defect:
        service.disable("boss@example.com")
    assert service.user("ada@example.com").get("/projects", 503)


@pytest.mark.both_engines
def test_a_project_admin_is_no_administrator_of_the_service(make_service):
    service = make_service()
    service.user().post("/projects", {"slug": "shop", "name": "Shop"}, 201)
    service.grant("ada@example.com", "admin", "shop")
    service.execute(grant.delete().where(grant.c.scope_type == "global"))
    bare = service.restarted(BOOTSTRAP_ADMINS="")
    assert bare.user("ada@example.com").get("/projects", 503)
    bare.close()


def test_a_caller_who_is_denied_is_known_afterwards(service):
    service.user().get("/whoami")
    service.robot("deploy.access").post("/projects", {"slug": "a", "name": "A"}, 403)
    service.user("eve@example.com").get("/projects/absent", 404)
    rows = {row["subject"]: row for row in service.rows(identity)}
    assert rows["deploy.access"]["kind"] == "service"
    assert rows["eve@example.com"]["kind"] == "user"
    created = service.audit("identity.create")
    assert [row["actor_subject"] for row in created] == [ADMIN, "deploy.access", "eve@example.com"]
    assert all(row["outcome"] == "success" for row in created)


def test_a_denied_caller_is_touched_too(service, clock):
    eve = service.user("eve@example.com")
    eve.post("/projects", {"slug": "a", "name": "A"}, 403)
    later = clock(5_000)
    eve.post("/projects", {"slug": "a", "name": "A"}, 403)
    assert seen(service, "eve@example.com") == later


def test_last_seen_is_written_once_in_its_resolution(make_service, clock):
    service = make_service(LAST_SEEN_RESOLUTION="2000")
    ada = service.user("ada@example.com")
    first = clock(0)
    ada.get("/whoami")
    clock(1_999)
    ada.get("/whoami")
    assert seen(service, "ada@example.com") == first
    later = clock(2_000)
    assert ada.get("/whoami").json["identity"]["last_seen_at"] == later
    assert seen(service, "ada@example.com") == later


def test_last_seen_never_moves_backwards(service, clock):
    ada = service.user("ada@example.com")
    later = clock(10_000)
    ada.get("/whoami")
    clock(0)
    ada.get("/whoami")
    assert seen(service, "ada@example.com") == later


def test_a_disabled_identity_may_do_nothing_even_if_it_is_listed(service):
    service.identity_id(ADMIN)
    service.disable(ADMIN)
    admin = service.user()
    answered = admin.get("/whoami").json
    assert (answered["global_role"], answered["identity"]["disabled"]) == (None, True)
    assert admin.get("/projects").json["items"] == []
    admin.post("/projects", {"slug": "a", "name": "A"}, 403)
    assert service.count(grant) == 0
    assert service.audit("grant.bootstrap") == []


@pytest.mark.both_engines
def test_an_identity_that_is_disabled_later_loses_everything_at_once(admin, service):
    service.grant("ada@example.com", "admin", "shop")
    service.grant(service.group("team", "ada@example.com"), "reader", group=True)
    ada = service.user("ada@example.com")
    ada.get("/projects/shop")
    service.disable("ada@example.com")
    ada.get("/projects/shop", 404)
    ada.get("/projects/shop/environments/prod", 404)
    assert ada.get("/projects").json["items"] == []


def test_a_listed_address_gets_its_grant_from_the_system_once(service):
    admin = service.user(ADMIN.upper())
    for _ in range(3):
        assert admin.get("/whoami").json["global_role"] == "admin"
    [row] = service.rows(grant)
    assert (row["scope_type"], row["role"], row["created_by"]) == ("global", "admin", None)
    assert row["expires_at"] is None
    [record] = service.audit("grant.bootstrap")
    assert (record["actor_subject"], record["identity_id"], record["actor_kind"]) == ("system", None, None)
    assert record["outcome"] == "success"
    assert str(row["id"]) in record["detail"]


@pytest.mark.both_engines
def test_twenty_first_requests_at_once_make_one_identity_and_one_grant(service):
    token = service.issuer.sign(ADMIN)
    statuses = at_once(20, lambda _: Client(service.app, token).request("GET", "/whoami").status_int)
    assert statuses == [200] * 20
    assert service.count(identity) == 1
    assert service.count(grant) == 1
    assert len(service.audit("identity.create")) == 1
    assert len(service.audit("grant.bootstrap")) == 1
    assert len(service.audit()) == 2


@pytest.mark.both_engines
def test_twenty_requests_at_once_of_someone_known_who_was_just_listed_make_one_grant(service):
    service.identity_id(ADMIN)
    token = service.issuer.sign(ADMIN)
    statuses = at_once(20, lambda _: Client(service.app, token).request("GET", "/whoami").status_int)
    assert statuses == [200] * 20
    assert service.count(grant) == 1
    assert [row["action"] for row in service.audit()] == ["grant.bootstrap"]


def test_a_grant_for_a_listed_address_is_made_again_when_it_was_removed(service):
    admin = service.user()
    admin.get("/whoami")
    service.execute(grant.delete())
    admin.get("/whoami")
    assert service.count(grant) == 1
    assert len(service.audit("grant.bootstrap")) == 2


def test_the_list_of_bootstrap_admins_is_read_at_each_request(make_service, monkeypatch):
    service = make_service()
    service.user().get("/whoami")
    ada = service.user("ada@example.com")
    assert ada.get("/whoami").json["global_role"] is None
    monkeypatch.setenv("BOOTSTRAP_ADMINS", " Ada@Example.com , ada@example.com,")
    assert ada.get("/whoami").json["global_role"] == "admin"
    assert len(service.audit("grant.bootstrap")) == 2
    monkeypatch.setenv("BOOTSTRAP_ADMINS", "")
    # The bootstrap admin has a real grant now, which stays.
    assert ada.get("/whoami").json["global_role"] == "admin"


def test_a_service_token_named_like_a_bootstrap_admin_is_none(service):
    answered = service.robot(ADMIN).get("/whoami").json
    assert (answered["identity"]["kind"], answered["global_role"]) == ("service", None)
    service.robot(ADMIN).post("/projects", {"slug": "a", "name": "A"}, 403)
    assert service.count(grant) == 0
    service.user().get("/whoami")
    assert service.count(identity) == 2


def test_the_request_id_is_on_every_row_that_a_first_request_leaves(service):
    service.user().get("/whoami", headers={"X-Request-Id": "first.request-1"})
    assert [row["request_id"] for row in service.audit()] == ["first.request-1"] * 2


def test_a_refused_assertion_leaves_no_trace(service):
    Client(service.app, "x").get("/projects", 401)
    service.nobody().get("/projects", 401, headers={HEADER: ""})
    assert service.audit() == []
