"""Disabling is refused where nobody would be left (contract 4.13): the listed count while not disabled."""

from __future__ import annotations

import pytest
from fault_injection import at_once
from service import ADMIN, arrange

from secretsvc.tables.grants import grant
from secretsvc.tables.identities import identity

SPARE, ADA = "spare@example.com", "ada@example.com"


def disable(service, subject, kind="user"):
    service.identity_id(subject, kind)
    service.disable(subject)


def switch(service, subject, other):
    """Has one identity disable another; the answer."""
    path = f"/identities/{service.identity_id(other)}"
    return service.user(subject).request("PATCH", path, {"disabled": True})


def hold(service, shared=False, **terms):
    holder = service.group("team", ADA) if shared else ADA
    service.grant(holder, terms.pop("role", "admin"), group=shared, **terms)


def hold_in_vain(service):
    """Grants that make nobody a usable global admin."""
    hold(service, expires_at=1)
    hold(service, role="writer")
    hold(service, path="shop")
    service.grant(service.group("empty"), "admin", group=True)
    service.grant(service.group("sleepers", "asleep@example.com"), "admin", group=True)
    service.disable("asleep@example.com")


LISTED = {
    "nobody else": (409, ADMIN, lambda service: None),
    "one who was not seen yet": (200, f"{ADMIN},{SPARE}", lambda service: None),
    "one who is enabled": (200, f"{SPARE},{ADMIN}", lambda service: service.identity_id(SPARE)),
    "one who is disabled": (409, f"{ADMIN},{SPARE}", lambda service: disable(service, SPARE)),
    "one of two": (200, f"{ADMIN},{SPARE},{ADA}", lambda service: disable(service, SPARE)),
    "a service token of the name is disabled": (
        200,
        f"{ADMIN},{SPARE}",
        lambda service: disable(service, SPARE, "service"),
    ),
    "a grant": (200, ADMIN, hold),
    "a group's grant": (200, ADMIN, lambda service: hold(service, shared=True)),
    "no usable grant": (409, ADMIN, hold_in_vain),
}


@pytest.mark.parametrize("others", LISTED)
def test_a_listed_admin_is_disabled_only_where_somebody_else_is_left(make_service, others):
    arrange(make_service())
    due, listed, arrange_others = LISTED[others]
    service = make_service(BOOTSTRAP_ADMINS=listed)
    arrange_others(service)
    answer = switch(service, ADMIN, ADMIN)
    assert answer.status_int == due
    [row] = service.rows(identity, identity.c.subject == ADMIN)
    assert row["disabled"] == (due == 200)
    assert len(service.audit("identity.update")) == (due == 200)
    if due == 409:
        assert answer.json["code"] == "LAST_ADMIN"
        service.user().get("/grants")


@pytest.mark.both_engines
def test_whoever_is_not_the_last_may_be_disabled_and_the_last_renamed(service, admin):
    assert switch(service, ADMIN, ADA).status_int == 200
    mine = admin.get("/whoami").json["identity"]["id"]
    assert admin.patch(f"/identities/{mine}", {"display_name": "Root", "disabled": True}, 409)
    named = admin.patch(f"/identities/{mine}", {"display_name": "Root", "disabled": False}).json
    assert named["display_name"] == "Root"


def test_a_disabled_admin_stays_disabled_although_it_is_listed(make_service):
    service = make_service(BOOTSTRAP_ADMINS=f"{ADMIN},{SPARE}")
    admin = service.user()
    mine = admin.get("/whoami").json["identity"]["id"]
    admin.patch(f"/identities/{mine}", {"disabled": True})
    assert admin.get("/whoami").json["global_role"] is None
    admin.get("/grants", 403)
    admin.patch(f"/identities/{mine}", {"disabled": False}, 403)
    # The list is not empty, so this is no 503 (specification, "Last-admin guards").
    assert service.user(ADA).get("/projects").json["items"] == []


@pytest.mark.both_engines
def test_the_last_grant_may_go_while_the_list_is_not_empty_whoever_of_it_is_disabled(make_service):
    service = make_service(BOOTSTRAP_ADMINS=SPARE)
    disable(service, SPARE)
    mine = service.grant(ADA, "admin")
    # The specification asks only whether the list is empty ("Last-admin guards").
    service.user(ADA).delete(f"/grants/{mine}")
    assert service.count(grant) == 0


@pytest.mark.both_engines
def test_of_two_listed_admins_who_disable_each_other_at_once_one_succeeds(make_service):
    service = make_service(BOOTSTRAP_ADMINS=f"{ADMIN},{SPARE}", LAST_SEEN_RESOLUTION="3600000")
    pair = (ADMIN, SPARE)
    for subject in pair:
        service.user(subject).get("/whoami")
    for _ in range(5):
        service.execute(identity.update().values(disabled=False))
        statuses = at_once(2, lambda turn: switch(service, pair[turn], pair[1 - turn]).status_int)
        assert sorted(statuses) in ([200, 403], [200, 409])
        assert len(service.rows(identity, ~identity.c.disabled)) == 1
