"""Identities over the API: the list, the display name, and the switch."""

from __future__ import annotations

import pytest
from resource_fields import IDENTITY, paths
from service import ADMIN

from secretsvc.kernel.ids import new_id

ADA = "ada@example.com"


@pytest.fixture
def ada(service, admin):
    """Ada's identity, as the API shows it."""
    return service.user(ADA).get("/whoami").json["identity"]


def test_everyone_who_ever_came_is_listed_the_first_first(service, admin, ada):
    service.robot("deploy").get("/whoami")
    service.user("eve@example.com").get("/projects/shop", 404)
    listed = admin.get("/identities").json
    assert listed["next_cursor"] is None
    assert [(one["kind"], one["subject"]) for one in listed["items"]] == [
        ("user", ADMIN),
        ("user", ADA),
        ("service", "deploy"),
        ("user", "eve@example.com"),
    ]
    assert all(one.keys() == IDENTITY for one in listed["items"])
    assert listed["items"][1] == ada


def test_a_new_identity_is_enabled_and_has_no_display_name(ada):
    assert (ada["disabled"], ada["display_name"]) == (False, None)
    assert ada["created_at"] == ada["last_seen_at"]


def test_a_change_answers_with_the_changed_identity(service, admin, ada):
    path = f"/identities/{ada['id']}"
    named = admin.patch(path, {"display_name": "  Ada L. "}).json
    assert named == {**ada, "display_name": "Ada L."}
    switched = admin.patch(path, {"disabled": True}).json
    assert switched == {**named, "disabled": True}
    both = admin.patch(path, {"display_name": "A" * 256, "disabled": False}).json
    assert both == {**ada, "display_name": "A" * 256}
    assert both in admin.get("/identities").json["items"]
    details = [row["detail"] for row in admin.get("/audit?action=identity.update").json["items"]]
    assert details == [
        {"identity_id": ada["id"], "fields": ["disabled", "display_name"], "disabled": False},
        {"identity_id": ada["id"], "fields": ["disabled"], "disabled": True},
        {"identity_id": ada["id"], "fields": ["display_name"], "disabled": False},
    ]


def test_an_empty_change_is_a_no_op(service, admin, ada):
    assert admin.patch(f"/identities/{ada['id']}", {}).json == ada
    assert service.audit("identity.update") == []


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"display_name": ""}, {"display_name"}),
        ({"display_name": " \t"}, {"display_name"}),
        ({"display_name": "A" * 257}, {"display_name"}),
        ({"display_name": None}, {"display_name"}),
        ({"display_name": 1}, {"display_name"}),
        ({"display_name": "a\x00"}, {"display_name"}),
        ({"disabled": "true"}, {"disabled"}),
        ({"disabled": 1}, {"disabled"}),
        ({"disabled": None}, {"disabled"}),
        ({"subject": "eve@example.com"}, {"subject"}),
        ({"kind": "service"}, {"kind"}),
        ({"last_seen_at": 1}, {"last_seen_at"}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_change_outside_its_schema_changes_nothing(admin, ada, body, where):
    assert paths(admin.patch(f"/identities/{ada['id']}", body, 422)) == where
    assert ada in admin.get("/identities").json["items"]


def test_nobody_is_not_found(service, admin):
    absent = admin.patch(f"/identities/{new_id()}", {"disabled": True}, 404)
    assert absent.json["message"] == "Identity not found."
    assert paths(admin.patch("/identities/ada", {"disabled": True}, 422)) == {"id"}
    admin.get(f"/identities/{service.identity_id(ADA)}", 404)
    assert service.denials() == []


@pytest.mark.parametrize("held", ["admin", "writer", "reader"])
@pytest.mark.parametrize("through_group", [False, True], ids=["direct", "group"])
def test_a_disabled_identity_may_do_nothing_until_it_is_enabled_again(
    service, admin, ada, held, through_group
):
    holder = service.group("team", ADA) if through_group else ADA
    service.grant(holder, held, group=through_group)
    caller, path = service.user(ADA), f"/identities/{ada['id']}"
    caller.get("/projects/shop")
    admin.patch(path, {"disabled": True})
    caller.get("/projects/shop", 404)
    caller.get("/grants", 403)
    assert caller.get("/projects").json["items"] == []
    answered = caller.get("/whoami").json
    assert (answered["global_role"], answered["identity"]["disabled"]) == (None, True)
    admin.patch(path, {"disabled": False})
    caller.get("/projects/shop")
    assert caller.get("/whoami").json["global_role"] == held


def test_a_service_token_is_switched_like_a_person(service, admin):
    robot = service.robot("deploy")
    robot_id = robot.get("/whoami").json["identity"]["id"]
    service.grant(service.identity_id("deploy", "service"), "reader")
    robot.get("/projects/shop")
    admin.patch(f"/identities/{robot_id}", {"disabled": True})
    robot.get("/projects/shop", 404)


def test_the_switch_is_for_global_admins_only(service, admin, ada):
    service.grant("boss@example.com", "admin", "shop")
    boss = service.user("boss@example.com")
    assert len(boss.get("/identities").json["items"]) == 3
    for body in ({"disabled": True}, {"display_name": "X"}, {}):
        boss.patch(f"/identities/{ada['id']}", body, 403)
    assert [row["action"] for row in service.denials()] == ["authz.global.admin"] * 3
