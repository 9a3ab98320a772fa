"""The page of operations, without JavaScript: the key ring, rekeying, the limits."""

from __future__ import annotations

import re

import pytest
from pages import Browser, submit
from rotation import NEW_KEY, NEXT_KEY, fill, rotated
from service import MASTER_KEY
from statements import recorded

ADA = "ada@example.com"


def keys(page):
    rows = page.html.find("section", {"aria-labelledby": "ring"}).tbody.find_all("tr")
    return [[" ".join(cell.text.split()) for cell in row.find_all(["th", "td"])] for row in rows]


def answer(page):
    return page.html.find("section", {"aria-labelledby": "ring"}).find(class_="notice").text


def test_the_ring_stands_with_its_rows_and_what_to_do_next(service, admin):
    fill(admin)
    page = Browser(service).open("/admin/keyring")
    ((kid, state, rows),) = keys(page)
    assert re.fullmatch("[0-9a-f]{16}", kid)
    assert (state, rows) == ("active: it seals and opens", "9")
    assert "There is nothing to do" in answer(page)
    turned = Browser(rotated(service)).open("/admin/keyring")
    assert [row[1:] for row in keys(turned)] == [
        ["active: it seals and opens", "0"],
        ["held: it only opens", "9"],
    ]
    assert "not safe to remove the old key: 9 rows still need it" in answer(turned)
    lost = Browser(service.restarted(MASTER_KEY=NEW_KEY)).open("/admin/keyring")
    assert keys(lost)[1][1:] == ["not loaded: its rows cannot be opened", "9"]
    assert "9 rows cannot be opened" in answer(lost)


def test_rows_are_moved_page_by_page_by_the_form(service, admin):
    fill(admin, 80)
    turned = rotated(service)
    page = Browser(turned).open("/admin/keyring")
    assert page.html.find(id="remaining").text == "159"
    page = submit(page, "/admin/rekey", limit="100")
    assert page.request.path == "/admin/keyring"
    assert "Moved one page" in page.html.find(role="status").text
    assert page.html.find(id="remaining").text == "59"
    page = submit(page, "/admin/rekey", limit="1000")
    assert page.html.find(id="remaining").text == "0"
    assert "No row needs the old key" in answer(page)
    assert page.html.find("fieldset").has_attr("disabled")
    page = submit(page, "/admin/rekey")
    assert "Nothing had to be changed" in page.html.find(role="status").text
    assert len(service.audit("keyring.rekey")) == 2
    assert turned.user().get("/projects/shop/environments/prod/secrets/KEY_1").json["value"] == "two"


@pytest.mark.parametrize("limit", ["0", "1001", "", "ten"])
def test_a_page_that_is_too_large_or_none_is_refused(service, admin, limit):
    fill(admin)
    browser = Browser(rotated(service))
    token = browser.open("/admin/keyring").html.find("input", {"name": "csrf"})["value"]
    page = browser.post("/admin/rekey", {"csrf": token, "limit": limit}, status=422)
    assert "limit" in page.html.find(role="alert").text
    assert page.html.find(id="remaining").text == "9"


def test_a_row_that_cannot_be_opened_stops_the_page_and_is_an_error_in_words(service, admin):
    fill(admin)
    lost = service.restarted(MASTER_KEY=NEXT_KEY, MASTER_KEY_OLD=NEW_KEY)
    page = submit(Browser(lost).open("/admin/keyring"), "/admin/rekey", 500)
    assert "master key" in page.html.find("main").text
    assert not service.audit("keyring.rekey")


@pytest.mark.engine_neutral
def test_the_form_needs_its_token(service, admin):
    fill(admin)
    page = Browser(rotated(service)).post("/admin/rekey", {"limit": "100"}, status=403)
    assert "too old, or not yours" in page.text
    assert not service.audit("keyring.rekey")


@pytest.mark.parametrize(("role", "scope"), [("writer", "global"), ("admin", "shop")])
def test_only_a_global_admin_has_the_page_and_its_form(service, admin, role, scope):
    service.grant(ADA, role, scope)
    browser = Browser(service, ADA)
    browser.open("/admin/keyring", 403)
    browser.post("/admin/rekey", {"limit": "100"}, status=403)
    assert browser.open("/").html.find("a", href="/admin/keyring") is None
    assert {row["action"] for row in service.denials()} == {"authz.global.admin"}


def test_the_limits_in_force_the_version_and_the_database_are_told(make_service):
    service = make_service(
        SECRET_MAX_BYTES="1234", ENV_MAX_SECRETS="77", RATE_LIMIT="500/minute", DENIAL_LIMIT=""
    )
    page = Browser(service).open("/admin/keyring")
    table = page.html.find("section", {"aria-labelledby": "limits"}).tbody
    rows = {row.find("code").text: row.find_all("td")[1].text for row in table.find_all("tr")}
    assert rows == {
        "SECRET_MAX_BYTES": "1234 bytes",
        "ENV_MAX_SECRETS": "77",
        "BODY_MAX_BYTES": "1048576 bytes",
        "RATE_LIMIT": "500 per 1 minute, counted by each process alone",
        "DENIAL_LIMIT": "no limit",
    }
    about = page.html.find("section", {"aria-labelledby": "about"}).text
    assert ("SQLite" if service.engine.name == "sqlite" else "PostgreSQL") in about
    assert re.search(r"secretsvc \d+\.\d+", about)
    assert MASTER_KEY not in page.text


@pytest.mark.engine_neutral
def test_the_script_is_a_file_and_the_entry_of_the_navigation_is_marked(service, admin):
    page = Browser(service).open("/admin/keyring")
    sources = [script["src"] for script in page.html.find_all("script")]
    assert any(source.startswith("/static/keyring/rekey.js?") for source in sources)
    script = Browser(service).open(next(one for one in sources if "rekey.js" in one))
    assert "innerHTML" not in script.text
    links = page.html.find("nav", {"aria-label": "Main"}).find_all("a")
    assert [link.text for link in links if link.get("aria-current")] == ["Operations"]
    assert [link["href"] for link in links][-1] == "/admin/keyring"


def test_the_page_takes_two_statements(make_service):
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    browser = Browser(service)
    browser.open("/admin/keyring")
    with recorded(service.engine) as statements:
        browser.open("/admin/keyring")
    assert len(statements) == 2
