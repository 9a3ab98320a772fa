"""The pages of identities, and the caller's own, without JavaScript."""

from __future__ import annotations

import pytest
from pages import Browser, press, rows, submit, words
from resource_fields import log
from secrets_client import Vault
from service import ADMIN, HEADER, arrange
from statements import recorded
from stopped_clock import StoppedClock

from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant
from secretsvc.tables.identities import identity

ADA, EVE = "ada@example.com", "eve@example.com"
EFFECTIVE = "section[aria-labelledby=effective]"


def role_map(page):
    """By project, the cells of the map."""
    found = {}
    for row in page.html.select(f"{EFFECTIVE} table tbody tr"):
        cells = [" ".join(cell.get_text(" ").split()) for cell in row.select("td[data-h]")]
        name = row.th.select_one(".who > span:last-child").find(string=True)
        found[name] = [cell.removeprefix("– ") for cell in cells]
    return found


def why(page):
    return [" ".join(line.get_text(" ").split()).replace(" ,", ",") for line in page.html.select("#why li")]


@pytest.mark.both_engines
def test_everyone_sees_who_they_are_and_what_they_may_do_by_which_grant(admin, service):
    service.grant(ADA, "reader", "shop")
    service.grant(service.group("team", ADA), "writer", "shop/prod", group=True)
    page = Browser(service, ADA).open("/whoami")
    assert f"You are {ADA} · person" in words(page)
    assert "Role everywhere none" in words(page)
    assert role_map(page) == {"Shop": ["writer team", "reader directly"]}
    page = page.click(r"Why\?")
    lines = why(page)
    assert lines[0] == "Writer in Prod, through the group team. decides in Prod"
    assert lines[1].startswith("Reader in the whole project, given directly by the system,")
    assert lines[2] == "No grant lets you write in Dev."
    assert not page.html.select(f"{EFFECTIVE} a[href^='/groups']")


def test_an_environment_alone_is_shown_without_those_beside_it(admin, service):
    service.grant(ADA, "reader", "shop/dev")
    page = Browser(service, ADA).open("/whoami")
    assert role_map(page) == {"Shop": ["reader directly"]}
    assert "1 of 1 environment" in words(page, EFFECTIVE)
    assert "Prod" not in words(page)


def test_whoever_holds_nothing_or_is_disabled_is_told_so(admin, service):
    eve = Browser(service, EVE)
    assert f"You have no role yet. Ask an administrator for one and name {EVE}" in words(eve.open("/whoami"))
    service.grant(EVE, "admin", "shop")
    service.disable(EVE)
    page = eve.open("/whoami")
    assert "You are disabled" in words(page)
    assert role_map(page) == {}
    eve.open("/identities", 403)


def test_somebody_listed_is_an_admin_before_any_row_says_so(make_service):
    arrange(make_service(), "shop", "prod")
    other = make_service(BOOTSTRAP_ADMINS=f"{ADMIN},{ADA}")
    ada = other.identity_id(ADA)
    page = Browser(other).open(f"/identities/{ada}?why=shop")
    assert role_map(page) == {"Shop": ["admin everywhere, named in BOOTSTRAP_ADMINS"]}
    assert why(page) == ["Admin everywhere, named in BOOTSTRAP_ADMINS . decides"]


@pytest.mark.both_engines
def test_a_service_token_sees_itself(admin, service):
    robot = Browser(service)
    robot.extra_environ["HTTP_" + HEADER.upper().replace("-", "_")] = service.issuer.service("Deploy")
    assert "You are Deploy · service token" in words(robot.open("/whoami"))


@pytest.mark.both_engines
def test_the_list_has_people_services_and_who_was_added_or_disabled(browser, service, admin):
    service.identity_id(ADA)
    service.identity_id("robot", "service")
    service.disable(ADA)
    admin.post("/identities", {"kind": "user", "subject": EVE}, 201)
    page = browser.open("/identities")
    counts = {link.find(string=True).strip(): link.b.text for link in page.html.select("nav.seg a")}
    assert counts == {"All": "4", "People": "3", "Services": "1", "Not signed in yet": "1", "Disabled": "1"}
    for show, found in (("people", 3), ("services", 1), ("announced", 1), ("disabled", 1), ("", 4)):
        assert len(rows(browser.open(f"/identities?show={show}"))) == found
    assert EVE in words(browser.open("/identities?show=announced"))
    assert "Nobody matches." in words(browser.open("/identities?show=disabled&q=robot"))
    browser.open("/identities?show=others", 422)


