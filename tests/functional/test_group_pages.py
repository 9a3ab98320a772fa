"""The pages of groups, without JavaScript."""

from __future__ import annotations

import pytest
from pages import Browser, press, rows, submit, words
from service import arrange
from statements import recorded

from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant, group, group_member

ADA, EVE = "ada@example.com", "eve@example.com"
MEMBERS = "section[aria-labelledby=members]"


def test_a_group_is_created_changed_and_deleted_by_forms(browser, service):
    page = submit(browser.open("/groups"), "/groups", name="Team", slug="team", description="Ours")
    [made] = service.rows(group)
    path = f"/groups/{made['id']}"
    assert page.request.path == path
    page = submit(page, path, name="Tea & Ham", description="")
    assert page.html.find("h1").text == "Tea & Ham"
    assert "Saved." in page.html.find(role="status").text
    assert rows(browser.open("/groups"))[0].startswith("Tea & Ham team ")
    page = submit(page, "/delete", confirm=" team ")
    assert page.request.path == "/groups"
    assert "no group yet" in words(page)
    browser.open(path, 404)
    assert [row["action"] for row in service.audit()][-3:] == ["group.create", "group.update", "group.delete"]


@pytest.mark.parametrize(("slug", "status"), [("team", 409), ("A Team", 422), ("", 422)])
def test_a_refused_group_keeps_what_was_typed_and_says_why(browser, service, slug, status):
    service.group("team")
    typed = {"name": " <b>T</b> ", "slug": slug, "description": "D & E"}
    page = submit(browser.open("/groups"), "/groups", status, **typed)
    assert {name: page.html.find(id=name)["value"] for name in typed} == typed
    assert page.html.find(role="alert")


def test_a_group_is_not_deleted_unless_its_slug_is_typed(browser, service):
    team = service.group("team")
    page = submit(browser.open(f"/groups/{team}"), "/delete", 422, confirm="teams")
    assert page.html.find(id="confirm")["aria-invalid"] == "true"
    assert page.html.find(id="confirm")["value"] == "teams"
    assert service.rows(group)


def test_members_are_added_by_their_names_and_removed(browser, service):
    team = service.group("team")
    ada, robot = service.identity_id(ADA), service.identity_id(ADA, "service")
    for kind, member in (("user", ada), ("service", robot)):
        page = submit(browser.open(f"/groups/{team}"), "/add-member", holder_kind=kind, holder=ADA)
        assert page.request.path == f"/groups/{team}"
        assert page.html.select_one(f'{MEMBERS} a[href="/identities/{member}"]')
    assert len(rows(page, MEMBERS)) == 2
    page = press(page, "/remove-member", "chosen", str(ada))
    assert [row["identity_id"] for row in service.rows(group_member)] == [robot]
    assert rows(page, MEMBERS)[0].startswith(f"{ADA} service token enabled")


@pytest.mark.parametrize(
    ("kind", "name", "status"),
    [
        ("user", ADA, 409),
        ("user", EVE, 422),
        ("service", ADA, 422),
        ("group", "team", 422),
        ("user", "", 422),
    ],
)
def test_a_refused_member_is_kept_in_the_form(browser, service, kind, name, status):
    team = service.group("team", ADA)
    page = browser.open(f"/groups/{team}")
    fields = {"csrf": page.html.find("input", {"name": "csrf"})["value"], "holder_kind": kind, "holder": name}
    page = browser.post(f"/groups/{team}/add-member", fields, status=status)
    assert page.html.find(role="alert")
    assert page.html.find(id="holder")["value"] == name
    assert len(service.rows(group_member)) == 1


def test_a_groups_grants_are_made_and_removed_on_its_page(browser, service):
    team = service.group("team")
    page = browser.open(f"/groups/{team}")
    page = submit(page, "/grants", role="admin", scope="shop", expires_at="")
    assert page.request.path == f"/groups/{team}"
    [row] = service.rows(grant, grant.c.group_id == team)
    assert (row["role"], row["scope_type"]) == ("admin", "project")
    page = press(page, "/remove-grant", "chosen", str(row["id"]))
    assert not service.rows(grant, grant.c.group_id == team)
    assert [one["action"] for one in service.audit()][-2:] == ["group.grant.create", "group.grant.delete"]


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


def test_groups_are_for_global_admins_to_change_and_their_grants_for_the_admins_of_the_scopes(admin, service):
    team = service.group("team", EVE)
    service.grant(team, "reader", "shop/dev", group=True)
    service.grant(ADA, "admin", "shop/prod")
    ada = Browser(service, ADA)
    for path in ("/groups", f"/groups/{team}"):
        page = ada.open(path)
        assert all(field.has_attr("disabled") for field in page.html.find_all("fieldset"))
        assert "needs the admin role everywhere" in words(page)
    assert page.html.select_one(f"{MEMBERS} td button").has_attr("disabled")
    assert "no grants" in words(page, "section[aria-labelledby=grants]")
    token = page.html.find("input", {"name": "csrf"})["value"]
    eve = str(service.identity_id(EVE))
    for form, fields in (
        ("", {"name": "T"}),
        ("/delete", {"confirm": "team"}),
        ("/add-member", {"holder_kind": "user", "holder": ADA}),
        ("/remove-member", {"chosen": eve}),
    ):
        ada.post(f"/groups/{team}{form}", fields | {"csrf": token}, status=403)
    ada.post("/groups", {"csrf": token, "name": "T", "slug": "t", "description": ""}, status=403)
    submit(ada.open(f"/groups/{team}"), "/grants", role="reader", scope="shop/prod", expires_at="")
    assert len(service.rows(grant, grant.c.group_id == team)) == 2
    assert len(service.rows(group)) == 1


def test_what_is_no_group_or_member_is_not_found(browser, service):
    team, ada = service.group("team"), service.identity_id(ADA)
    browser.open(f"/groups/{new_id()}", 404)
    browser.open("/groups/team", 422)
    token = browser.open("/groups").html.find("input", {"name": "csrf"})["value"]
    for chosen, status in ((str(ada), 404), ("x", 422)):
        fields = {"csrf": token, "chosen": chosen}
        browser.post(f"/groups/{team}/remove-member", fields, status=status)


@pytest.mark.parametrize("path", ["/groups", "/groups/{team}"])
def test_a_page_costs_the_same_however_much_is_listed(make_service, path):
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
    assert costs[0] == costs[1] <= 8
