"""The pages of groups, without JavaScript."""

from __future__ import annotations

import pytest
from pages import Browser, press, rows, submit, words
from service import arrange
from statements import recorded
from stopped_clock import StoppedClock

from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant, group, group_member

ADA, EVE = "ada@example.com", "eve@example.com"
MEMBERS = "section[aria-labelledby=members]"


@pytest.mark.both_engines
def test_a_group_is_created_changed_and_deleted_by_panels(browser, service):
    page = submit(browser.open("/groups?new"), "/groups", name="Team", slug="team", description="Ours")
    [made] = service.rows(group)
    path = f"/groups/{made['id']}"
    assert page.request.path == path
    page = submit(page.click("Name and description"), path, name="Tea & Ham", description="")
    assert page.html.find("h1").text == "Tea & Ham"
    assert "Saved." in page.html.find(role="status").text
    assert rows(browser.open("/groups"))[0].startswith("TH Tea & Ham team – 0 0 ")
    page = submit(page.click("Delete the group"), "/delete", confirm=" team ")
    assert page.request.path == "/groups"
    assert "no group yet" in words(page)
    browser.open(path, 404)
    assert [row["action"] for row in service.audit()][-3:] == ["group.create", "group.update", "group.delete"]


@pytest.mark.parametrize(("slug", "status"), [("team", 409), ("A Team", 422), ("", 422)])
def test_a_refused_group_keeps_what_was_typed_and_says_why(browser, service, slug, status):
    service.group("team")
    typed = {"name": " <b>T</b> ", "slug": slug, "description": "D & E"}
    page = submit(browser.open("/groups?new"), "/groups", status, **typed)
    assert {name: page.html.find(id=name)["value"] for name in typed} == typed
    assert page.html.select_one("[role=dialog] [role=alert]")


@pytest.mark.both_engines
def test_groups_are_found_by_a_part_of_their_name_and_counted(browser, service):
    service.grant(service.group("team", ADA, EVE), "reader", "shop", group=True)
    service.group("other")
    assert [row.rpartition(" – ")[2][:3] for row in rows(browser.open("/groups"))] == ["2 1", "0 0"]
    for text, found in (("TEA", 1), ("e", 2), ("%", 0)):
        assert len(rows(browser.open("/groups", params={"q": text}))) == found
    assert "No group matches." in words(browser.open("/groups?q=nothing"))


def test_a_group_is_not_deleted_unless_its_slug_is_typed(browser, service):
    team = service.group("team")
    page = submit(browser.open(f"/groups/{team}?delete"), "/delete", 422, confirm="teams")
    assert page.html.find(id="confirm")["aria-invalid"] == "true"
    assert page.html.find(id="confirm")["value"] == "teams"
    assert service.rows(group)


@pytest.mark.both_engines
def test_members_are_added_by_their_names_and_removed(browser, service):
    team = service.group("team")
    ada, robot = service.identity_id(ADA), service.identity_id("robot", "service")
    for name, member in ((ADA, ada), ("robot (service token)", robot)):
        page = submit(browser.open(f"/groups/{team}?add"), "/add-member", holder=name)
        assert page.request.path == f"/groups/{team}"
        assert page.html.select_one(f'{MEMBERS} a[href="/identities/{member}"]')
    assert len(rows(page, MEMBERS)) == 2
    page = page.click(href=f"leave={ada}$")
    assert ADA in words(page, "[role=dialog]")
    page = submit(page, "/remove-member")
    assert words(page, "[role=status]") == "The member was removed."
    assert [row["identity_id"] for row in service.rows(group_member)] == [robot]
    assert rows(page, MEMBERS)[0].startswith("R robot service token")


def test_a_person_who_has_not_signed_in_yet_becomes_a_member_once_that_is_confirmed(browser, service):
    team = service.group("team")
    page = submit(browser.open(f"/groups/{team}?add"), "/add-member", 422, holder=ADA)
    assert service.rows(group_member) == []
    page = submit(page, "/add-member", holder=ADA, announce=True)
    assert f"{ADA}" in words(page, MEMBERS)
    assert "not signed in yet" in words(page, MEMBERS)


@pytest.mark.both_engines
@pytest.mark.parametrize(("name", "status"), [(ADA, 409), (EVE, 422), ("team", 422), ("", 422)])
def test_a_refused_member_is_kept_in_the_form(browser, service, name, status):
    team = service.group("team", ADA)
    page = submit(browser.open(f"/groups/{team}?add"), "/add-member", status, holder=name)
    assert page.html.select_one("[role=dialog] [role=alert]")
    assert page.html.find(id="holder")["value"] == name
    assert len(service.rows(group_member)) == 1


