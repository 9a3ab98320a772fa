"""Projects, over the API (specification, "Projects"; contract 2)."""

from __future__ import annotations

import json
from uuid import UUID

import pytest
from fault_injection import at_once, refuse_inserts
from service import Client

from secretsvc.secrets.models import secret, secret_version
from secretsvc.tables.grants import grant
from secretsvc.tables.projects import environment, project

FIELDS = {"id", "slug", "name", "description", "created_at", "updated_at"}


def slugs(answer):
    return [item["slug"] for item in answer.json["items"]]


def test_a_created_project_is_found_where_its_location_says(service):
    admin = service.user()
    created = admin.post("/projects", {"slug": "shop", "name": " Shop "}, 201)
    assert created.headers["Location"] == "/api/v1/projects/shop"
    assert admin.get("/projects/shop").json == created.json
    assert created.json["name"] == "Shop"


def test_a_project_has_exactly_the_fields_of_the_contract(service):
    created = service.user().post("/projects", {"slug": "shop", "name": "Shop"}, 201).json
    assert created.keys() == FIELDS
    assert UUID(created["id"]).version == 7
    assert created["description"] is None
    assert created["created_at"] == created["updated_at"] > 1_600_000_000_000


@pytest.mark.parametrize(
    ("sent", "kept"), [(" a b ", "a b"), ("", ""), (None, None), ("x" * 1024, "x" * 1024), ("é\n", "é")]
)
def test_a_description_keeps_what_was_sent_less_surrounding_space(service, sent, kept):
    body = {"slug": "shop", "name": "Shop", "description": sent}
    assert service.user().post("/projects", body, 201).json["description"] == kept


def test_creation_is_audited_by_names(service):
    created = service.user().post("/projects", {"slug": "shop", "name": "Shop"}, 201).json
    [row] = service.audit("project.create")
    assert (str(row["project_id"]), row["environment_id"]) == (created["id"], None)
    assert json.loads(row["detail"]) == {"slug": "shop"}
    assert (row["outcome"], row["actor_subject"]) == ("success", "root@example.com")


def test_a_taken_slug_is_a_conflict_that_changes_nothing(admin, service):
    refused = admin.post("/projects", {"slug": "shop", "name": "Other"}, 409)
    assert refused.json["code"] == "CONFLICT"
    assert admin.get("/projects/shop").json["name"] == "Shop"
    assert len(service.audit("project.create")) == 1


@pytest.mark.both_engines
def test_of_twenty_creations_at_once_one_succeeds(service):
    token = service.user().token
    service.user().get("/whoami")

    def create(number):
        client = Client(service.app, token)
        return client.request("POST", "/projects", {"slug": "shop", "name": str(number)}).status_int

    assert sorted(at_once(20, create)) == [201] + [409] * 19
    assert service.count(project) == 1
    assert len(service.audit("project.create")) == 1


@pytest.mark.both_engines
def test_a_creation_that_cannot_be_audited_fails(service):
    admin = service.user()
    admin.get("/whoami")
    refuse_inserts(service, "audit_record")
    assert admin.post("/projects", {"slug": "shop", "name": "Shop"}, 500).json["code"] == "INTERNAL"
    assert service.count(project) == 0


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"name": " New "}, {"name": "New"}),
        ({"description": "D"}, {"description": "D"}),
        ({"name": "N", "description": "D"}, {"name": "N", "description": "D"}),
    ],
)
def test_an_update_changes_what_it_names(admin, service, changes, expected):
    before = admin.get("/projects/shop").json
    changed = admin.patch("/projects/shop", changes).json
    assert changed == {**before, **expected, "updated_at": changed["updated_at"]}
    assert changed["updated_at"] >= before["updated_at"]
    assert admin.get("/projects/shop").json == changed
    [row] = service.audit("project.update")
    assert json.loads(row["detail"]) == {"fields": sorted(changes)}


def test_a_null_clears_a_description(admin):
    admin.patch("/projects/shop", {"description": "D"})
    assert admin.patch("/projects/shop", {"description": None}).json["description"] is None


def test_an_empty_update_changes_and_records_nothing(admin, service):
    before = admin.get("/projects/shop").json
    assert admin.patch("/projects/shop", {}).json == before
    assert service.audit("project.update") == []


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"slug": "x"}, "slug"),
        ({"id": "x"}, "id"),
        ({"created_at": 1}, "created_at"),
        ({"name": None}, "name"),
        ({"name": " "}, "name"),
        ({"name": "x" * 257}, "name"),
        ({"description": "x" * 1025}, "description"),
        ({"description": 1}, "description"),
    ],
)
def test_an_update_refuses_what_it_does_not_know(admin, body, path):
    before = admin.get("/projects/shop").json
    refused = admin.patch("/projects/shop", {"name": "New", **body}, 422).json
    assert [issue["path"] for issue in refused["issues"]] == [path]
    assert admin.get("/projects/shop").json == before


def fill(service, admin):
    """Secrets with a history, and grants at every scope, held by people and by a group."""
    for value in ("one", "two"):
        for name in ("prod", "dev"):
            body = {"mode": "merge", "set": {"KEY": value, f"KEY_{value}": value}}
            admin.post(f"/projects/shop/environments/{name}/secrets:batch", body)
    team = service.group("team", "bob@example.com")
    for path in ("global", "shop", "shop/prod", "shop/dev"):
        service.grant("ada@example.com", "reader", path)
        service.grant(team, "reader", path, group=True)


