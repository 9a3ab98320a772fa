"""Changing a grant over the API: its role and its time, by whom, and what is recorded (contract 5.10)."""

from __future__ import annotations

import json

import pytest
from fault_injection import at_once
from resource_fields import GRANT, paths
from service import Client
from stopped_clock import StoppedClock

from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant

ADA, EVE = "ada@example.com", "eve@example.com"
EVER = 2**53 - 1
SOME_ID = "0190163d-8694-739b-aea5-966c26f8ad91"
SCOPES = pytest.mark.parametrize("scope", ["global", "shop", "shop/prod"])
HOLDERS = pytest.mark.parametrize("shared", [False, True], ids=["identity", "group"])


def soon():
    """An expiry that no test lives to see, in epoch milliseconds."""
    return now_ms() + 3_600_000


class Held:
    """Ada's grant, her own or that of a group of hers, and where to change it."""

    def __init__(self, service, shared, role, scope, expires_at=None):
        self.service, self.shared = service, shared
        self.holder = service.group("team", ADA) if shared else service.identity_id(ADA)
        self.id = service.grant(self.holder, role, scope, expires_at=expires_at, group=shared)
        self.paths = [f"/grants/{self.id}"] + ([f"/groups/{self.holder}/grants/{self.id}"] if shared else [])
        self.path = self.paths[-1]

    @property
    def terms(self):
        [row] = self.service.rows(grant, grant.c.id == self.id)
        return row["role"], row["expires_at"]


@HOLDERS
@SCOPES
def test_a_change_answers_with_the_changed_grant(service, admin, scope, shared):
    held = Held(service, shared, "reader", scope, expires_at=1)
    [before] = [one for one in admin.get("/grants").json["items"] if one["id"] == str(held.id)]
    for path, changes in zip(held.paths * 3, ({"role": "admin"}, {"expires_at": EVER}, {}), strict=False):
        before |= changes
        assert admin.patch(path, changes).json == before
    assert before.keys() == GRANT
    assert before in admin.get("/grants").json["items"]


@HOLDERS
def test_time_is_lengthened_shortened_renewed_and_made_endless(service, admin, shared):
    held = Held(service, shared, "writer", "shop/prod", expires_at=1)
    ada = service.user(ADA)
    for expires_at, status in ((soon(), 200), (None, 200), (0, 404), (EVER, 200), (1, 404)):
        admin.patch(held.path, {"expires_at": expires_at})
        ada.get("/projects/shop/environments/prod", status)
        assert held.terms == ("writer", expires_at)


@HOLDERS
def test_a_role_is_raised_and_lowered(service, admin, shared):
    held = Held(service, shared, "writer", "global", expires_at=EVER)
    for role in ("admin", "reader", "writer"):
        admin.patch(held.path, {"role": role})
        assert service.user(ADA).get("/whoami").json["global_role"] == role
        assert held.terms == (role, EVER)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"role": None}, ["role"]),
        ({"role": "owner"}, ["role"]),
        ({"role": "Admin"}, ["role"]),
        ({"expires_at": "1"}, ["expires_at"]),
        ({"expires_at": 1.5}, ["expires_at"]),
        ({"expires_at": True}, ["expires_at"]),
        ({"expires_at": -1}, ["expires_at"]),
        ({"expires_at": 2**53}, ["expires_at"]),
        ({"scope_type": "global"}, ["scope_type"]),
        ({"project": "shop", "role": "reader"}, ["project"]),
        ({"identity_id": SOME_ID}, ["identity_id"]),
        ({"group_id": None}, ["group_id"]),
        ({"id": SOME_ID, "created_by": "system"}, ["created_by", "id"]),
    ],
    ids=str,
)
def test_a_change_outside_its_schema_changes_nothing(service, admin, body, where):
    held = Held(service, True, "writer", "shop", expires_at=5)
    for path in held.paths:
        assert sorted(paths(admin.patch(path, body, 422))) == where
    assert held.terms == ("writer", 5)
    assert service.audit("group.grant.update") == []


@HOLDERS
def test_what_changes_nothing_leaves_no_record(service, admin, shared):
    held = Held(service, shared, "reader", "shop", expires_at=7)
    for path in held.paths:
        for body in ({}, {"role": "reader"}, {"expires_at": 7}, {"role": "reader", "expires_at": 7}):
            assert admin.patch(path, body).json["id"] == str(held.id)
    assert [row for row in service.audit() if row["action"].endswith("grant.update")] == []