@pytest.mark.parametrize(
    ("kind", "typed", "subject"),
    [("user", "New@Example.com", "new@example.com"), ("service", "Bot 1", "Bot 1")],
)
def test_people_and_services_are_added_beforehand_from_panels(browser, service, kind, typed, subject):
    page = browser.open(f"/identities?new={kind}")
    page = submit(page, "/identities", subject=typed, display_name=" The new one ")
    [row] = service.rows(identity, identity.c.subject == subject)
    assert page.request.path == f"/identities/{row['id']}"
    assert (row["kind"], row["display_name"], row["last_seen_at"]) == (kind, "The new one", None)
    assert [one["action"] for one in service.audit()][-1] == "identity.create"
    refused = submit(browser.open(f"/identities?new={kind}"), "/identities", 409, subject=typed)
    assert refused.html.find(id="subject")["value"] == typed
    assert refused.html.select_one("[role=dialog] [role=alert]")


@pytest.mark.parametrize(
    ("kind", "typed"), [("user", "nobody"), ("user", ""), ("service", " x"), ("group", "x")]
)
def test_a_name_that_nobody_can_have_is_refused_and_kept(browser, service, kind, typed):
    token = browser.open("/identities?new=user").html.find("input", {"name": "csrf"})["value"]
    fields = {"csrf": token, "kind": kind, "subject": typed, "display_name": ""}
    page = browser.post("/identities", fields, status=422)
    if kind != "group":
        assert page.html.find(id="subject")["value"] == typed
        assert page.html.select_one("[role=dialog] [role=alert] a[href='#subject']")
    assert len(service.rows(identity)) == 1


def test_identities_are_found_by_a_part_of_their_subject_or_name(browser, service):
    ada, eve = service.identity_id(ADA), service.identity_id("100%_eve", "service")
    service.user().patch(f"/identities/{ada}", {"display_name": "Countess Lovelace"})
    service.disable("100%_eve")
    for text, found in (
        ("", {ADMIN, ADA, "100%_eve"}),
        ("ADA", {ADA}),
        ("lovelace", {ADA}),
        ("%_", {"100%_eve"}),
        ("x%25y", set()),
    ):
        page = browser.open("/identities", params={"q": text})
        links = page.html.select("tbody th a")
        subjects = {(link.small or link.select_one(".who > span:last-child")).text for link in links}
        assert subjects == found
        assert page.html.find(id="q")["value"] == text
    assert "100%_eve service disabled" in " ".join(rows(browser.open("/identities")))
    assert browser.open("/identities").html.find("a", href=f"/identities/{eve}")
    browser.open("/identities?q=%00", 422)
    browser.open(f"/identities?q={'x' * 321}", 422)


@pytest.mark.slow
@pytest.mark.both_engines
def test_identities_come_in_pages_of_a_hundred_that_keep_the_filter(browser, service):
    seen = {"kind": "service", "disabled": False, "created_at": 1, "last_seen_at": 1}
    service.execute(
        identity.insert(), [{"id": new_id(), "subject": f"robot-{n}", **seen} for n in range(130)]
    )
    page = browser.open("/identities?q=robot")
    assert len(rows(page)) == 100
    page = page.click("More people and tokens")
    assert len(rows(page)) == 30
    assert page.html.find(id="q")["value"] == "robot"


