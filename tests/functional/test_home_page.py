"""The home page, without JavaScript: what one sees, what waits for one, and the search."""

from __future__ import annotations

import pytest
from pages import Browser
from rotation import NEW_KEY, NEXT_KEY, fill, rotated
from service import MASTER_KEY, arrange
from sqlalchemy import insert
from statements import recorded
from vault import Vault

from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import new_id
from secretsvc.tables.projects import environment, project

ADA = "ada@example.com"
DAY = 86_400_000
EVIL = "<script>alert(1)</script>\"'${1+1}"


def cards(page):
    return [card.h3.text for card in page.html.find_all(class_="card")]


def waiting(page):
    """What waits, as words; None where there is no such section."""
    section = page.html.find("section", {"aria-labelledby": "waiting"})
    return section and " ".join(section.ul.text.split())


def results(page):
    sections = page.html.find_all("section", {"aria-labelledby": True})
    return {section.h2.text: [link["href"] for link in section.find_all("a")] for section in sections}


def test_visible_projects_stand_with_their_environments_and_last_change(service, admin):
    page = Browser(service).open("/")
    (card,) = page.html.find_all(class_="card")
    assert card.h3.a["href"] == "/projects/shop"
    assert [link["href"] for link in card.ul.find_all("a")] == [
        "/projects/shop/environments/prod",
        "/projects/shop/environments/dev",
    ]
    assert len(card.find_all("time", {"datetime": True})) == 2
    current = page.html.find("nav", {"aria-label": "Main"}).find("a", {"aria-current": "page"})
    assert current["href"] == "/"


def test_what_the_caller_does_not_see_is_not_there(service, admin):
    arrange(service, "depot", "prod")
    service.grant(ADA, "reader", "shop/prod")
    page = Browser(service, ADA).open("/")
    assert cards(page) == ["Shop"]
    assert [link.text for link in page.html.find(class_="card").ul.find_all("a")] == ["Prod"]
    assert waiting(page) is None
    assert page.html.find("nav", {"aria-label": "Main"}).find("a", string="Operations") is None


def test_a_newcomer_is_told_what_to_do(service, admin):
    page = Browser(service, "new@example.com").open("/")
    text = page.html.find(class_="notice").text
    assert "no grant lets you see anything so far" in text
    assert "new@example.com" in text
    assert not cards(page)


def test_an_administrator_without_projects_is_led_to_the_first(service):
    page = Browser(service).open("/")
    assert page.html.find(class_="notice").a["href"] == "/projects"
    assert waiting(page) == "Nothing."


def test_many_projects_stand_on_pages(service, admin):
    rows = [
        {"id": new_id(), "slug": f"p-{number:03}", "name": f"P {number:03}", "created_at": 1, "updated_at": 1}
        for number in range(150)
    ]
    service.execute(insert(project), rows)
    page = Browser(service).open("/")
    found = cards(page)
    page = page.click(linkid=None, href="cursor=")
    found += cards(page)
    assert found == ["Shop", *(row["name"] for row in rows)]
    assert page.html.find("a", rel="next") is None
    Browser(service).open("/?cursor=x", 422)


def test_unknown_identities_and_expiring_grants_wait_for_those_who_may_see_them(service, admin):
    arrange(service, "depot", "prod")
    service.user("stranger@example.com").get("/projects/shop", 404)
    service.grant("bob@example.com", "writer", "shop/dev", expires_at=now_ms() + DAY)
    service.grant("bob@example.com", "reader", "depot", expires_at=now_ms() + DAY)
    service.grant(ADA, "admin", "shop")
    page = Browser(service, ADA).open("/")
    assert "1 identity was denied in the last seven days and holds no grant" in waiting(page)
    assert "bob@example.com: writer on shop/dev until" in waiting(page)
    assert "depot" not in waiting(page)
    section = page.html.find("section", {"aria-labelledby": "waiting"})
    assert [link["href"] for link in section.find_all("a")] == ["/access/unknown-identities", "/grants"]
    assert "bob@example.com: reader on depot until" in waiting(Browser(service).open("/"))
    service.grant("eve@example.com", "admin", "depot")
    assert "denied" not in waiting(Browser(service, "eve@example.com").open("/"))


def test_more_expiring_grants_than_fit_are_said_to_be_more(service, admin):
    for number in range(25):
        service.grant(f"u{number}@example.com", "writer", "shop", expires_at=now_ms() + DAY)
    assert waiting(Browser(service).open("/")).endswith("and more")


