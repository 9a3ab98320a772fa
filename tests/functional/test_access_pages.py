"""The pages of grants, of unknown identities, and of who can read what, without JavaScript."""

from __future__ import annotations

import pytest
from pages import Browser, press, rows, submit, words
from service import ADMIN, arrange
from statements import recorded
from stopped_clock import StoppedClock

from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant
from secretsvc.tables.identities import identity

ADA, EVE = "ada@example.com", "eve@example.com"
DAY = 86_400_000
EVIL = "<b>&\"'${1+1}</b><script>x</script>"
PLACES = ("/projects/shop/access", "/projects/shop/environments/prod/access")
PAGES = ("/grants", "/access/unknown-identities", "/identities", "/groups")


def scopes(page):
    """The scopes that the page's form offers."""
    return [option["value"] for option in page.html.find(id="scope").find_all("option")][1:]


def test_a_role_is_granted_by_a_form_that_leads_to_its_holder(browser, service):
    ada = service.identity_id(ADA)
    page = submit(
        browser.open("/grants"),
        "/grants",
        holder_kind="user",
        holder="  Ada@Example.com ",
        role="writer",
        scope="shop/prod",
        expires_at="2030-12-31T18:00",
    )
    assert page.request.path == f"/identities/{ada}"
    assert "Granted." in page.html.find(role="status").text
    [row] = service.rows(grant, grant.c.identity_id == ada)
    assert (row["role"], row["scope_type"], row["expires_at"]) == ("writer", "environment", 1_924_970_400_000)
    assert [one["action"] for one in service.audit()][-1] == "grant.create"


@pytest.mark.parametrize(
    ("scope", "scope_type"), [("*", "global"), ("shop", "project"), ("shop/dev", "environment")]
)
def test_a_group_and_a_service_token_are_granted_roles_by_name(browser, service, scope, scope_type):
    team, robot = service.group("team"), service.identity_id("Deploy", "service")
    service.identity_id("deploy", "user")
    for kind, name, column in (("group", "team", "group_id"), ("service", "Deploy", "identity_id")):
        fields = {"holder_kind": kind, "holder": name, "role": "reader", "scope": scope, "expires_at": ""}
        page = submit(browser.open("/grants"), "/grants", **fields)
        assert page.request.path in (f"/groups/{team}", f"/identities/{robot}")
        [row] = service.rows(grant, grant.c[column] == (team if kind == "group" else robot))
        assert (row["scope_type"], row["expires_at"]) == (scope_type, None)


@pytest.mark.parametrize(
    ("changes", "field", "status"),
    [
        ({"holder": "nobody@example.com"}, "holder", 422),
        ({"holder_kind": "service"}, "holder", 422),
        ({"holder_kind": "group"}, "holder", 422),
        ({"holder": " "}, "holder", 422),
        ({"holder": EVIL}, "holder", 422),
        ({"scope": ""}, "scope", 422),
        ({"expires_at": "tomorrow"}, "expires_at", 422),
        ({"expires_at": "0001-01-01T00:00"}, "expires_at", 422),
        ({"expires_at": "٢٠٣٠-12-31T18:00"}, "expires_at", 422),
        ({}, None, 409),
    ],
    ids=str,
)
def test_a_refused_grant_keeps_all_that_was_typed_and_says_why(browser, service, changes, field, status):
    service.grant(ADA, "writer", "shop/prod")
    typed = {"holder_kind": "user", "holder": ADA, "role": "writer", "scope": "shop/prod"}
    typed = typed | {"expires_at": "2030-12-31T18:00"} | changes
    page = submit(browser.open("/grants"), "/grants", status, **typed)
    form = next(one for one in set(page.forms.values()) if one.action == "/grants")
    assert {name: form[name].value for name in typed} == typed
    assert page.html.find(role="alert")
    if field:
        assert page.html.find(id=field)["aria-invalid"] == "true"
        assert page.html.find(id=f"{field}-help").find(class_="issue")
    assert len(service.rows(grant)) == 2


def test_only_scopes_that_the_caller_administers_are_offered_and_granted(browser, service):
    service.user().post("/projects", {"slug": "depot", "name": "Depot"}, 201)
    service.user().post("/projects/depot/environments", {"slug": "prod", "name": "Prod"}, 201)
    everything = ["*", "depot", "depot/prod", "shop", "shop/dev", "shop/prod"]
    assert scopes(browser.open("/grants")) == everything
    service.grant(ADA, "admin", "shop/prod")
    service.grant(ADA, "writer", "depot")
    ada = Browser(service, ADA)
    page = ada.open("/grants")
    assert scopes(page) == ["shop/prod"]
    service.grant(EVE, "admin", "shop")
    assert scopes(Browser(service, EVE).open("/grants")) == ["shop", "shop/dev", "shop/prod"]
    token = page.html.find("input", {"name": "csrf"})["value"]
    fields = {"csrf": token, "holder_kind": "user", "holder": ADA, "role": "admin", "expires_at": ""}
    for scope, status in (("*", 403), ("shop", 403), ("depot", 403), ("absent", 404), ("shop/dev", 404)):
        ada.post("/grants", fields | {"scope": scope}, status=status)
    ada.post("/grants", fields | {"scope": "shop/prod/x"}, status=422)
    ada.post("/grants", fields | {"scope": "shop/prod", "role": "owner"}, status=422)


