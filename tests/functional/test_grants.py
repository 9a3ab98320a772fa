"""Grants over the API: their shapes, bodies, duplicates, and who gets to see them."""

from __future__ import annotations

import pytest
from fault_injection import at_once
from resource_fields import GRANT, paths
from service import API, Client
from sqlalchemy.exc import IntegrityError
from stopped_clock import StoppedClock

from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant

ADA = "ada@example.com"
GLOBAL = {"scope_type": "global"}
PROJECT = {"scope_type": "project", "project": "shop"}
ENVIRONMENT = {"scope_type": "environment", "project": "shop", "environment": "prod"}
SCOPES = pytest.mark.parametrize("scope", [GLOBAL, PROJECT, ENVIRONMENT], ids=lambda s: s["scope_type"])
HOLDERS = pytest.mark.parametrize("holder", ["identity", "group"])


def grants_path(service, holder):
    """Where to grant something to a holder, and what the body must say of it."""
    if holder == "group":
        return f"/groups/{service.group('team')}/grants", {}
    return "/grants", {"identity_id": str(service.identity_id(ADA))}


def ids(answer):
    return {item["id"] for item in answer.json["items"]}


@HOLDERS
@SCOPES
def test_a_grant_has_the_fields_of_the_contract(service, admin, scope, holder):
    path, whom = grants_path(service, holder)
    answer = admin.post(path, {**scope, **whom, "role": "writer", "expires_at": 5}, 201)
    made, me = answer.json, admin.get("/whoami").json["identity"]["id"]
    assert made.keys() == GRANT
    assert {name: made[name] for name in ("project", "environment")} == {
        "project": None,
        "environment": None,
    } | {name: slug for name, slug in scope.items() if name != "scope_type"}
    columns = service.scope("/".join([v for k, v in scope.items() if k != "scope_type"] or ["global"]))
    for name in ("project_id", "environment_id"):
        assert made[name] == (str(columns[name]) if columns[name] else None)
    assert (made["role"], made["expires_at"], made["created_by"]) == ("writer", 5, me)
    assert (made["identity_id"], made["group_id"]) == (
        (whom["identity_id"], None) if holder == "identity" else (None, path.split("/")[2])
    )
    assert answer.headers["Location"] == f"{API}{path}/{made['id']}"
    assert made in admin.get("/grants").json["items"]
    assert (made in admin.get(path).json["items"]) is True


def test_the_bootstrap_grant_is_the_systems(service, admin):
    [mine] = admin.get("/grants").json["items"]
    assert (mine["created_by"], mine["scope_type"], mine["role"]) == ("system", "global", "admin")


@HOLDERS
def test_a_grant_without_expiry_never_expires(service, admin, holder):
    path, whom = grants_path(service, holder)
    assert admin.post(path, {**GLOBAL, **whom, "role": "reader"}, 201).json["expires_at"] is None
    body = {**PROJECT, **whom, "role": "reader", "expires_at": None}
    assert admin.post(path, body, 201).json["expires_at"] is None


