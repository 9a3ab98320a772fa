"""Effective permissions over the API: the role at each named scope, and where it comes from."""

from __future__ import annotations

import pytest
from resource_fields import EFFECTIVE, ENTRY, IDENTITY, SOURCE, paths
from service import ADMIN
from stopped_clock import StoppedClock

from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant

ADA = "ada@example.com"


def explained(service, client, subject=ADA):
    """The entries of an identity as a caller sees them, by `project/environment`."""
    answer = client.get(f"/identities/{service.identity_id(subject)}/effective-permissions").json
    return {
        "/".join(filter(None, (item["project"], item["environment"]))) or "global": item
        for item in answer["items"]
    }


def roles(items):
    return {scope: item["role"] for scope, item in items.items()}


def decisive(item):
    """The one source that decides."""
    [found] = [source["grant_id"] for source in item["sources"] if source["decisive"]]
    return found


def test_it_has_the_fields_of_the_contract(service, admin):
    team = service.group("team", ADA)
    direct = service.grant(ADA, "reader", "shop", expires_at=2**53 - 1)
    shared = service.grant(team, "writer", "shop/prod", group=True)
    answer = admin.get(f"/identities/{service.identity_id(ADA)}/effective-permissions").json
    assert answer.keys() == EFFECTIVE
    assert answer["identity"].keys() == IDENTITY
    assert answer["identity"]["subject"] == ADA
    assert [item.keys() for item in answer["items"]] == [ENTRY] * 2
    at_project, at_environment = answer["items"]
    inherited = {
        "grant_id": str(direct),
        "group": None,
        "role": "reader",
        "scope_type": "project",
        "project": "shop",
        "environment": None,
        "expires_at": 2**53 - 1,
        "decisive": False,
    }
    own = {
        "grant_id": str(shared),
        "group": {"id": str(team), "slug": "team"},
        "role": "writer",
        "scope_type": "environment",
        "project": "shop",
        "environment": "prod",
        "expires_at": None,
        "decisive": True,
    }
    assert inherited.keys() == SOURCE
    assert at_project == {
        "scope_type": "project",
        "project": "shop",
        "environment": None,
        "role": "reader",
        "sources": [inherited | {"decisive": True}],
    }
    assert {name: at_environment[name] for name in ENTRY - {"sources"}} == {
        "scope_type": "environment",
        "project": "shop",
        "environment": "prod",
        "role": "writer",
    }
    assert sorted(at_environment["sources"], key=str) == sorted([own, inherited], key=str)


def test_whoever_holds_nothing_has_no_entries(service, admin):
    service.group("team", ADA)
    assert explained(service, admin) == {}


def test_an_entry_stands_for_each_scope_that_a_live_grant_names_and_no_other(service, admin, monkeypatch):
    clock = StoppedClock(monkeypatch)
    service.grant(ADA, "writer", "shop/dev", expires_at=clock.now + 1)
    service.grant(ADA, "admin", "shop/prod", expires_at=clock.now)
    service.grant(ADA, "reader")
    found = explained(service, admin)
    assert roles(found) == {"global": "reader", "shop/dev": "writer"}
    assert [len(item["sources"]) for item in found.values()] == [1, 2]
    clock.now += 1
    assert roles(explained(service, admin)) == {"global": "reader"}


def test_the_weaker_sources_are_listed_too(service, admin):
    ids = {
        str(service.grant(ADA, role, scope)) for scope in ("global", "shop") for role in ("reader", "admin")
    }
    found = explained(service, admin)["shop"]
    assert {source["grant_id"] for source in found["sources"]} == ids


def test_of_equal_roles_the_widest_scope_decides(service, admin):
    near, wide = service.grant(ADA, "writer", "shop/prod"), service.grant(ADA, "writer", "shop")
    found = explained(service, admin)
    assert decisive(found["shop/prod"]) == decisive(found["shop"]) == str(wide)
    widest = service.grant(ADA, "writer")
    assert {decisive(item) for item in explained(service, admin).values()} == {str(widest)}
    stronger = service.grant(ADA, "admin", "shop/prod")
    assert decisive(explained(service, admin)["shop/prod"]) == str(stronger)
    assert near != stronger