def test_grants_are_listed_with_holder_scope_role_expiry_and_maker(browser, service, monkeypatch):
    clock = StoppedClock(monkeypatch)
    submit(
        browser.open("/grants"), "/grants", holder_kind="user", holder=ADMIN, role="reader", scope="shop/prod"
    )
    service.grant(ADA, "reader", "shop", expires_at=clock.now)
    service.grant(service.group("team"), "writer", "shop", group=True, expires_at=clock.now + 7 * DAY)
    service.grant(ADA, "writer", "shop", expires_at=clock.now + 7 * DAY + 1)
    found = rows(browser.open("/grants"))
    assert found[0].startswith(f"{ADMIN} person admin everywhere never by system,")
    assert found[1].startswith(f"{ADMIN} person reader shop / prod never by {ADMIN},")
    assert "reader shop" in found[2]
    assert "expired" in found[2]
    assert found[3].startswith("team group writer shop")
    assert "expires within 7 days" in found[3]
    assert "within" not in found[4]
    assert "expired" not in found[4]


def test_a_grant_is_removed_by_its_button(browser, service):
    made = service.grant(ADA, "reader", "shop/prod")
    page = press(browser.open("/grants"), "/remove-grant", "chosen", str(made))
    assert page.request.path == "/grants"
    assert "Removed." in page.html.find(role="status").text
    assert not service.rows(grant, grant.c.id == made)


@pytest.mark.parametrize("place", PLACES)
def test_a_grant_is_removed_where_it_holds(browser, service, place):
    made = service.grant(ADA, "reader", "shop/prod")
    page = press(browser.open(place), "/access", "chosen", str(made))
    assert page.request.path == place
    assert not service.rows(grant, grant.c.id == made)


def test_a_button_of_no_grant_or_of_somebody_elses_is_refused(browser, service):
    out_of_reach = service.grant(EVE, "reader", "shop/dev")
    service.grant(ADA, "admin", "shop/prod")
    ada = Browser(service, ADA)
    fields = {"csrf": ada.open("/grants").html.find("input", {"name": "csrf"})["value"]}
    for chosen, status in ((str(out_of_reach), 404), (str(new_id()), 404), ("x", 422), ("", 422)):
        ada.post("/access/remove-grant", fields | {"chosen": chosen}, status=status)
    assert service.rows(grant, grant.c.id == out_of_reach)
    assert [row["action"] for row in service.denials()] == ["authz.environment.admin"]


def test_the_last_admin_stays_and_the_page_says_why(make_service):
    first = make_service()
    first.user()
    Browser(first).open("/whoami")
    service = make_service(BOOTSTRAP_ADMINS="")
    [row] = service.rows(grant)
    browser = Browser(service)
    for path in ("/grants", f"/identities/{row['identity_id']}"):
        page = press(browser.open(path), "/remove-grant", "chosen", str(row["id"]), 409)
        assert "last usable global administrator" in page.html.find(role="alert").text
        assert page.html.find("h1")
    page = press(browser.open(f"/identities/{row['identity_id']}"), "/switch", "disabled", "yes", 409)
    assert "last usable" in page.html.find(role="alert").text
    assert [one["id"] for one in service.rows(grant)] == [row["id"]]


def test_who_was_denied_without_a_grant_leads_to_a_form_filled_in_for_them(browser, service):
    Browser(service, EVE).open("/projects/shop/settings", 404)
    for _ in range(3):
        service.robot("a&b=c #<i>").get("/projects/shop", 404)
    page = browser.open("/access/unknown-identities")
    found = rows(page)
    assert found[1].startswith(f"{EVE} person 1 ")
    assert found[0].startswith("a&b=c #<i> service token 3 ")
    links = [link["href"] for link in page.html.select("td a")]
    for link, kind, subject in ((links[1], "user", EVE), (links[0], "service", "a&b=c #<i>")):
        form = next(one for one in browser.open(link).forms.values() if one.action == "/grants")
        assert (form["holder_kind"].value, form["holder"].value) == (kind, subject)


