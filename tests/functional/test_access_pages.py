"""The access of a scope, the list of grants, and who was turned away, without JavaScript."""

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
PROJECT, PROD = SCOPES = ("/projects/shop/access", "/projects/shop/environments/prod/access")
PAGES = ("/grants", "/access/unknown-identities", "/identities", "/groups")
TURNED_AWAY = "section[aria-labelledby=ta]"


def table(page):
    """What the table of access says: by name, the cells of the row, without its menu."""
    found = {}
    for row in page.html.select("table.access tbody tr:not(.grow-row)"):
        name = row.select_one(".who > span:last-child").find(string=True)
        cells = [" ".join(cell.get_text(" ").split()) for cell in row.select("td:not(.corner)")]
        found[name] = [cell.removeprefix("– ") for cell in cells]
    return found


def menu(page, name):
    """The menu of somebody's row."""
    (found,) = page.html.select(f'summary[aria-label="Actions for {name}"]')
    return found.parent


def segments(page):
    return {link.text.split()[0]: link.b.text for link in page.html.select("nav.seg a")}


@pytest.mark.both_engines
def test_the_table_has_a_role_for_each_environment_and_what_it_comes_through(browser, service, monkeypatch):
    clock = StoppedClock(monkeypatch)
    service.grant(ADA, "writer", "shop/prod", expires_at=clock.now + 6 * DAY)
    team = service.group("team", ADA, EVE)
    service.grant(team, "reader", "shop", group=True)
    service.grant(service.identity_id("robot", "service"), "reader", "shop/dev")
    service.grant("reader@example.com", "reader")
    assert table(browser.open(PROJECT)) == {
        ADMIN: ["admin", "admin", "everywhere, directly", "never"],
        "reader@example.com": ["reader", "reader", "everywhere, directly", "never"],
        ADA: ["writer", "reader", "directly and team", "in 6 days"],
        EVE: ["reader", "reader", "team", "never"],
        "team": ["reader", "reader", "directly", "never"],
        "robot": ["no role", "reader", "directly", "never"],
    }
    page = browser.open(PROD)
    browser.open(page.html.select_one(".acts a")["href"])
    found = table(page)
    assert found[ADA] == ["writer", "directly", "in 6 days"]
    assert "robot" not in found


@pytest.mark.both_engines
def test_people_have_their_names_and_groups_their_size(browser, service):
    service.user().patch(f"/identities/{service.identity_id(ADA)}", {"display_name": "Ada L."})
    service.grant(ADA, "reader", "shop")
    service.grant(service.group("team", ADA, EVE), "reader", "shop", group=True)
    page = browser.open(PROJECT)
    shown = words(page, "table.access")
    assert "Ada L. ada @example.com" in shown
    assert "team group of 2" in shown


def beside(page):
    """The number at "Access" in the sidebar, "" where there is none."""
    link = page.html.find(id="side").find("a", href=PROJECT)
    return link.text.removeprefix("Access") if link else None


@pytest.mark.both_engines
def test_the_number_beside_access_is_how_many_its_page_lists(make_service, monkeypatch):
    clock = StoppedClock(monkeypatch)
    service = make_service(BOOTSTRAP_ADMINS=f"{ADMIN},listed@example.com,off@example.com")
    arrange(service, "shop", "prod", "dev")
    arrange(service, "other", "prod")
    browser = Browser(service)
    assert beside(browser.open("/projects/shop")) == "1"
    for someone in ("listed@example.com", "off@example.com", "member@example.com"):
        service.identity_id(someone)
    team = service.group("team", ADA, "off@example.com", "member@example.com")
    service.grant(team, "reader", "shop", group=True)
    service.grant(service.group("elsewhere", "far@example.com"), "reader", "other", group=True)
    service.grant(service.group("late", "later@example.com"), "reader", "shop", group=True, expires_at=1)
    service.grant(ADA, "writer", "shop/prod", expires_at=clock.now + DAY)
    service.grant(ADA, "reader", "shop/dev")
    service.grant("gone@example.com", "admin", "shop")
    service.grant(service.identity_id("robot", "service"), "reader")
    for someone in ("off@example.com", "gone@example.com"):
        service.disable(someone)
    for path in ("/projects/shop", "/projects/shop/environments/prod/history", PROJECT):
        page = browser.open(path)
        assert beside(page) == "7", path
    assert segments(page)["All"] == "7"
    service.grant("rita@example.com", "admin", "shop/prod")
    assert beside(Browser(service, "rita@example.com").open("/projects/shop")) is None