FAULTS = [
    ({}, {"scope_type"}),
    ({"scope_type": "planet", "role": "reader"}, {"scope_type"}),
    ({"scope_type": None, "role": "reader"}, {"scope_type"}),
    ({"scope_type": ["global"], "role": "reader"}, {"scope_type"}),
    ({**GLOBAL}, {"role"}),
    ({**GLOBAL, "role": "owner"}, {"role"}),
    ({**GLOBAL, "role": None}, {"role"}),
    ({**GLOBAL, "role": "Admin"}, {"role"}),
    ({**GLOBAL, "role": "reader", "project": "shop"}, {"project"}),
    ({**GLOBAL, "role": "reader", "project": None}, {"project"}),
    ({**GLOBAL, "role": "reader", "environment": "prod"}, {"environment"}),
    ({**PROJECT, "role": "reader", "environment": "prod"}, {"environment"}),
    ({**PROJECT, "role": "reader", "environment": None}, {"environment"}),
    ({"scope_type": "project", "role": "reader"}, {"project"}),
    ({"scope_type": "environment", "project": "shop", "role": "reader"}, {"environment"}),
    ({"scope_type": "environment", "environment": "prod", "role": "reader"}, {"project"}),
    ({**PROJECT, "project": "No Slug", "role": "reader"}, {"project"}),
    ({**GLOBAL, "role": "reader", "expires_at": -1}, {"expires_at"}),
    ({**GLOBAL, "role": "reader", "expires_at": 2**53}, {"expires_at"}),
    ({**GLOBAL, "role": "reader", "expires_at": 1.5}, {"expires_at"}),
    ({**GLOBAL, "role": "reader", "expires_at": True}, {"expires_at"}),
    ({**GLOBAL, "role": "reader", "expires_at": "1"}, {"expires_at"}),
    ({**GLOBAL, "role": "reader", "note": "x"}, {"note"}),
    ({**GLOBAL, "role": "reader", "group_id": "x"}, {"group_id"}),
    ({**GLOBAL, "role": "reader", "created_by": "system"}, {"created_by"}),
]


def test_a_body_must_fit_its_scope_type(service, admin):
    for holder in ("identity", "group"):
        path, whom = grants_path(service, holder)
        for body, where in FAULTS:
            assert paths(admin.post(path, {**body, **whom}, 422)) == where, (holder, body)
    assert service.count(grant) == 1


def test_the_holder_is_named_where_it_must_be_and_only_there(service, admin):
    path, _ = grants_path(service, "group")
    whom = {"identity_id": str(service.identity_id(ADA))}
    assert paths(admin.post(path, {**GLOBAL, **whom, "role": "reader"}, 422)) == {"identity_id"}
    for holder in ({}, {"identity_id": None}, {"identity_id": "ada"}, {"identity_id": 7}):
        assert paths(admin.post("/grants", {**GLOBAL, "role": "reader", **holder}, 422)) == {"identity_id"}


@HOLDERS
@SCOPES
def test_the_same_holder_scope_and_role_is_a_duplicate_whatever_the_expiry(service, admin, scope, holder):
    path, whom = grants_path(service, holder)
    first = admin.post(path, {**scope, **whom, "role": "reader", "expires_at": 1}, 201)
    for expires_at in (None, 1, 2**53 - 1):
        body = {**scope, **whom, "role": "reader", "expires_at": expires_at}
        assert admin.post(path, body, 409).json["code"] == "CONFLICT"
    admin.post(path, {**scope, **whom, "role": "writer"}, 201)
    admin.delete(f"/grants/{first.json['id']}")
    admin.post(path, {**scope, **whom, "role": "reader"}, 201)


@pytest.mark.both_engines
@HOLDERS
@SCOPES
def test_of_the_same_grants_at_once_one_is_made(service, admin, scope, holder):
    path, whom = grants_path(service, holder)
    body = {**scope, **whom, "role": "admin"}
    before = service.count(grant)
    act = lambda _: Client(service.app, admin.token).request("POST", path, body).status_int  # noqa: E731
    assert sorted(at_once(6, act)) == [201] + [409] * 5
    assert service.count(grant) == before + 1
    assert len(service.audit("grant.create") + service.audit("group.grant.create")) == 1


@pytest.mark.both_engines
@pytest.mark.parametrize("group", [False, True], ids=["identity", "group"])
@pytest.mark.parametrize("path", ["global", "shop", "shop/prod"])
def test_the_database_itself_refuses_a_duplicate(service, admin, path, group):
    holder = service.group("team") if group else ADA
    service.grant(holder, "reader", path, group=group)
    service.grant(holder, "writer", path, group=group)
    with pytest.raises(IntegrityError):
        service.grant(holder, "reader", path, group=group, expires_at=1)