@HOLDERS
@SCOPES
def test_a_change_is_recorded_with_the_terms_before_and_after(service, admin, scope, shared):
    held = Held(service, shared, "reader", scope, expires_at=7)
    for path in held.paths:
        admin.patch(path, {"role": "writer", "expires_at": None})
        admin.patch(path, {"role": "reader", "expires_at": 7})
    action = "group.grant.update" if shared else "grant.update"
    rows = service.audit(action)
    assert len(rows) == 2 * len(held.paths)
    assert [row for row in service.audit() if row["action"].endswith("grant.update")] == rows
    columns = service.scope(scope)
    assert {(row["project_id"], row["environment_id"]) for row in rows} == {
        (columns["project_id"], columns["environment_id"])
    }
    assert json.loads(rows[0]["detail"]) == {
        "grant_id": str(held.id),
        "identity_id": None if shared else str(held.holder),
        "group_id": str(held.holder) if shared else None,
        "scope_type": columns["scope_type"],
        "before": {"role": "reader", "expires_at": 7},
        "after": {"role": "writer", "expires_at": None},
    }


@pytest.mark.both_engines
@HOLDERS
@SCOPES
def test_what_would_equal_another_grant_of_the_holder_is_a_conflict(service, admin, scope, shared):
    held = Held(service, shared, "reader", scope, expires_at=5)
    service.grant(held.holder, "writer", scope, expires_at=1, group=shared)
    service.grant(EVE, "admin", scope)
    for path in held.paths:
        assert admin.patch(path, {"role": "writer", "expires_at": 6}, 409).json["code"] == "CONFLICT"
    assert held.terms == ("reader", 5)
    assert [row for row in service.audit() if row["action"].endswith("grant.update")] == []
    # Others may hold the same, and so may the holder elsewhere.
    admin.patch(held.path, {"role": "admin"})


@pytest.mark.both_engines
def test_a_grant_of_another_holder_is_not_found_under_a_group(service, admin):
    team, other = service.group("team"), service.group("other")
    theirs = service.grant(other, "reader", "shop", group=True)
    person = service.grant(ADA, "reader", "shop")
    for grant_id in (theirs, person, new_id()):
        for body in ({}, {"role": "admin"}):
            answer = admin.patch(f"/groups/{team}/grants/{grant_id}", body, 404)
            assert answer.json["message"] == "Grant not found."
    admin.patch(f"/groups/{new_id()}/grants/{theirs}", {"role": "admin"}, 404)
    assert admin.patch(f"/grants/{new_id()}", {"role": "admin"}, 404).json["message"] == "Grant not found."
    assert {row["role"] for row in service.rows(grant, grant.c.id.in_([theirs, person]))} == {"reader"}
    assert service.denials() == []


@pytest.mark.parametrize("bad", ["x", "0" * 36])
def test_an_id_outside_its_grammar_is_a_422(service, admin, bad):
    assert paths(admin.patch(f"/grants/{bad}", {}, 422)) == {"id"}
    assert paths(admin.patch(f"/groups/{bad}/grants/{bad}", {}, 422)) == {"id", "grantId"}


RISES = [
    {"role": "admin"},
    {"expires_at": EVER},
    {"expires_at": None},
    {"role": "reader", "expires_at": None},
]
FALLS = [{"role": "reader"}, {"expires_at": 5}, {"role": "reader", "expires_at": 5}]


@HOLDERS
@SCOPES
def test_nobody_lengthens_a_grant_by_means_of_itself(service, admin, scope, shared):
    held = Held(service, shared, "admin", scope, expires_at=soon())
    before, ada = held.terms, service.user(ADA)
    for path in held.paths:
        for body in RISES[1:]:
            answer = ada.patch(path, body, 403).json
            assert (answer["code"], "this very grant" in answer["hint"]) == ("FORBIDDEN", True)
    columns = service.scope(scope)
    denial = (f"authz.{columns['scope_type']}.admin", columns["environment_id"])
    assert {(row["action"], row["environment_id"]) for row in service.denials()} == {denial}
    assert len(service.denials()) == 3 * len(held.paths)
    assert held.terms == before
    # To give up what one has needs nobody else.
    ada.patch(held.path, {"expires_at": before[1] - 1})
    ada.patch(held.path, {"role": "reader"})
    assert held.terms == ("reader", before[1] - 1)


def test_an_admin_whose_grant_ends_can_give_itself_what_does_not_end(service, admin):
    """The threat model says so: a grant is judged by who gives it, not by for how long that one may."""
    service.grant(ADA, "admin", "shop", expires_at=soon())
    ada, me = service.user(ADA), service.identity_id(ADA)
    given = {"scope_type": "environment", "project": "shop", "environment": "prod", "role": "admin"}
    assert ada.post("/grants", given | {"identity_id": str(me)}, 201).json["expires_at"] is None
    team = service.group("team", ADA)
    whole = {"scope_type": "project", "project": "shop", "role": "admin"}
    assert ada.post(f"/groups/{team}/grants", whole, 201).json["expires_at"] is None
    assert [row["actor_subject"] for row in service.audit() if row["action"].endswith("grant.create")] == [
        ADA
    ] * 2