def test_a_groups_grants_are_made_extended_and_removed_on_its_page(browser, service, monkeypatch):
    clock = StoppedClock(monkeypatch)
    team = service.group("team")
    page = submit(browser.open(f"/groups/{team}?grant"), "/give", role="admin", scope="shop", until="1d")
    assert page.request.path == f"/groups/{team}"
    [row] = service.rows(grant, grant.c.group_id == team)
    assert (row["role"], row["scope_type"]) == ("admin", "project")
    end = clock.now + 86_400_000
    page = press(page, "/extend-grant", "chosen", f"{row['id']}/{end}")
    assert service.rows(grant, grant.c.group_id == team)[0]["expires_at"] == end + 7 * 86_400_000
    page = submit(page.click("Remove…"), "/remove-grant")
    assert not service.rows(grant, grant.c.group_id == team)
    actions = [one["action"] for one in service.audit()][-3:]
    assert actions == ["group.grant.create", "group.grant.update", "group.grant.delete"]


def test_the_last_admin_stays_in_its_group_and_the_page_says_why(make_service):
    first = make_service()
    Browser(first).open("/whoami")
    boss = first.group("bosses", "boss@example.com")
    first.execute(grant.delete())
    held = first.grant(boss, "admin", group=True)
    service = make_service(BOOTSTRAP_ADMINS="")
    browser = Browser(service, "boss@example.com")
    member = str(service.identity_id("boss@example.com"))
    for form, fields in (
        ("remove-member", {"chosen": member}),
        ("remove-grant", {"chosen": str(held)}),
        ("delete", {"confirm": "bosses"}),
    ):
        page = browser.open(f"/groups/{boss}")
        token = page.html.find("input", {"name": "csrf"})["value"]
        page = browser.post(f"/groups/{boss}/{form}", fields | {"csrf": token}, status=409)
        assert "last usable global administrator" in page.html.find(role="alert").text
    assert service.rows(group_member)
    assert service.rows(grant)


@pytest.mark.both_engines
def test_groups_are_for_global_admins_to_change_and_their_grants_for_the_admins_of_the_scopes(admin, service):
    team = service.group("team", EVE)
    service.grant(team, "reader", "shop/dev", group=True)
    service.grant(ADA, "admin", "shop/prod")
    ada = Browser(service, ADA)
    assert " – 1 0 " in rows(ada.open("/groups"))[0]
    for path in ("/groups?new", *(f"/groups/{team}?{panel}" for panel in ("edit", "add", "delete"))):
        page = ada.open(path)
        assert not page.html.select_one("[role=dialog]")
        assert "needs a global admin role" in words(page)
    assert not page.html.select_one(f"{MEMBERS} td .btn")
    eve = str(service.identity_id(EVE))
    assert not ada.open(f"/groups/{team}?leave={eve}").html.select_one("[role=dialog]")
    assert "No grants." in words(page, "section[aria-labelledby=grants]")
    token = ada.open(f"/groups/{team}?grant").html.find("input", {"name": "csrf"})["value"]
    for form, fields in (
        ("", {"name": "T"}),
        ("/delete", {"confirm": "team"}),
        ("/add-member", {"holder": ADA}),
        ("/remove-member", {"chosen": eve}),
    ):
        ada.post(f"/groups/{team}{form}", fields | {"csrf": token}, status=403)
    ada.post("/groups", {"csrf": token, "name": "T", "slug": "t", "description": ""}, status=403)
    submit(ada.open(f"/groups/{team}?grant"), "/give", role="reader", scope="shop/prod")
    assert len(service.rows(grant, grant.c.group_id == team)) == 2
    assert len(service.rows(group)) == 1


def test_what_is_no_group_or_member_is_not_found(browser, service):
    team, ada = service.group("team"), service.identity_id(ADA)
    browser.open(f"/groups/{new_id()}", 404)
    browser.open("/groups/team", 422)
    token = browser.open("/groups?new").html.find("input", {"name": "csrf"})["value"]
    for chosen, status in ((str(ada), 303), ("x", 422)):
        fields = {"csrf": token, "chosen": chosen}
        browser.post(f"/groups/{team}/remove-member", fields, status=status)


@pytest.mark.both_engines
@pytest.mark.parametrize(
    ("path", "most"),
    [("/groups", 2), ("/groups/{team}", 5), ("/groups/{team}?grant", 6), ("/groups/{team}?add", 6)],
)
def test_a_page_costs_the_same_however_much_is_listed(make_service, path, most):
    arrange(make_service(), "shop", "prod", "dev")
    service, costs = make_service(LAST_SEEN_RESOLUTION="3600000"), []
    for count in (2, 25):
        team = service.group(f"team-{count}", *(f"p{count}-{number}@x.example" for number in range(count)))
        for number in range(count):
            service.group(f"g-{count}-{number}")
        for role in ("reader", "writer", "admin")[: count // 2]:
            service.grant(team, role, "shop", group=True)
        with recorded(service.engine) as statements:
            Browser(service).open(path.format(team=team))
        costs.append(len(statements))
    assert costs[0] == costs[1] == most
