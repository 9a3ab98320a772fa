"""Groups and their members over the API."""

from __future__ import annotations

import pytest
from fault_injection import at_once
from resource_fields import GROUP, IDENTITY, paths
from service import API, Client
from stopped_clock import StoppedClock

from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant, group, group_member

ADA = "ada@example.com"
TEAM = {"slug": "team", "name": "Team"}


def test_a_group_has_the_fields_of_the_contract(service, admin):
    answer = admin.post("/groups", {"slug": "team", "name": "  The team ", "description": " Us "}, 201)
    made = answer.json
    assert made.keys() == GROUP
    assert (made["slug"], made["name"], made["description"]) == ("team", "The team", "Us")
    assert made["created_at"] == made["updated_at"]
    assert answer.headers["Location"] == f"{API}/groups/{made['id']}"
    assert admin.get(f"/groups/{made['id']}").json == made
    listed = admin.get("/groups").json
    assert listed == {"items": [made], "next_cursor": None}


@pytest.mark.parametrize("description", [{}, {"description": None}])
def test_a_group_needs_no_description(admin, description):
    assert admin.post("/groups", TEAM | description, 201).json["description"] is None


FAULTS = [
    ({"name": "Team"}, {"slug"}),
    ({"slug": "team"}, {"name"}),
    ({**TEAM, "slug": "Team"}, {"slug"}),
    ({**TEAM, "slug": "a" * 65}, {"slug"}),
    ({**TEAM, "slug": "a--b"}, {"slug"}),
    ({**TEAM, "slug": None}, {"slug"}),
    ({**TEAM, "name": ""}, {"name"}),
    ({**TEAM, "name": "   "}, {"name"}),
    ({**TEAM, "name": "n" * 257}, {"name"}),
    ({**TEAM, "name": None}, {"name"}),
    ({**TEAM, "name": "a\x00b"}, {"name"}),
    ({**TEAM, "description": "d" * 1025}, {"description"}),
    ({**TEAM, "description": 5}, {"description"}),
    ({**TEAM, "members": []}, {"members"}),
    ({"slug": "", "name": "", "x": 1}, {"slug", "name", "x"}),
]


def test_a_body_outside_its_schema_makes_no_group(service, admin):
    for body, where in FAULTS:
        found = paths(admin.post("/groups", body, 422))
        assert found == where or (len(where) > 1 and found <= where), body
    assert service.count(group) == 0


def test_limits_are_inclusive(admin):
    body = {"slug": "a" * 64, "name": "n" * 256, "description": "d" * 1024}
    made = admin.post("/groups", body, 201).json
    assert {name: made[name] for name in body} == body


@pytest.mark.both_engines
def test_a_slug_is_taken_once_also_at_once(service, admin):
    act = lambda _: Client(service.app, admin.token).request("POST", "/groups", TEAM).status_int  # noqa: E731
    assert sorted(at_once(6, act)) == [201] + [409] * 5
    assert admin.post("/groups", TEAM, 409).json["code"] == "CONFLICT"
    assert service.count(group) == 1
    assert len(service.audit("group.create")) == 1


@pytest.mark.both_engines
def test_a_change_changes_what_it_names(service, admin, monkeypatch):
    clock = StoppedClock(monkeypatch)
    made = admin.post("/groups", TEAM | {"description": "Us"}, 201).json
    path = f"/groups/{made['id']}"
    clock.now += 1_000
    renamed = admin.patch(path, {"name": " Crew "}).json
    assert renamed == {**made, "name": "Crew", "updated_at": clock.now}
    cleared = admin.patch(path, {"description": None}).json
    assert cleared == {**renamed, "description": None}
    assert admin.get(path).json == cleared
    rows = [row["detail"] for row in admin.get("/audit?action=group.update").json["items"]]
    assert rows == [{"group_id": made["id"], "fields": [field]} for field in ("description", "name")]


def test_an_empty_change_is_a_no_op(service, admin, monkeypatch):
    clock = StoppedClock(monkeypatch)
    made = admin.post("/groups", TEAM, 201).json
    clock.now += 1_000
    assert admin.patch(f"/groups/{made['id']}", {}).json == made
    assert service.audit("group.update") == []


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"slug": "team"}, {"slug"}),
        ({"slug": "other", "name": "Other"}, {"slug"}),
        ({"name": None}, {"name"}),
        ({"name": ""}, {"name"}),
        ({"description": "d" * 1025}, {"description"}),
        ({"id": "01a1fd34-cc35-77dc-a4c8-e3e58949487a"}, {"id"}),
    ],
    ids=str,
)
def test_a_change_may_not_touch_the_slug_nor_break_the_grammar(service, admin, body, where):
    made = admin.post("/groups", TEAM, 201).json
    assert paths(admin.patch(f"/groups/{made['id']}", body, 422)) == where
    assert admin.get(f"/groups/{made['id']}").json == made


def test_a_deleted_group_takes_its_members_and_grants_along(service, admin):
    team = service.group("team", ADA)
    service.grant(team, "reader", "shop", group=True)
    ada = service.user(ADA)
    ada.get("/projects/shop")
    assert admin.delete(f"/groups/{team}").body == b""
    ada.get("/projects/shop", 404)
    assert (service.count(group), service.count(group_member), service.count(grant)) == (0, 0, 1)
    [record] = admin.get("/audit?action=group.delete").json["items"]
    assert record["detail"] == {"group_id": str(team), "slug": "team"}
    admin.delete(f"/groups/{team}", 404)