def test_an_identity_is_shown_with_its_roles_what_they_come_from_and_its_groups(
    browser, service, monkeypatch
):
    clock = StoppedClock(monkeypatch)
    service.grant(ADA, "writer", "shop/dev", expires_at=clock.now + 6 * 86_400_000)
    team = service.group("team", ADA, EVE)
    service.grant(team, "reader", "shop", group=True)
    page = browser.open(f"/identities/{service.identity_id(ADA)}")
    assert role_map(page) == {"Shop": ["reader team", "writer directly, 6 days"]}
    assert "Nothing everywhere." in words(page, EFFECTIVE)
    page = page.click(r"Why\?")
    lines = why(page)
    assert lines[0].startswith("Writer in Dev, given directly by the system,")
    assert lines[0].endswith("It ends in 6 days . decides in Dev")
    assert lines[1] == "Reader in the whole project, through the group team . decides in Prod"
    assert lines[2] == f"No grant lets {ADA} write in Prod."
    assert page.html.select_one(f'#why a[href="/groups/{team}"]')
    assert words(page, "section[aria-labelledby=groups]") == "Groups team 2 members"
    assert f"/audit?actor={ADA.replace('@', '%40')}" in {link["href"] for link in page.html.select(".acts a")}


def test_projects_without_a_role_are_counted(browser, service):
    service.user().post("/projects", {"slug": "depot", "name": "Depot"}, 201)
    service.grant(ADA, "reader", "shop")
    page = browser.open(f"/identities/{service.identity_id(ADA)}")
    assert "No role in 1 other project. Nothing everywhere." in words(page, EFFECTIVE)
    service.grant(ADA, "writer")
    page = browser.open(f"/identities/{service.identity_id(ADA)}?why=depot")
    assert "Writer everywhere, directly." in words(page, EFFECTIVE)
    assert "no environment yet" in words(page, EFFECTIVE)
    assert why(page)[0].endswith("decides")


def test_environments_beyond_the_columns_stand_in_words(browser, service, admin):
    for number in range(5):
        body = {"slug": f"env-{number}", "name": f"Env {number}"}
        admin.post("/projects/shop/environments", body, 201)
    service.grant(ADA, "reader", "shop")
    page = browser.open(f"/identities/{service.identity_id(ADA)}")
    assert len(role_map(page)["Shop"]) == 5
    assert "Env 3: reader" in words(page, EFFECTIVE)
    assert "Env 4: reader" in words(page, EFFECTIVE)


@pytest.mark.both_engines
def test_an_admin_of_one_project_sees_the_scopes_that_it_administers(admin, service):
    service.grant(ADA, "admin", "shop/prod")
    service.grant(EVE, "reader", "shop/prod")
    service.grant(EVE, "reader", "shop/dev")
    page = Browser(service, ADA).open(f"/identities/{service.identity_id(EVE)}")
    assert role_map(page) == {"Shop": ["reader directly"]}
    assert len(page.html.select("section[aria-labelledby=grants] tbody tr")) == 1
    assert "needs a global admin role" in words(page)


def test_an_identity_is_given_a_role_extended_and_loses_it_on_its_own_page(browser, service, monkeypatch):
    clock = StoppedClock(monkeypatch)
    ada = service.identity_id(ADA)
    page = browser.open(f"/identities/{ada}").click("Give a role")
    page = submit(page, "/give", role="writer", scope="shop/prod", until="1d")
    assert page.request.path == f"/identities/{ada}"
    assert role_map(page) == {"Shop": ["writer directly, tomorrow", "no role"]}
    [row] = service.rows(grant, grant.c.identity_id == ada)
    button = page.html.find("button", {"name": "chosen"})
    assert " ".join(button.text.split()) == "Extend by a week writer on Shop / Prod"
    page = press(page, "/extend-grant", "chosen", button["value"])
    assert service.rows(grant, grant.c.id == row["id"])[0]["expires_at"] == clock.now + 8 * 86_400_000
    page = submit(page.click("Remove…"), "/remove-grant")
    assert page.request.path == f"/identities/{ada}"
    assert role_map(page) == {}


def test_what_it_has_already_is_told_on_its_own_page(browser, service):
    made = service.grant(ADA, "writer", "shop/prod")
    ada = service.identity_id(ADA)
    page = browser.open(f"/identities/{ada}?grant")
    page = submit(page, "/give", 409, role="writer", scope="shop/prod")
    assert f"{ADA} is writer of Shop / Prod already." in words(page, "[role=dialog]")
    assert page.html.select_one(f'[role=dialog] a[href="/grants/{made}"]')
    browser.post(f"/identities/{new_id()}/give", {"csrf": ""}, status=403)