@HOLDERS
def test_a_second_grant_lets_its_holder_lengthen_the_first(service, admin, shared):
    held, ada = Held(service, shared, "admin", "shop/prod", expires_at=soon()), service.user(ADA)
    ada.patch(held.path, {"expires_at": None}, 403)
    second = service.grant(service.group("second", ADA), "admin", "shop", group=True, expires_at=soon())
    ada.patch(held.path, {"expires_at": None})
    # The other way round it is too narrow.
    ada.patch(f"/grants/{second}", {"expires_at": None}, 403)
    service.grant(ADA, "writer", "shop")
    ada.patch(f"/grants/{second}", {"expires_at": None}, 403)
    service.grant(ADA, "admin", "global", expires_at=1)
    ada.patch(f"/grants/{second}", {"expires_at": None}, 403)


@pytest.mark.parametrize("body", RISES + FALLS, ids=str)
def test_a_scopes_admin_changes_the_grants_of_others_there(service, admin, body):
    service.grant(ADA, "admin", "shop", expires_at=soon())
    held = service.grant(EVE, "writer", "shop/prod", expires_at=100)
    answer = service.user(ADA).patch(f"/grants/{held}", body).json
    assert {**answer, **body} == answer


@pytest.mark.both_engines
@HOLDERS
def test_who_is_listed_is_an_admin_without_any_grant(service, admin, shared):
    listed = service.identity_id("root@example.com")
    holder = service.group("roots", "root@example.com") if shared else listed
    held = service.grant(holder, "writer", expires_at=5, group=shared)
    [bootstrap] = service.rows(grant, grant.c.identity_id == listed, grant.c.role == "admin")
    admin.patch(f"/grants/{held}", {"expires_at": None})
    admin.patch(f"/grants/{bootstrap['id']}", {"expires_at": soon()})
    admin.patch(f"/grants/{bootstrap['id']}", {"expires_at": None})


@pytest.mark.parametrize("body", [{}, *RISES, *FALLS], ids=str)
def test_whoever_does_not_administer_the_scope_changes_nothing_there(service, admin, body):
    service.grant(ADA, "admin", "shop/dev")
    held = service.grant(EVE, "writer", "shop/prod", expires_at=100)
    ada = service.user(ADA)
    assert ada.patch(f"/grants/{held}", body, 404).json["message"] == "Grant not found."
    service.grant(ADA, "writer", "shop")
    ada.patch(f"/grants/{held}", body, 403)
    service.user(EVE).patch(f"/grants/{held}", body, 403)
    service.user("nobody@example.com").patch(f"/grants/{held}", body, 403)
    [row] = service.rows(grant, grant.c.id == held)
    assert (row["role"], row["expires_at"]) == ("writer", 100)
    actions = [row["action"] for row in service.denials()]
    assert actions == ["authz.environment.admin"] * 2 + ["authz.global.admin"] * 2


def test_a_change_takes_effect_at_the_millisecond(service, admin, monkeypatch):
    clock = StoppedClock(monkeypatch)
    held, ada = Held(service, False, "reader", "shop"), service.user(ADA)
    admin.patch(held.path, {"expires_at": clock.now})
    ada.get("/projects/shop", 404)
    admin.patch(held.path, {"expires_at": clock.now + 1})
    ada.get("/projects/shop")


def test_which_way_a_change_goes_is_judged_by_what_there_is_when_it_is_written(service, admin):
    """Ada may shorten her grant; not where somebody shortened it further in the meantime."""
    start = soon()
    held = Held(service, False, "admin", "shop", expires_at=start)
    tokens = [admin.token] + [service.issuer.sign(ADA)] * 5

    def act(turn):
        expires_at = start - 1000 if turn == 0 else start - turn
        client = Client(service.app, tokens[turn])
        return client.request("PATCH", held.path, {"expires_at": expires_at}).status_int

    for _ in range(5):
        admin.patch(held.path, {"expires_at": start})
        statuses = at_once(6, act)
        assert held.terms == ("admin", start - 1000), statuses
        assert set(statuses) <= {200, 403}


@pytest.mark.both_engines
@SCOPES
def test_of_changes_to_the_same_terms_at_once_one_is_made(service, admin, scope):
    team = service.group("team")
    made = [service.grant(team, role, scope, group=True) for role in ("reader", "writer")]

    def act(turn):
        client = Client(service.app, admin.token)
        return client.request("PATCH", f"/grants/{made[turn % 2]}", {"role": "admin"}).status_int

    assert sorted(at_once(4, act)) == [200, 200, 409, 409]
    assert len(service.audit("group.grant.update")) == 1
