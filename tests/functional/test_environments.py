"""Environments, over the API (specification, "Environments"; contract 2)."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from fault_injection import at_once, refuse_inserts
from service import Client

from secretsvc.secrets.models import secret, secret_version
from secretsvc.tables.grants import grant
from secretsvc.tables.projects import environment

FIELDS = {"id", "project_id", "slug", "name", "description", "rev", "created_at", "updated_at", "protected"}
LIST = "/projects/shop/environments"


def slugs(answer):
    return [item["slug"] for item in answer.json["items"]]


def test_a_created_environment_is_found_where_its_location_says(admin, env_path):
    created = admin.post(LIST, {"slug": "test", "name": " Test ", "description": " d "}, 201)
    assert created.headers["Location"] == "/api/v1/projects/shop/environments/test"
    assert admin.get(env_path.format(p="shop", e="test")).json == created.json
    assert (created.json["name"], created.json["description"]) == ("Test", "d")


def test_an_environment_has_exactly_the_fields_of_the_contract(admin):
    created = admin.post(LIST, {"slug": "test", "name": "Test"}, 201).json
    assert created.keys() == FIELDS
    assert UUID(created["id"]).version == 7
    assert created["project_id"] == admin.get("/projects/shop").json["id"]
    assert (created["rev"], created["description"], created["protected"]) == (0, None, False)


def test_the_list_holds_them_oldest_first(admin):
    listed = admin.get(LIST).json
    assert listed.keys() == {"items"}
    assert [item["slug"] for item in listed["items"]] == ["prod", "dev"]
    assert all(item.keys() == FIELDS for item in listed["items"])


def test_creation_is_audited_with_both_ids(admin, service):
    created = admin.post(LIST, {"slug": "test", "name": "Test"}, 201).json
    row = service.audit("environment.create")[-1]
    assert (str(row["project_id"]), str(row["environment_id"])) == (created["project_id"], created["id"])
    assert json.loads(row["detail"]) == {"slug": "test"}


@pytest.mark.both_engines
def test_a_slug_is_unique_within_its_project_alone(admin):
    admin.post("/projects", {"slug": "other", "name": "Other"}, 201)
    admin.post("/projects/other/environments", {"slug": "prod", "name": "Prod"}, 201)
    assert admin.post(LIST, {"slug": "prod", "name": "Again"}, 409).json["code"] == "CONFLICT"


@pytest.mark.both_engines
def test_of_twenty_creations_at_once_one_succeeds(admin, service):
    def create(number):
        client = Client(service.app, admin.token)
        return client.request("POST", LIST, {"slug": "test", "name": str(number)}).status_int

    assert sorted(at_once(20, create)) == [201] + [409] * 19
    assert service.count(environment) == 3
    assert len(service.audit("environment.create")) == 3


@pytest.mark.both_engines
def test_environments_that_are_made_while_their_project_goes_leave_no_orphan(admin, service):
    def act(number):
        client = Client(service.app, admin.token)
        if number == 5:
            return client.request("DELETE", "/projects/shop").status_int
        return client.request("POST", LIST, {"slug": f"e{number}", "name": "E"}).status_int

    statuses = at_once(10, act)
    assert statuses[5] == 204
    assert set(statuses) <= {201, 204, 404}
    assert service.count(environment) == 0


def test_no_operation_moves_an_environment(admin, base):
    for method in ("PUT", "POST"):
        refused = admin.request(method, base, {"project_id": "x"})
        assert (refused.status_int, refused.json["code"]) == (404, "NOT_FOUND")
    for field in ("project_id", "slug", "rev"):
        issues = admin.patch(base, {field: "x"}, 422).json["issues"]
        assert [issue["path"] for issue in issues] == [field]


@pytest.mark.parametrize("field", ["project_id", "id", "rev", "created_at", "project"])
def test_creation_takes_no_field_of_the_server(admin, field):
    refused = admin.post(LIST, {"slug": "test", "name": "Test", field: "x"}, 422).json
    assert [issue["path"] for issue in refused["issues"]] == [field]


@pytest.mark.both_engines
def test_a_deletion_takes_along_secrets_history_and_grants(admin, service, base):
    for path in ("prod", "dev"):
        for value in ("one", "two"):
            admin.post(f"{LIST}/{path}/secrets:batch", {"mode": "merge", "set": {"KEY": value}})
    team = service.group("team")
    for path in ("shop", "shop/prod", "shop/dev"):
        service.grant("ada@example.com", "reader", path)
        service.grant(team, "reader", path, group=True)
    gone = admin.delete(base)
    assert gone.body == b""
    assert [row["slug"] for row in service.rows(environment)] == ["dev"]
    assert (service.count(secret), service.count(secret_version)) == (1, 2)
    # The bootstrap grant, and two each on the project and on the other environment.
    assert service.count(grant) == 5
    [row] = service.audit("environment.delete")
    assert json.loads(row["detail"]) == {"slug": "prod"}
    assert row["project_id"] is not None
    assert admin.get(base, 404).json["message"] == "Environment not found."


@pytest.mark.both_engines
def test_a_deletion_that_cannot_be_audited_deletes_nothing(admin, service, base):
    admin.post(f"{base}/secrets:batch", {"mode": "merge", "set": {"KEY": "one"}})
    refuse_inserts(service, "audit_record")
    admin.delete(base, 500)
    assert (service.count(environment), service.count(secret_version)) == (2, 1)


def test_a_slug_that_is_used_again_names_something_new(admin, service, base):
    service.grant("ada@example.com", "admin", "shop/prod")
    admin.post(f"{base}/secrets:batch", {"mode": "merge", "set": {"KEY": "one"}})
    admin.delete(base)
    admin.post(LIST, {"slug": "prod", "name": "Prod"}, 201)
    assert admin.get(f"{base}/secrets").json == {"items": [], "rev": 0}
    service.user("ada@example.com").get(base, 404)


VISIBLE = [("global", ["prod", "dev"]), ("shop", ["prod", "dev"]), ("shop/dev", ["dev"])]


@pytest.mark.parametrize(("scope", "visible"), VISIBLE)
@pytest.mark.parametrize("through", ["direct", "group"])
def test_a_grant_shows_the_environments_that_it_covers(admin, service, env_path, scope, visible, through):
    if through == "direct":
        service.grant("ada@example.com", "reader", scope)
    else:
        service.grant(service.group("team", "ada@example.com"), "reader", scope, group=True)
    ada = service.user("ada@example.com")
    assert slugs(ada.get(LIST)) == visible
    for slug in ("prod", "dev"):
        answered = ada.request("GET", env_path.format(p="shop", e=slug))
        assert answered.status_int == (200 if slug in visible else 404)


def test_a_grant_does_not_reach_a_namesake_in_another_project(admin, service, env_path):
    admin.post("/projects", {"slug": "other", "name": "Other"}, 201)
    admin.post("/projects/other/environments", {"slug": "prod", "name": "Prod"}, 201)
    service.grant("ada@example.com", "admin", "shop/prod")
    ada = service.user("ada@example.com")
    ada.get(env_path.format(p="shop", e="prod"))
    ada.get(env_path.format(p="other", e="prod"), 404)
    ada.delete(env_path.format(p="other", e="prod"), 404)


ROLES = [
    ("reader", "shop/prod", [200, 403, 403]),
    ("writer", "shop/prod", [200, 403, 403]),
    # An environment admin is not a project admin.
    ("admin", "shop/prod", [200, 403, 204]),
    ("reader", "shop", [200, 403, 403]),
    ("writer", "shop", [200, 201, 403]),
    ("admin", "shop", [200, 201, 204]),
    ("reader", "global", [200, 403, 403]),
    ("writer", "global", [200, 201, 403]),
    ("admin", "global", [200, 201, 204]),
]


@pytest.mark.parametrize(("role", "scope", "statuses"), ROLES)
def test_each_operation_needs_its_role_at_its_scope(admin, service, base, role, scope, statuses):
    service.grant("ada@example.com", role, scope)
    ada = service.user("ada@example.com")
    requests = [
        ("GET", base, None),
        ("POST", LIST, {"slug": "test", "name": "Test"}),
        ("DELETE", base, None),
    ]
    assert [ada.request(*request).status_int for request in requests] == statuses


def test_roles_of_several_grants_are_the_greatest(admin, service, base):
    service.grant("ada@example.com", "reader")
    service.grant("ada@example.com", "admin", "shop/dev")
    service.grant(service.group("team", "ada@example.com"), "writer", "shop", group=True)
    service.grant("ada@example.com", "admin", "shop/prod", expires_at=1)
    ada = service.user("ada@example.com")
    ada.patch("/projects/shop", {"name": "New"})
    ada.delete(base, 403)
    ada.delete(f"{LIST}/dev", 204)