@pytest.mark.parametrize("place", PLACES)
def test_who_can_read_a_place_is_shown_with_the_deciding_source(browser, service, place):
    service.grant(ADA, "writer", "shop", expires_at=2**52)
    service.grant(service.group("team", EVE), "reader", group=True)
    service.grant("gone@example.com", "admin")
    service.disable("gone@example.com")
    service.grant("other@example.com", "reader", "shop/dev")
    service.grant("late@example.com", "reader", "shop", expires_at=1)
    found = rows(browser.open(place), "section[aria-labelledby=readers]")
    assert [row.partition(" never")[0] for row in found][::2] == [
        f"{ADMIN} admin admin everywhere, granted directly",
        f"{EVE} reader reader everywhere, through group team",
    ]
    assert found[1].startswith(f"{ADA} writer writer at shop, granted directly")


def test_a_projects_page_shows_the_grants_below_it_and_an_environments_its_own(browser, service):
    service.grant(ADA, "reader", "shop")
    service.grant(EVE, "reader", "shop/dev")
    below, here = (words(browser.open(place), "section[aria-labelledby=grants]") for place in PLACES)
    assert ADA in below
    assert EVE in below
    assert "no grants" in here


@pytest.mark.parametrize("place", PLACES)
def test_who_can_read_a_place_is_for_its_admins_and_so_is_its_tab(admin, service, place):
    service.grant(ADA, "writer", "shop")
    browser = Browser(service, ADA)
    page = browser.open(f"{place.removesuffix('access')}settings")
    assert "Access" not in words(page, "nav.tabs")
    browser.open(place, 403)
    Browser(service, EVE).open(place, 404)
    Browser(service, ADMIN).open(place.replace("shop", "absent"), 404)
    page = Browser(service).open(place)
    assert page.html.select_one("nav.tabs [aria-current=page]").text == "Access"


@pytest.mark.parametrize("path", PAGES)
def test_pages_of_access_are_for_whoever_administers_something(admin, service, path):
    service.grant(ADA, "writer", "global")
    browser = Browser(service, ADA)
    browser.open(path, 403)
    assert path not in words(browser.open("/whoami"), "header")
    assert service.denials()[-1]["action"] == "authz.global.admin"
    service.grant(ADA, "admin", "shop/prod")
    page = browser.open(path)
    shown = [link.text for link in page.html.select("header nav a")]
    assert {"Identities", "Groups", "Grants"} <= {*shown}


@pytest.mark.parametrize("path", ["/grants", *PLACES])
def test_a_page_costs_the_same_however_much_is_listed(make_service, path):
    arrange(make_service(), "shop", "prod")
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    browser, costs = Browser(service), []
    for count in (2, 30):
        fill_from = service.count(grant)
        for number in range(count):
            service.grant(f"p{fill_from}-{number}@example.com", "reader", "shop/prod")
            team = service.group(f"t{fill_from}-{number}", f"p{fill_from}-{number}@example.com")
            service.grant(team, "writer", "shop", group=True)
        browser.open(path)
        with recorded(service.engine) as statements:
            browser.open(path)
        costs.append(len(statements))
    assert costs[0] == costs[1] <= 6


def test_grants_come_in_pages_of_a_hundred(browser, service):
    places = service.scope("shop/prod")
    people = [new_id() for _ in range(120)]
    seen = {"kind": "user", "disabled": False, "created_at": 1, "last_seen_at": 1}
    service.execute(identity.insert(), [{"id": one, "subject": f"{one}@x", **seen} for one in people])
    terms = {"role": "reader", "created_at": 1, **places}
    service.execute(grant.insert(), [{"id": new_id(), "identity_id": one, **terms} for one in people])
    page = browser.open("/grants")
    assert len(page.html.select("tbody tr")) == 100
    page = page.click("More grants")
    assert len(page.html.select("tbody tr")) == 21
    assert not page.html.find("a", rel="next")
    browser.open("/grants?cursor=x", 422)


def test_hostile_names_are_shown_as_text(browser, service):
    robot = service.identity_id(EVIL, "service")
    service.grant(robot, "reader", "shop/prod")
    admin = service.user()
    admin.patch(f"/identities/{robot}", {"display_name": EVIL})
    made = admin.post("/groups", {"slug": "evil", "name": EVIL, "description": EVIL}, 201).json["id"]
    admin.post(f"/groups/{made}/members", {"identity_id": str(robot)}, 201)
    service.robot(f"{EVIL} 2").get("/projects/shop", 404)
    for path in (*PAGES, *PLACES, f"/identities/{robot}", f"/groups/{made}", "/identities?q=%3Cb%3E"):
        page = browser.open(path)
        assert EVIL in page.html.text or page.html.find(attrs={"value": EVIL})
        assert not page.html.find("b")
        assert all(script.get("src") for script in page.html.find_all("script"))
        assert not page.html.find(style=True)
    page = browser.open("/grants?holder=%3Cb%3E%22&scope=%3Cb%3E&role=%3Cb%3E&holder_kind=%3Cb%3E")
    assert page.html.find(id="holder")["value"] == '<b>"'
    assert not page.html.find("b")