@pytest.mark.parametrize("page_path", SCOPES)
def test_what_holds_nothing_is_left_out_or_says_so(browser, service, page_path):
    service.grant("gone@example.com", "admin", "shop")
    service.grant(service.group("team", "gone@example.com", "off@example.com"), "reader", "shop", group=True)
    service.disable("gone@example.com")
    service.disable("off@example.com")
    service.grant("late@example.com", "reader", "shop", expires_at=1)
    found = table(browser.open(page_path))
    assert "off@example.com" not in found
    assert "late@example.com" not in found
    assert {*found["gone@example.com"][:-2]} == {"no role"}
    assert "gone@example.com person, disabled" in words(browser.open(page_path), "table.access")


@pytest.mark.both_engines
def test_somebody_listed_is_shown_before_any_row_says_so(make_service):
    service = make_service()
    arrange(service, "shop", "prod")
    other = make_service(BOOTSTRAP_ADMINS=f"{ADMIN},{ADA}")
    other.identity_id(ADA)
    assert table(Browser(other).open(PROJECT))[ADA] == [
        "admin",
        "everywhere, named in BOOTSTRAP_ADMINS",
        "never",
    ]


def test_filters_pick_out_kinds_ends_names_and_environments(browser, service, monkeypatch):
    clock = StoppedClock(monkeypatch)
    service.grant(ADA, "writer", "shop/prod", expires_at=clock.now + 7 * DAY - 1)
    service.grant(EVE, "writer", "shop/dev", expires_at=clock.now + 7 * DAY)
    service.grant(service.group("team"), "reader", "shop", group=True)
    service.grant(service.identity_id("robot", "service"), "reader", "shop/dev")
    service.grant("late@example.com", "writer", "shop/prod", expires_at=clock.now - 3 * DAY)
    page = browser.open(PROJECT)
    counts = {"All": "5", "People": "3", "Groups": "1", "Service": "1", "Ending": "1", "Ended": "1"}
    assert segments(page) == counts
    assert "One role ends this week." in words(page, ".head")
    for query, found in (
        ("show=people", {ADMIN, ADA, EVE}),
        ("show=groups", {"team"}),
        ("show=service-tokens", {"robot"}),
        ("show=ending-soon", {ADA}),
        ("q=A%40exam", {ADA}),
        ("q=TEAM&show=groups", {"team"}),
        ("env=dev", {ADMIN, EVE, "team", "robot"}),
    ):
        assert table(browser.open(f"{PROJECT}?{query}")).keys() == found, query
    ended = table(browser.open(f"{PROJECT}?show=ended"))
    assert ended == {"late@example.com": ["writer", "no role", "directly", "ended 3 days ago"]}
    assert "Nobody matches." in words(browser.open(f"{PROJECT}?q=nobody"))


@pytest.mark.parametrize("page_path", SCOPES)
def test_why_somebody_has_a_role_stands_below_the_row_the_deciding_source_first(browser, service, page_path):
    service.grant(ADA, "writer", "shop/prod", expires_at=2**50)
    team = service.group("team", ADA)
    service.grant(team, "reader", "shop", group=True)
    page = browser.open(page_path)
    assert not page.html.find(id="why")
    page = page.click("Why these roles", index=1)
    lines = [" ".join(line.get_text(" ").split()) for line in page.html.select("#why li")]
    assert lines[0].startswith("Writer in Prod , given directly by the system,")
    assert lines[0].endswith("decides" if page_path == PROD else "decides in Prod")
    through = "through the group team ." + (
        " This is what is left when the other ends. weaker" * (page_path == PROD)
    )
    assert through in lines[1]
    assert page.html.select_one(f'#why a[href="/groups/{team}"]')
    if page_path == PROJECT:
        assert lines[2] == f"No grant lets {ADA} write in Dev."


def test_why_somebody_cannot_is_one_click_away(browser, service):
    ada = service.identity_id(ADA)
    service.grant(ADA, "reader", "shop/prod")
    page = browser.open(PROJECT)
    row = page.html.find(id=str(ada))
    assert {link["href"] for link in row.select("td[data-h] a")} == {f"{PROJECT}?why={ada}#why"}
    page = browser.open(f"{PROJECT}?why={ada}")
    assert f"No grant lets {ADA} write in Prod, Dev." in words(page, "#why")