def test_a_grant_ends_at_the_millisecond_of_its_expiry(service, admin, monkeypatch):
    clock = StoppedClock(monkeypatch)
    whom = {"identity_id": str(service.identity_id(ADA))}
    admin.post("/grants", {**PROJECT, **whom, "role": "reader", "expires_at": clock.now}, 201)
    ada = service.user(ADA)
    ada.get("/projects/shop", 404)
    clock.now -= 1
    ada.get("/projects/shop")


def test_a_past_expiry_may_be_granted_and_confers_nothing(service, admin):
    whom = {"identity_id": str(service.identity_id(ADA))}
    made = admin.post("/grants", {**GLOBAL, **whom, "role": "admin", "expires_at": 0}, 201).json
    assert made["expires_at"] == 0
    assert service.user(ADA).get("/whoami").json["global_role"] is None
    assert made in admin.get("/grants").json["items"]


@HOLDERS
def test_what_does_not_exist_cannot_be_granted_anything(service, admin, holder):
    path, whom = grants_path(service, holder)
    absent = str(new_id())
    if holder == "identity":
        nobody = admin.post("/grants", {**GLOBAL, "identity_id": absent, "role": "reader"}, 404)
        assert nobody.json["message"] == "Identity not found."
        group = {"identity_id": str(service.group("other"))}
        admin.post("/grants", {**GLOBAL, **group, "role": "reader"}, 404)
    else:
        admin.post(f"/groups/{absent}/grants", {**GLOBAL, "role": "reader"}, 404)
    for scope in (
        {**PROJECT, "project": "absent"},
        {**ENVIRONMENT, "project": "absent"},
        {**ENVIRONMENT, "environment": "absent"},
    ):
        assert admin.post(path, {**scope, **whom, "role": "reader"}, 404).json["code"] == "NOT_FOUND"
    assert service.denials() == []


@pytest.fixture
def spread(service, admin):
    """One grant of an identity and one of a group at each of five scopes, by scope."""
    admin.post("/projects", {"slug": "depot", "name": "Depot"}, 201)
    admin.post("/projects/depot/environments", {"slug": "prod", "name": "Prod"}, 201)
    team = service.group("team")
    return {
        scope: {
            str(service.grant("held@example.com", "reader", scope, expires_at=1)),
            str(service.grant(team, "writer", scope, group=True)),
        }
        for scope in ("global", "shop", "shop/prod", "shop/dev", "depot/prod")
    }


NARROWED = {
    "shop": {"shop", "shop/prod", "shop/dev"},
    "shop/prod": {"shop/prod"},
    "depot": {"depot/prod"},
    "global": {"global", "shop", "shop/prod", "shop/dev", "depot/prod"},
}


@pytest.mark.parametrize("mine", NARROWED)
def test_grants_are_listed_at_the_scopes_that_the_caller_administers(service, spread, mine):
    own = {str(service.grant(ADA, "admin", mine))}
    own |= {str(service.grant(ADA, "writer", "shop"))} if mine in ("shop", "global") else set()
    ada = service.user(ADA)
    seen = set().union(*(spread[scope] for scope in NARROWED[mine]))
    bootstrap = ids(service.user().get("/grants")) if mine == "global" else seen | own
    assert ids(ada.get("/grants")) == bootstrap
    [team] = ada.get("/groups").json["items"]
    shared = ada.get(f"/groups/{team['id']}/grants").json
    assert shared.keys() == {"items"}
    assert {item["id"] for item in shared["items"]} <= seen
    assert len(shared["items"]) == len(NARROWED[mine])
    assert all(item["group_id"] == team["id"] for item in shared["items"])


@pytest.mark.both_engines
def test_a_role_below_admin_shows_no_grants_elsewhere(service, spread):
    service.grant(ADA, "admin", "shop/prod")
    service.grant(ADA, "writer", "global")
    assert len(ids(service.user(ADA).get("/grants"))) == 3