def test_of_equal_scopes_a_direct_grant_decides_and_then_the_oldest(service, admin):
    old = service.grant(service.group("old", ADA), "writer", "shop", group=True)
    service.grant(service.group("young", ADA), "writer", "shop", group=True)
    assert decisive(explained(service, admin)["shop"]) == str(old)
    own = service.grant(ADA, "writer", "shop")
    assert decisive(explained(service, admin)["shop"]) == str(own)


def test_a_disabled_identity_has_sources_and_no_role(service, admin):
    service.grant(ADA, "admin")
    service.grant(service.group("team", ADA), "writer", "shop", group=True)
    service.disable(ADA)
    found = explained(service, admin)
    assert roles(found) == {"global": None, "shop": None}
    assert [len(item["sources"]) for item in found.values()] == [1, 2]
    assert not any(source["decisive"] for item in found.values() for source in item["sources"])


def test_the_listed_have_their_row_as_the_source(service, admin):
    [row] = service.rows(grant)
    found = explained(service, admin, ADMIN)
    assert roles(found) == {"global": "admin"}
    assert [source["grant_id"] for source in found["global"]["sources"]] == [str(row["id"])]


@pytest.mark.parametrize("disabled", [False, True])
def test_a_listing_without_a_row_is_a_source_of_its_own(make_service, disabled):
    service = make_service(BOOTSTRAP_ADMINS=f"{ADMIN},{ADA}")
    service.identity_id(ADA)
    if disabled:
        service.disable(ADA)
    [item] = explained(service, service.user()).values()
    assert item["role"] == (None if disabled else "admin")
    assert item["sources"] == [
        {
            "grant_id": None,
            "group": None,
            "role": "admin",
            "scope_type": "global",
            "project": None,
            "environment": None,
            "expires_at": None,
            "decisive": not disabled,
        }
    ]


@pytest.mark.both_engines
def test_a_listing_beside_a_groups_grant_decides(make_service):
    service = make_service(BOOTSTRAP_ADMINS=f"{ADMIN},{ADA}")
    service.grant(service.group("team", ADA), "admin", group=True)
    [item] = explained(service, service.user()).values()
    assert (len(item["sources"]), decisive(item)) == (2, None)


def test_a_service_token_of_a_listed_name_is_not_listed(service, admin):
    robot = service.robot(ADMIN).get("/whoami").json["identity"]["id"]
    assert admin.get(f"/identities/{robot}/effective-permissions").json["items"] == []


NARROWED = {
    "global": {"global", "shop", "shop/prod", "shop/dev", "depot"},
    "shop": {"shop", "shop/prod", "shop/dev"},
    "shop/prod": {"shop/prod"},
    "depot": {"depot"},
}


@pytest.mark.parametrize("mine", NARROWED)
def test_entries_are_narrowed_to_what_the_caller_administers_and_sources_are_not(service, admin, mine):
    admin.post("/projects", {"slug": "depot", "name": "Depot"}, 201)
    for scope in NARROWED["global"]:
        service.grant(ADA, "reader", scope)
    service.grant("eve@example.com", "admin", mine)
    service.grant("eve@example.com", "writer")
    found = explained(service, service.user("eve@example.com"))
    assert found.keys() == NARROWED[mine]
    depth = {"global": 1, "shop": 2, "depot": 2, "shop/prod": 3, "shop/dev": 3}
    assert {scope: len(item["sources"]) for scope, item in found.items()} == {
        scope: depth[scope] for scope in found
    }


def test_what_it_says_is_what_is_enforced(service, admin):
    service.grant(ADA, "reader", "shop")
    service.grant(service.group("team", ADA), "writer", "shop/dev", group=True)
    assert roles(explained(service, admin)) == {"shop": "reader", "shop/dev": "writer"}
    ada, body = service.user(ADA), {"mode": "merge", "set": {"A": "1"}}
    ada.post("/projects/shop/environments/dev/secrets:batch", body)
    ada.post("/projects/shop/environments/prod/secrets:batch", body, 403)


def test_nobody_is_not_found(service, admin):
    absent = admin.get(f"/identities/{new_id()}/effective-permissions", 404)
    assert absent.json["message"] == "Identity not found."
    assert paths(admin.get("/identities/ada/effective-permissions", 422)) == {"id"}
    assert paths(admin.get(f"/identities/{new_id()}/effective-permissions?x=1", 422)) == {"x"}