@pytest.mark.parametrize("page_path", SCOPES)
def test_a_grant_is_extended_by_a_week_from_its_row(browser, service, page_path, monkeypatch):
    clock = StoppedClock(monkeypatch)
    made = service.grant(ADA, "writer", "shop/prod", expires_at=clock.now + 3 * DAY)
    page = browser.open(page_path)
    button = menu(page, ADA).button
    assert " ".join(button.text.split()) == "Extend by a week writer in Prod"
    page = press(page, "/extend-grant", "chosen", button["value"])
    assert page.request.path == page_path
    assert "ends later now" in words(page, "[role=status]")
    [row] = service.rows(grant, grant.c.id == made)
    assert row["expires_at"] == clock.now + 10 * DAY
    assert [one["action"] for one in service.audit()][-1] == "grant.update"


def test_a_second_click_does_not_extend_twice_and_what_was_shortened_is_looked_at_first(
    browser, service, admin, monkeypatch
):
    clock = StoppedClock(monkeypatch)
    made = service.grant(ADA, "writer", "shop/prod", expires_at=clock.now + 3 * DAY)
    page = browser.open(PROD)
    button = menu(page, ADA).button["value"]
    press(page, "/extend-grant", "chosen", button)
    again = press(page, "/extend-grant", "chosen", button)
    assert "No changes to save." in words(again, "[role=status]")
    assert service.rows(grant, grant.c.id == made)[0]["expires_at"] == clock.now + 10 * DAY
    admin.patch(f"/grants/{made}", {"expires_at": clock.now + DAY})
    refused = press(page, "/extend-grant", "chosen", button, 409)
    assert "Somebody has changed the end" in words(refused, "[role=alert]")
    assert service.rows(grant, grant.c.id == made)[0]["expires_at"] == clock.now + DAY


def test_a_grant_that_has_ended_is_renewed_for_a_week_from_now(browser, service, monkeypatch):
    clock = StoppedClock(monkeypatch)
    made = service.grant(ADA, "writer", "shop/prod", expires_at=1)
    page = browser.open(f"{PROJECT}?show=ended")
    button = menu(page, ADA).button
    assert button.text.strip().startswith("Renew for a week")
    press(page, "/extend-grant", "chosen", button["value"])
    assert service.rows(grant, grant.c.id == made)[0]["expires_at"] == clock.now + 7 * DAY


@pytest.mark.parametrize("page_path", SCOPES)
def test_a_grant_is_removed_where_it_holds_after_a_look_at_it(browser, service, page_path):
    made = service.grant(ADA, "reader", "shop/prod")
    (link,) = [one for one in menu(browser.open(page_path), ADA).find_all("a") if "Remove" in one.text]
    page = browser.open(link["href"])
    assert f"{ADA} holds reader in Prod" in words(page, "[role=dialog]")
    assert page.html.select_one(".app").has_attr("inert")
    assert service.rows(grant, grant.c.id == made)
    page = submit(page, "/remove-grant")
    assert page.request.path == page_path
    assert "The grant was removed." in words(page, "[role=status]")
    assert not service.rows(grant, grant.c.id == made)


@pytest.mark.both_engines
def test_only_what_the_caller_may_change_is_offered(admin, service):
    service.grant(ADA, "admin", "shop/prod")
    service.grant(EVE, "writer", "shop")
    service.grant(service.group("team", "max@example.com"), "reader", "shop/prod", group=True)
    page = Browser(service, ADA).open(PROD)
    assert "Made above this project" in menu(page, EVE).text
    assert "Comes through a group" in menu(page, "max@example.com").text
    assert "Remove" in menu(page, "team").text
    page = Browser(service, ADA).open(
        f"{PROD}?remove={service.rows(grant, grant.c.role == 'writer')[0]['id']}"
    )
    assert not page.html.select_one("[role=dialog]")


def test_who_would_lock_themselves_out_is_told_before(admin, service):
    mine = service.grant(ADA, "admin", "shop/prod")
    page = Browser(service, ADA).open(f"{PROD}?remove={mine}")
    assert "You administer this place by this very grant." in words(page, "[role=dialog]")
    page = Browser(service).open(f"{PROD}?remove={mine}")
    assert "by this very grant" not in words(page, "[role=dialog]")


def test_a_button_of_no_grant_or_of_somebody_elses_is_refused(browser, service):
    out_of_reach = service.grant(EVE, "reader", "shop/dev")
    service.grant(ADA, "admin", "shop/prod")
    ada = Browser(service, ADA)
    fields = {"csrf": ada.open("/grants").html.find("input", {"name": "csrf"})["value"]}
    for chosen, status in ((str(out_of_reach), 404), (str(new_id()), 404), ("x", 422), ("", 422)):
        for path in ("/access/remove-grant", f"{PROD.removesuffix('access')}remove-grant"):
            removed = ada.post(path, fields | {"chosen": chosen}, status=303 if status == 404 else status)
            if status == 404:
                assert "Nothing was removed" in words(removed.follow(), "[role=status]")
        ada.post("/access/extend-grant", fields | {"chosen": f"{chosen}/1"}, status=status)
    assert service.rows(grant, grant.c.id == out_of_reach)
    assert {row["action"] for row in service.denials()} == {"authz.environment.admin"}