def test_a_deletion_takes_along_all_that_hangs_below(admin, service):
    admin.post("/projects", {"slug": "other", "name": "Other"}, 201)
    admin.post("/projects/other/environments", {"slug": "prod", "name": "Prod"}, 201)
    fill(service, admin)
    service.grant("ada@example.com", "reader", "other/prod")
    before = len(service.audit())
    gone = admin.delete("/projects/shop")
    assert (gone.body, gone.headers.get("Content-Type")) == (b"", None)
    assert [row["slug"] for row in service.rows(project)] == ["other"]
    assert service.count(environment) == 1
    assert service.count(secret) == 0
    assert service.count(secret_version) == 0
    # The bootstrap grant, two global ones, and that on the other project.
    assert service.count(grant) == 4
    assert len(service.audit()) == before + 1
    [row] = service.audit("project.delete")
    assert json.loads(row["detail"]) == {"slug": "shop"}
    admin.get("/projects/shop", 404)


@pytest.mark.both_engines
def test_a_deletion_that_cannot_be_audited_deletes_nothing(admin, service):
    fill(service, admin)
    tables = (project, environment, secret, secret_version, grant)
    before = [service.count(table) for table in tables]
    refuse_inserts(service, "audit_record")
    admin.delete("/projects/shop", 500)
    assert [service.count(table) for table in tables] == before


def test_a_slug_that_is_used_again_names_something_new(admin, service):
    service.grant("ada@example.com", "admin", "shop")
    service.grant("bob@example.com", "admin", "shop/prod")
    ada, bob = service.user("ada@example.com"), service.user("bob@example.com")
    old = ada.get("/projects/shop").json
    admin.delete("/projects/shop")
    new = admin.post("/projects", {"slug": "shop", "name": "Shop"}, 201).json
    admin.post("/projects/shop/environments", {"slug": "prod", "name": "Prod"}, 201)
    assert new["id"] != old["id"]
    for client in (ada, bob):
        client.get("/projects/shop", 404)
        client.get("/projects/shop/environments/prod", 404)
        assert slugs(client.get("/projects")) == []


VISIBLE = [
    ("global", ["shop", "other", "third"]),
    ("shop", ["shop"]),
    ("shop/prod", ["shop"]),
    (None, []),
]


@pytest.mark.both_engines
@pytest.mark.parametrize(("scope", "visible"), VISIBLE)
@pytest.mark.parametrize("through", ["direct", "group"])
def test_projects_are_listed_to_whoever_holds_a_grant_on_above_or_below_them(
    admin, service, scope, visible, through
):
    for slug in ("other", "third"):
        admin.post("/projects", {"slug": slug, "name": slug}, 201)
    if scope and through == "direct":
        service.grant("ada@example.com", "reader", scope)
    elif scope:
        service.grant(service.group("team", "ada@example.com"), "reader", scope, group=True)
    ada = service.user("ada@example.com")
    assert slugs(ada.get("/projects")) == visible
    for slug in ("shop", "other", "third"):
        assert ada.request("GET", f"/projects/{slug}").status_int == (200 if slug in visible else 404)
    assert all(item.keys() == FIELDS for item in ada.get("/projects").json["items"])


def test_an_expired_grant_shows_nothing(admin, service):
    service.grant("ada@example.com", "admin", "shop", expires_at=1)
    ada = service.user("ada@example.com")
    assert slugs(ada.get("/projects")) == []
    ada.get("/projects/shop", 404)


def test_a_list_without_a_limit_holds_everything(admin):
    for number in range(5):
        admin.post("/projects", {"slug": f"p{number}", "name": "P"}, 201)
    listed = admin.get("/projects").json
    assert listed.keys() == {"items", "next_cursor"}
    assert (len(listed["items"]), listed["next_cursor"]) == (6, None)


@pytest.mark.both_engines
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 6, 1000])
def test_pages_hold_each_project_once_and_end(admin, limit):
    for number in range(5):
        admin.post("/projects", {"slug": f"p{number}", "name": "P"}, 201)
    whole, found, cursor = slugs(admin.get("/projects")), [], ""
    while cursor is not None:
        assert len(found) < 6, "the pages do not end"
        page = admin.get(f"/projects?limit={limit}" + (f"&cursor={cursor}" if cursor else ""))
        assert 1 <= len(page.json["items"]) <= limit
        found += slugs(page)
        cursor = page.json["next_cursor"]
    assert found == whole


def test_pages_are_narrowed_like_the_list(admin, service):
    for number in range(4):
        admin.post("/projects", {"slug": f"p{number}", "name": "P"}, 201)
    for slug in ("p0", "p2", "p3"):
        service.grant("ada@example.com", "reader", slug)
    ada = service.user("ada@example.com")
    first = ada.get("/projects?limit=2")
    assert slugs(first) == ["p0", "p2"]
    last = ada.get(f"/projects?limit=2&cursor={first.json['next_cursor']}")
    assert (slugs(last), last.json["next_cursor"]) == (["p3"], None)


NEEDED = [("reader", [200, 403, 403, 403]), ("writer", [200, 200, 403, 403]), ("admin", [200, 200, 403, 204])]


@pytest.mark.parametrize(("role", "statuses"), NEEDED)
def test_each_operation_needs_its_role_at_the_project(admin, service, role, statuses):
    service.grant("ada@example.com", role, "shop")
    ada = service.user("ada@example.com")
    requests = [
        ("GET", "/projects/shop", None),
        ("PATCH", "/projects/shop", {"name": "N"}),
        ("POST", "/projects", {"slug": "new", "name": "New"}),
        ("DELETE", "/projects/shop", None),
    ]
    assert [ada.request(*request).status_int for request in requests] == statuses


@pytest.mark.parametrize(("role", "status"), [("reader", 403), ("writer", 201), ("admin", 201)])
def test_creation_needs_a_global_writer(service, role, status):
    service.grant("ada@example.com", role)
    service.user("ada@example.com").post("/projects", {"slug": "new", "name": "New"}, status)