def test_an_identity_is_renamed_disabled_and_enabled(browser, service):
    ada = service.identity_id(ADA)
    page = browser.open(f"/identities/{ada}").click("Change the name")
    page = submit(page, f"/{ada}", display_name="  Ada L. ")
    assert page.html.find("h1").find(string=True).strip() == "Ada L."
    page = page.click("Disable…")
    assert not service.rows(identity, identity.c.id == ada)[0]["disabled"]
    assert "Whatever is granted stops holding" in words(page, "[role=dialog]")
    assert "This is you." not in words(page, "[role=dialog]")
    page = submit(page, "/switch")
    assert "Disabled." in words(page)
    assert service.rows(identity, identity.c.id == ada)[0]["disabled"]
    page = press(page, "/switch", "disabled", "no")
    assert "Enabled again." in words(page, "[role=status]")
    assert [row["action"] for row in service.audit()][-3:] == ["identity.update"] * 3


def test_who_would_disable_themselves_is_told_before(browser, service):
    page = browser.open(f"/identities/{service.identity_id(ADMIN)}?disable")
    assert "This is you. You cannot enable yourself again." in words(page, "[role=dialog]")


@pytest.mark.parametrize("name", ["", " ", "x" * 257])
def test_a_name_that_is_none_is_refused_and_kept(browser, service, name):
    ada = service.identity_id(ADA)
    page = submit(browser.open(f"/identities/{ada}?rename"), f"/{ada}", 422, display_name=name)
    assert page.html.find(id="display_name")["value"] == name
    assert page.html.find(id="display_name")["aria-invalid"] == "true"
    assert page.html.select_one("[role=dialog] [role=alert]").a.text.startswith("Name: ")


@pytest.mark.both_engines
def test_what_is_not_the_callers_to_change_is_denied(admin, service):
    service.grant(ADA, "admin", "shop")
    eve, ada = service.identity_id(EVE), Browser(service, ADA)
    token = (
        ada.open("/whoami?x=1") and ada.open("/grants?grant").html.find("input", {"name": "csrf"})["value"]
    )
    ada.post(f"/identities/{eve}", {"csrf": token, "display_name": "E"}, status=403)
    ada.post(f"/identities/{eve}/switch", {"csrf": token, "disabled": "yes"}, status=403)
    browser = Browser(service)
    token = browser.open("/grants?grant").html.find("input", {"name": "csrf"})["value"]
    browser.post(f"/identities/{eve}/switch", {"csrf": token, "disabled": "maybe"}, status=422)
    browser.post(f"/identities/{eve}/switch", {"disabled": "yes"}, status=403)
    for panel in ("rename", "disable"):
        page = ada.open(f"/identities/{eve}?{panel}")
        assert not page.html.select_one("[role=dialog]")
        assert "needs a global admin role" in words(page)
    browser.open(f"/identities/{new_id()}", 404)
    browser.open("/identities/nobody", 422)
    assert not service.rows(identity, identity.c.disabled)


@pytest.mark.slow
@pytest.mark.both_engines
@pytest.mark.parametrize(
    ("path", "most"),
    [
        # Authentication, the page, the counts.
        ("/identities", 3),
        # Authentication, the identity, its grants with those of its groups, its groups, the projects.
        # Two of what it did lately.
        ("/identities/{ada}", 7),
        ("/identities/{ada}?why=shop", 7),
        # And the scopes.
        ("/identities/{ada}?grant", 8),
        ("/whoami", 5),
    ],
)
def test_a_page_costs_the_same_however_much_is_listed(make_service, path, most):
    arrange(make_service(), "shop", "prod")
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    ada, costs = service.identity_id(ADMIN if path == "/whoami" else ADA), []
    service.grant(service.group("first", ADA, ADMIN), "reader", "shop", group=True)
    for count in (2, 25):
        for number in range(count):
            team = service.group(f"t{count}-{number}", ADA, ADMIN, f"p{count}-{number}@example.com")
            service.grant(team, "writer", "shop/prod", group=True)
        with recorded(service.engine) as statements:
            Browser(service).open(path.format(ada=ada))
        costs.append(len(statements))
    assert costs[0] == costs[1] == most