@pytest.mark.slow
def test_the_last_admin_stays_and_the_page_says_why(make_service):
    first = make_service()
    first.user()
    Browser(first).open("/whoami")
    service = make_service(BOOTSTRAP_ADMINS="")
    [row] = service.rows(grant)
    browser = Browser(service)
    who = f"/identities/{row['identity_id']}"
    for path in (f"/grants?remove={row['id']}", f"{who}?remove={row['id']}"):
        page = submit(browser.open(path), "/remove-grant", 409)
        assert "last usable global administrator" in words(page, "[role=alert]")
        assert page.html.find("h1")
    page = submit(browser.open(f"{who}?disable"), "/switch", 409)
    assert "last usable" in words(page, "[role=alert]")
    assert [one["id"] for one in service.rows(grant)] == [row["id"]]


def test_who_was_turned_away_leads_to_a_panel_filled_in_for_them_and_their_scope(browser, service):
    Browser(service, EVE).open("/projects/shop/settings", 404)
    for _ in range(3):
        service.robot("a&b=c #<i>").get("/projects/shop/environments/prod/secrets", 404)
    page = browser.open("/access/unknown-identities")
    found = rows(page)
    assert found[0].startswith("AB a&b=c #<i> service token 3 Shop / Prod ")
    assert found[1].startswith(f"E {EVE} person 1 Shop ")
    for source in (page, browser.open(PROJECT)):
        links = [link["href"] for link in source.html.select("a.btn.s") if "Give access" in link.text]
        for link, holder, scope in (
            (links[0], "a&b=c #<i> (service token)", "shop/prod"),
            (links[1], EVE, "shop"),
        ):
            form = dialog(browser.open(link))
            assert (form["holder"].value, form["scope"].value) == (holder, scope)
    lately = words(browser.open(PROD), TURNED_AWAY)
    assert "a&b=c #<i> 3 attempts on Shop / Prod, last" in lately
    assert EVE not in lately


def dialog(page):
    """The form of the open panel."""
    (panel,) = page.html.select("[role=dialog] form")
    return next(
        form for form in page.forms.values() if form.action == panel["action"] and "role" in form.fields
    )


@pytest.mark.parametrize("page_path", SCOPES)
def test_access_is_for_the_admins_of_a_scope_and_so_is_its_tab(admin, service, page_path):
    service.grant(ADA, "writer", "shop")
    browser = Browser(service, ADA)
    page = browser.open(f"{page_path.removesuffix('access')}settings")
    assert page_path not in {link["href"] for link in page.html.select("nav a")}
    browser.open(page_path, 403)
    Browser(service, EVE).open(page_path, 404)
    Browser(service, ADMIN).open(page_path.replace("shop", "absent"), 404)
    page = Browser(service).open(page_path)
    current = [link["href"] for link in page.html.select("nav [aria-current=page]")]
    assert page_path in current


@pytest.mark.parametrize("path", PAGES)
def test_pages_of_access_are_for_whoever_administers_something(admin, service, path):
    service.grant(ADA, "writer", "global")
    browser = Browser(service, ADA)
    browser.open(path, 403)
    assert path not in {link["href"] for link in browser.open("/whoami").html.select("nav a")}
    assert service.denials()[-1]["action"] == "authz.global.admin"
    service.grant(ADA, "admin", "shop/prod")
    page = browser.open(path)
    shown = [link.text for link in page.html.select("header nav a")]
    assert {"People and tokens", "Groups", "Grants"} <= {*shown}


@pytest.mark.slow
@pytest.mark.both_engines
@pytest.mark.parametrize(
    ("path", "most"),
    [
        # Authentication, holders, members, who was turned away, and the shell.
        *((page_path, 5) for page_path in SCOPES),
        # Names for the panel.
        *((f"{page_path}?grant", 6) for page_path in SCOPES),
        ("/grants", 2),
        # Names and scopes.
        ("/grants?grant", 4),
    ],
)
def test_a_page_costs_the_same_however_much_is_listed(make_service, path, most):
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
    assert costs[0] == costs[1] == most