def test_the_state_of_the_key_ring_waits_for_global_admins_alone(service, admin):
    fill(admin)
    service.grant(ADA, "admin", "shop")
    turned = rotated(service)
    assert "9 rows still need the old master key" in waiting(Browser(turned).open("/"))
    assert waiting(Browser(turned, ADA).open("/")) == "Nothing."
    turned.user().post("/admin/rekey", {"limit": 1000})
    assert "No row needs the old master key any more" in waiting(Browser(turned).open("/"))
    lost = service.restarted(MASTER_KEY=NEXT_KEY, MASTER_KEY_OLD=MASTER_KEY)
    assert "9 rows cannot be read" in waiting(Browser(lost).open("/"))
    done = service.restarted(MASTER_KEY=NEW_KEY)
    assert waiting(Browser(done).open("/")) == "Nothing."


def test_the_page_stands_without_a_master_key_and_says_so(service, admin):
    broken = service.restarted(MASTER_KEY="too short")
    assert "The master key is not loaded" in waiting(Browser(broken).open("/"))
    assert cards(Browser(broken).open("/")) == ["Shop"]


def test_a_search_leads_to_what_it_found(service, admin):
    Vault(admin).set(SHOP_TOKEN="value-of-it")
    page = Browser(service).open("/")
    page.forms[0]["q"] = " shop "
    page = page.forms[0].submit()
    assert results(page) == {
        "Projects": ["/projects/shop"],
        "Secrets": ["/projects/shop/environments/prod/secrets/SHOP_TOKEN"],
    }
    assert page.html.find(id="q")["value"] == "shop"
    assert "value-of-it" not in page.text
    page = Browser(service).open("/?q=DEV")
    assert results(page) == {"Environments": ["/projects/shop/environments/dev"]}


def test_a_search_finds_nothing_that_the_caller_does_not_see(service, admin):
    Vault(admin).set(SHOP_TOKEN="x")
    service.grant(ADA, "reader", "shop/dev")
    browser = Browser(service, ADA)
    assert results(browser.open("/?q=shop")) == {"Projects": ["/projects/shop"]}
    assert "Nothing that you see" in browser.open("/?q=TOKEN").text
    assert "Nothing that you see" in Browser(service, "new@example.com").open("/?q=s").text


@pytest.mark.parametrize("text", ["x" * 257, "a%00b"])
def test_what_cannot_be_searched_for_is_refused_and_kept(service, admin, text):
    page = Browser(service).open(f"/?q={text}", 422)
    assert page.html.find(role="alert")
    assert len(page.html.find(id="q")["value"]) in (257, 3)
    assert cards(page) == ["Shop"]


def test_names_and_what_is_searched_for_are_shown_as_text(service, admin):
    admin.post("/projects", {"slug": "evil", "name": EVIL, "description": EVIL}, 201)
    admin.post("/projects/evil/environments", {"slug": "evil", "name": EVIL}, 201)
    browser = Browser(service)
    for page in (browser.open("/"), browser.open("/", params={"q": "alert(1)"})):
        assert EVIL in page.html.text
        assert all(script["src"].startswith("/static/") for script in page.html.find_all("script"))
    page = browser.open("/", params={"q": EVIL})
    assert page.html.find(id="q")["value"] == EVIL


@pytest.mark.parametrize("count", [1, 90])
def test_the_page_takes_as_many_statements_however_much_there_is(make_service, count):
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    admin = arrange(service)
    Vault(admin).batch(set={f"KEY_{number}": "x" for number in range(count)})
    projects = [
        {"id": new_id(), "slug": f"p-{number:03}", "name": "P", "created_at": 1, "updated_at": 1}
        for number in range(count)
    ]
    service.execute(insert(project), projects)
    places = [{**one, "id": new_id(), "project_id": one["id"], "slug": "prod", "rev": 0} for one in projects]
    service.execute(insert(environment), places)
    service.grant(ADA, "admin", "shop")
    service.grant("reader@example.com", "reader")
    for subject, path, expected in (
        ("root@example.com", "/", 6),
        (ADA, "/", 6),
        ("reader@example.com", "/", 3),
        ("reader@example.com", "/?q=p", 4),
    ):
        browser = Browser(service, subject)
        browser.open(path)
        with recorded(service.engine) as statements:
            browser.open(path)
        assert len(statements) == expected, (subject, path)