@pytest.mark.parametrize("path_of", ["/grants/{grant}", "/groups/{group}/grants/{grant}"])
@SCOPES
def test_a_groups_grant_is_removed_by_either_path(service, admin, scope, path_of):
    team = service.group("team", ADA)
    made = admin.post(f"/groups/{team}/grants", {**scope, "role": "writer"}, 201).json
    path = path_of.format(group=team, grant=made["id"])
    assert admin.delete(path).body == b""
    assert made not in admin.get("/grants").json["items"]
    [record] = service.audit("group.grant.delete")
    assert str(record["project_id"] or "") == (made["project_id"] or "")
    assert str(record["environment_id"] or "") == (made["environment_id"] or "")
    assert made["id"] in record["detail"]
    assert service.audit("grant.delete") == []
    assert admin.delete(path, 404).json["message"] == "Grant not found."


def test_granting_and_revoking_are_recorded_with_what_was_granted(service, admin):
    ada = str(service.identity_id(ADA))
    made = admin.post(
        "/grants", {**ENVIRONMENT, "identity_id": ada, "role": "writer", "expires_at": 7}, 201
    ).json
    admin.delete(f"/grants/{made['id']}")
    said = {
        "grant_id": made["id"],
        "identity_id": ada,
        "group_id": None,
        "scope_type": "environment",
        "role": "writer",
        "expires_at": 7,
    }
    rows = admin.get("/audit?environment=prod").json["items"]
    for action in ("grant.create", "grant.delete"):
        [row] = [row for row in rows if row["action"] == action]
        assert row["detail"] == said
        assert (row["project_id"], row["environment_id"]) == (made["project_id"], made["environment_id"])
        assert row["outcome"] == "success"


def test_a_grant_of_another_holder_is_not_found_under_a_group(service, admin):
    team, other = service.group("team"), service.group("other")
    theirs = service.grant(other, "reader", "shop", group=True)
    person = service.grant(ADA, "reader", "shop")
    for grant_id in (theirs, person, new_id()):
        answer = admin.delete(f"/groups/{team}/grants/{grant_id}", 404)
        assert answer.json["message"] == "Grant not found."
    admin.delete(f"/groups/{new_id()}/grants/{theirs}", 404)
    assert service.count(grant) == 3
    assert service.denials() == []


def test_a_caller_confers_no_more_than_it_holds(service, admin):
    service.grant(ADA, "admin", "shop/prod")
    ada, team = service.user(ADA), service.group("team")
    whom = {"identity_id": str(service.identity_id("eve@example.com"))}
    for path, holder in (("/grants", whom), (f"/groups/{team}/grants", {})):
        ada.post(path, {**ENVIRONMENT, **holder, "role": "admin"}, 201)
        ada.post(path, {**ENVIRONMENT, "environment": "dev", **holder, "role": "reader"}, 404)
        ada.post(path, {**PROJECT, **holder, "role": "reader"}, 403)
        ada.post(path, {**GLOBAL, **holder, "role": "reader"}, 403)


@pytest.mark.parametrize("bad", ["x", "1", "0" * 36, "01A1FD1D-6EF0-711F-BBAA-B13C81CCF7E1"])
def test_an_id_outside_its_grammar_is_a_422(service, admin, bad):
    assert paths(admin.delete(f"/grants/{bad}", 422)) == {"id"}
    team = service.group("team")
    assert paths(admin.delete(f"/groups/{team}/grants/{bad}", 422)) == {"grantId"}
    assert paths(admin.delete(f"/groups/{bad}/grants/{bad}", 422)) == {"id", "grantId"}


def test_deleting_a_scope_takes_its_grants_along(service, admin):
    service.grant(ADA, "reader", "shop/prod")
    kept = str(service.grant(ADA, "reader", "shop/dev"))
    admin.delete("/projects/shop/environments/prod")
    assert ids(admin.get("/grants")) >= {kept}
    assert service.count(grant) == 2
    admin.delete("/projects/shop")
    assert service.count(grant) == 1