def test_a_member_is_an_identity(service, admin):
    team, ada = service.group("team"), service.user(ADA).get("/whoami").json["identity"]
    answer = admin.post(f"/groups/{team}/members", {"identity_id": ada["id"]}, 201)
    assert answer.json.keys() == IDENTITY
    assert answer.json == ada
    assert answer.headers["Location"] == f"{API}/groups/{team}/members/{ada['id']}"
    assert admin.get(f"/groups/{team}/members").json == {"items": [ada]}
    [record] = admin.get("/audit?action=group.member.add").json["items"]
    assert record["detail"] == {"group_id": str(team), "identity_id": ada["id"]}


def test_a_service_token_can_be_a_member(service, admin):
    team, robot = service.group("team"), service.robot("deploy")
    service.grant(team, "writer", "shop", group=True)
    robot_id = robot.get("/whoami").json["identity"]["id"]
    robot.get("/projects/shop", 404)
    admin.post(f"/groups/{team}/members", {"identity_id": robot_id}, 201)
    robot.get("/projects/shop")


@pytest.mark.both_engines
def test_a_member_is_added_once_also_at_once(service, admin):
    team, ada = service.group("team"), str(service.identity_id(ADA))
    path, body = f"/groups/{team}/members", {"identity_id": ada}
    act = lambda _: Client(service.app, admin.token).request("POST", path, body).status_int  # noqa: E731
    assert sorted(at_once(6, act)) == [201] + [409] * 5
    assert admin.post(path, body, 409).json["code"] == "CONFLICT"
    assert service.count(group_member) == 1
    assert len(service.audit("group.member.add")) == 1


@pytest.mark.parametrize(
    "body", [{}, {"identity_id": None}, {"identity_id": "ada"}, {"identity_id": 1}], ids=str
)
def test_a_member_is_named_by_its_id(service, admin, body):
    assert paths(admin.post(f"/groups/{service.group('team')}/members", body, 422)) == {"identity_id"}


@pytest.mark.both_engines
def test_who_is_unknown_or_no_member_is_not_found(service, admin):
    team, other = service.group("team"), service.group("other", ADA)
    ada, absent = service.identity_id(ADA), new_id()
    for identity_id in (absent, other):
        answer = admin.post(f"/groups/{team}/members", {"identity_id": str(identity_id)}, 404)
        assert answer.json["message"] == "Identity not found."
    for identity_id in (ada, absent):
        admin.delete(f"/groups/{team}/members/{identity_id}", 404)
    assert service.count(group_member) == 1
    assert service.audit("group.member.remove") == []


def test_a_removed_member_loses_what_the_group_gave(service, admin):
    team = service.group("team", ADA, "bob@example.com")
    service.grant(team, "reader", "shop", group=True)
    ada, ada_id = service.user(ADA), service.identity_id(ADA)
    ada.get("/projects/shop")
    assert admin.delete(f"/groups/{team}/members/{ada_id}").body == b""
    ada.get("/projects/shop", 404)
    service.user("bob@example.com").get("/projects/shop")
    admin.delete(f"/groups/{team}/members/{ada_id}", 404)
    [record] = admin.get("/audit?action=group.member.remove").json["items"]
    assert record["detail"] == {"group_id": str(team), "identity_id": str(ada_id)}


def test_membership_alone_confers_nothing(service, admin):
    service.group("team", ADA)
    ada = service.user(ADA)
    assert ada.get("/projects").json["items"] == []
    ada.get("/projects/shop", 404)
    ada.get("/groups", 403)


def test_a_group_only_adds(service, admin):
    service.grant(ADA, "writer", "shop")
    service.grant(service.group("low", ADA), "reader", "shop", group=True)
    service.user(ADA).patch("/projects/shop", {"name": "S"})
    service.grant(service.group("high", ADA), "admin", "shop", group=True)
    service.user(ADA).delete("/projects/shop")


ABSENT = [
    ("GET", "", None),
    ("PATCH", "", {"name": "X"}),
    ("PATCH", "", {}),
    ("DELETE", "", None),
    ("GET", "/members", None),
    ("POST", "/members", {"identity_id": "{identity}"}),
    ("DELETE", "/members/{identity}", None),
    ("GET", "/grants", None),
    ("POST", "/grants", {"scope_type": "global", "role": "reader"}),
]


def test_nothing_hangs_below_a_group_that_is_not_there(service, admin):
    ada = str(service.identity_id(ADA))
    for method, path, body in ABSENT:
        if body and "identity_id" in body:
            body = {"identity_id": ada}
        target = f"/groups/{new_id()}" + path.format(identity=ada)
        answer = admin.request(method, target, body, status=404)
        assert answer.json["message"] == "Group not found.", (method, path)
    assert service.denials() == []


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_an_id_outside_its_grammar_is_a_422(admin, method):
    answer = admin.request(method, "/groups/team", {} if method == "PATCH" else None, status=422)
    assert paths(answer) == {"id"}
    assert paths(admin.delete(f"/groups/{new_id()}/members/x", 422)) == {"identityId"}


def test_an_admin_of_anything_reads_every_group_and_member(service, admin):
    team = service.group("team", "bob@example.com")
    service.grant(ADA, "admin", "shop/prod")
    ada = service.user(ADA)
    assert [one["id"] for one in ada.get("/groups").json["items"]] == [str(team)]
    assert ada.get(f"/groups/{team}").json["slug"] == "team"
    [member] = ada.get(f"/groups/{team}/members").json["items"]
    assert member["subject"] == "bob@example.com"