def test_the_page_tells_what_an_identity_did_lately_and_leads_to_the_rest(service, admin):
    service.grant(ADA, "writer", "shop/prod")
    vault = Vault(service.user(ADA))
    vault.batch(set={"A": "very-secret"}, reason="Rotation")
    for _ in range(4):
        vault.get("secrets/A")
    service.user(ADA).get("/projects/shop/environments/dev/secrets", 404)
    page = Browser(service).open(f"/identities/{service.identity_id(ADA)}")
    assert lately(page)[0].startswith("Was denied: asked for Shop / Dev")
    assert lately(page)[1].startswith("Revealed A in Shop / Prod")
    assert len(lately(page)) == 5
    assert "very-secret" not in page.text
    every = page.html.select_one("section[aria-labelledby=activity] a.more")
    rest = Browser(service).open(every["href"])
    assert len(rest.html.select(".log > li")) == 6
    assert "added A in" in words(rest)


@pytest.mark.both_engines
def test_what_an_identity_did_is_shown_as_far_as_the_viewer_may_audit_it(service, admin):
    arrange(service, "depot", "prod")
    service.grant(ADA, "writer", "depot/prod")
    service.grant(EVE, "admin", "shop")
    ada, path = service.identity_id(ADA), "/projects/depot/environments/prod"
    Vault(service.user(ADA), path).set(A="1")
    assert len(lately(Browser(service).open(f"/identities/{ada}"))) == 1
    page = Browser(service, EVE).open(f"/identities/{ada}")
    assert lately(page) == []
    assert "Nothing that you may see in the last 30 days." in words(page)
    service.grant(ADA, "writer", "shop/prod")
    Vault(service.user(ADA)).set(B="1")
    [told] = lately(Browser(service, EVE).open(f"/identities/{ada}"))
    assert told.startswith("Added B in Shop / Prod")


@pytest.mark.both_engines
def test_what_another_of_the_same_name_or_long_ago_did_is_not_told(service, admin):
    ada = service.identity_id(ADA)
    columns = {"action": "test.made", "actor_subject": ADA, "created_at": now_ms()}
    log(service, identity_id=new_id(), **columns)
    log(service, identity_id=ada, **columns | {"created_at": 1})
    page = Browser(service).open(f"/identities/{ada}")
    assert lately(page) == []
    log(service, identity_id=ada, **columns)
    assert len(lately(Browser(service).open(f"/identities/{ada}"))) == 1


def lately(page):
    """What the identity did, as sentences."""
    items = page.html.select("section[aria-labelledby=activity] .feed li")
    return [" ".join(item.get_text().split()) for item in items]


def test_the_pages_show_who_was_announced(service, admin):
    made = admin.post("/identities", {"kind": "user", "subject": ADA}, 201).json["id"]
    group = admin.post("/groups", {"slug": "crew", "name": "Crew"}, 201).json["id"]
    admin.post(f"/groups/{group}/members", {"identity_id": made}, 201)
    for path in ("/identities", f"/identities/{made}", f"/groups/{group}"):
        page = Browser(service).open(path)
        assert ADA in words(page)
        assert "not signed in yet" in words(page)


def test_the_panel_suggests_and_takes_who_was_announced(service, admin, monkeypatch):
    clock = StoppedClock(monkeypatch)
    service.user("early@example.com").get("/whoami")
    clock.now += 5_000
    admin.post("/identities", {"kind": "user", "subject": ADA}, 201)
    clock.now += 5_000
    service.user("late@example.com").get("/whoami")
    page = Browser(service).open("/grants?grant")
    suggested = [one["value"] for one in page.html.find("datalist").find_all("option")]
    assert [one for one in suggested if one != ADMIN] == ["late@example.com", ADA, "early@example.com"]
    submit(page, "/grants", holder=ADA, role="writer", scope="shop")
    assert service.user(ADA).get("/projects/shop").json["slug"] == "shop"