def test_grants_are_listed_with_holder_scope_end_and_maker(browser, service, monkeypatch):
    clock = StoppedClock(monkeypatch)
    service.grant(ADA, "reader", "shop", expires_at=clock.now)
    service.grant(service.group("team"), "writer", "shop", group=True, expires_at=clock.now + 7 * DAY)
    service.grant(ADA, "writer", "shop/prod", expires_at=clock.now + 7 * DAY + 1)
    page = browser.open("/grants")
    found = rows(page)
    assert f"{ADMIN} person admin everywhere" in found[0]
    assert "by the system never" in found[0]
    assert f"{ADA} person reader Shop" in found[1]
    assert "ended just now" in found[1]
    assert "team group writer Shop" in found[2]
    pills = [row.select_one("td[data-h=Ends] .pill") for row in page.html.select("tbody tr")]
    assert [pill and pill["class"] for pill in pills] == [None, ["pill", "bad"], ["pill", "warn"], None]
    assert [link["href"] for link in page.html.select("td[data-h=Where] a")] == [PROJECT, PROJECT, PROD]


@pytest.mark.both_engines
def test_grants_are_found_by_the_names_of_holders_and_scopes(browser, service):
    service.grant(ADA, "reader", "shop/dev")
    service.grant(service.group("team"), "writer", "shop", group=True)
    for text, found in (("ADA@", 1), ("team", 1), ("dev", 1), ("SHOP", 2), ("%", 0), ("", 3)):
        page = browser.open("/grants", params={"q": text})
        assert len(rows(page)) == found, text
    assert "No grant matches." in words(browser.open("/grants?q=nobody"))


def test_a_grant_is_removed_and_extended_in_the_list(browser, service, monkeypatch):
    clock = StoppedClock(monkeypatch)
    made = service.grant(ADA, "reader", "shop/prod", expires_at=clock.now + DAY)
    page = press(browser.open("/grants"), "/extend-grant", "chosen", f"{made}/{clock.now + DAY}")
    assert page.request.path == "/grants"
    assert service.rows(grant, grant.c.id == made)[0]["expires_at"] == clock.now + 8 * DAY
    page = submit(page.click("Remove…", href=str(made)), "/remove-grant")
    assert page.request.path == "/grants"
    assert "The grant was removed." in words(page, "[role=status]")
    assert not service.rows(grant, grant.c.id == made)


@pytest.mark.slow
@pytest.mark.both_engines
def test_grants_come_in_pages_of_a_hundred(browser, service):
    scope = service.scope("shop/prod")
    people = [new_id() for _ in range(120)]
    seen = {"kind": "user", "disabled": False, "created_at": 1, "last_seen_at": 1}
    service.execute(identity.insert(), [{"id": one, "subject": f"{one}@x", **seen} for one in people])
    terms = {"role": "reader", "created_at": 1, **scope}
    service.execute(grant.insert(), [{"id": new_id(), "identity_id": one, **terms} for one in people])
    page = browser.open("/grants")
    assert len(page.html.select("tbody tr")) == 100
    page = page.click("More grants")
    assert len(page.html.select("tbody tr")) == 21
    assert not page.html.find("a", rel="next")
    browser.open("/grants?cursor=x", 422)


@pytest.mark.slow
def test_hostile_names_are_shown_as_text(browser, service):
    robot = service.identity_id(EVIL, "service")
    service.grant(robot, "reader", "shop/prod")
    admin = service.user()
    admin.patch(f"/identities/{robot}", {"display_name": EVIL})
    made = admin.post("/groups", {"slug": "evil", "name": EVIL, "description": EVIL}, 201).json["id"]
    admin.post(f"/groups/{made}/members", {"identity_id": str(robot)}, 201)
    service.robot(f"{EVIL} 2").get("/projects/shop", 404)
    asked = (
        f"{PROJECT}?why={robot}",
        f"{PROJECT}?grant",
        f"/identities/{robot}?grant",
        f"/groups/{made}?grant",
    )
    own = (
        f"/identities/{robot}",
        f"/identities/{robot}/exposure",
        f"/groups/{made}",
        "/identities?q=%3Cb%3E",
    )
    for path in (*PAGES, *SCOPES, *asked, *own):
        page = browser.open(path)
        assert EVIL in page.html.text or page.html.find(attrs={"value": EVIL})
        assert not page.html.find("script", src=None)
        assert not [bold for bold in page.html.find_all("b") if "1+1" in bold.text and "<b>" not in bold.text]
        assert not page.html.find(style=True)
    page = browser.open("/grants?grant&holder=%3Cb%3E%22&scope=%3Cb%3E&role=%3Cb%3E")
    assert page.html.find(id="holder")["value"] == '<b>"'
