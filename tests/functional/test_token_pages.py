"""The page of a service's tokens, and that of what somebody has seen, without JavaScript."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from pages import Browser, rows, submit, words
from secrets_client import Vault
from service import ADMIN, arrange
from statements import recorded
from stopped_clock import StoppedClock
from webtest import TestApp

from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import new_id
from secretsvc.tables.service_tokens import service_token
from secretsvc.tokens import domain

ADA = "ada@example.com"
DAY = 86_400_000
TOKEN = re.compile(r"ssv_[0-9A-Za-z]{49}")


@pytest.fixture
def tokens(make_service):
    """A service with the switch on, and its administrator's browser."""
    service = make_service(SERVICE_TOKENS="on")
    arrange(service, "shop", "prod")
    return service, Browser(service)


@pytest.mark.slow
def test_a_token_is_made_in_a_panel_and_shown_once(tokens, monkeypatch):
    service, browser = tokens
    clock = StoppedClock(monkeypatch)
    robot = service.identity_id("robot", "service")
    path = f"/identities/{robot}/tokens"
    page = browser.open(f"/identities/{robot}").click("Service tokens").click("New token")
    form = next(form for form in page.forms.values() if "until" in form.fields)
    assert form["until"].value == "3m"
    form["name"] = "CI of the shop"
    page = form.submit()
    assert "no-store" in page.headers["Cache-Control"]
    token = page.html.find(id="token")["value"]
    assert TOKEN.fullmatch(token)
    assert page.html.find("button", {"data-copies": "token"}).has_attr("hidden")
    assert "CI of the shop is ready. Copy it now: no page shows it again." in words(page)
    [row] = service.rows(service_token)
    assert (row["name"], row["expires_at"]) == ("CI of the shop", clock.now + 91 * DAY)
    assert [one["action"] for one in service.audit()][-1] == "token.create"
    page = browser.open(path)
    assert token not in page.text
    assert rows(page)[0].startswith(f"CI of the shop {token[:8]}… just now never in 3 months")
    assert token[:8] in words(browser.open(f"/identities/{robot}"), "section[aria-labelledby=tokens]")
    # The others carry the administrator's assertion.
    machine = TestApp(service.app, extra_environ={"HTTP_HOST": "localhost:80"})
    bearer = {"Authorization": f"Bearer {token}"}
    assert machine.get("/api/v1/whoami", headers=bearer).json["identity"]["subject"] == "robot"


def typed_token(service, browser, **changes):
    """What the panel sends for a token, and where."""
    path = f"/identities/{service.identity_id('robot', 'service')}/tokens"
    form = next(form for form in browser.open(f"{path}?new").forms.values() if "until" in form.fields)
    return path, dict(form.submit_fields()) | {"name": "CI"} | changes


def test_a_form_sent_twice_makes_one_token_and_both_answers_show_it(tokens):
    service, browser = tokens
    path, typed = typed_token(service, browser)
    first, second = (browser.post(path, typed).html.find(id="token")["value"] for _ in range(2))
    assert TOKEN.fullmatch(first)
    assert second == first
    [row] = service.rows(service_token)
    assert typed["attempt"] not in str(row)
    assert [one["action"] for one in service.audit()].count("token.create") == 1
    # With something else typed it is another attempt, and so is a panel opened anew.
    for other in (typed | {"name": "Another"}, typed_token(service, browser, name="A third")[1]):
        assert browser.post(path, other).html.find(id="token")["value"] != first
    assert len(service.rows(service_token)) == 3


def test_a_panel_opened_anew_makes_no_second_token_of_the_same_name(tokens):
    service, browser = tokens
    path, typed = typed_token(service, browser, until="1w")
    browser.post(path, typed, status=200)
    page = browser.post(path, typed_token(service, browser, until="1w")[1], status=422)
    assert "A token of this name is in force already." in words(page, "[role=alert]")
    assert page.html.find("input", {"name": "name"})["value"] == "CI"
    assert [one["action"] for one in service.audit()].count("token.create") == 1
    service.execute("UPDATE service_token SET expires_at = 1")
    browser.post(path, typed_token(service, browser, until="1w")[1], status=200)
    assert len(service.rows(service_token)) == 2


def test_forms_sent_at_the_same_moment_make_one_token(tokens, monkeypatch):
    service, browser = tokens
    StoppedClock(monkeypatch)
    path, typed = typed_token(service, browser)
    with ThreadPoolExecutor(2) as pool:
        pages = [*pool.map(lambda one: one.post(path, typed), (browser, Browser(service)))]
    assert len({page.html.find(id="token")["value"] for page in pages}) == 1
    assert len(service.rows(service_token)) == 1


def test_a_removed_token_does_not_come_back_by_the_form_that_made_it(tokens, monkeypatch):
    service, browser = tokens
    clock = StoppedClock(monkeypatch)
    clock.now = (clock.now // 60_000 + 1) * 60_000
    path, typed = typed_token(service, browser)
    token = browser.post(path, typed).html.find(id="token")["value"]
    clock.now += 119_999
    assert browser.post(path, typed).html.find(id="token")["value"] == token
    service.user().delete(f"{path}/{service.rows(service_token)[0]['id']}")
    clock.now += 1
    assert browser.post(path, typed).html.find(id="token")["value"] != token


def test_a_form_whose_token_was_removed_is_refused_until_it_makes_another(tokens, monkeypatch):
    service, browser = tokens
    clock = StoppedClock(monkeypatch)
    clock.now = (clock.now // 60_000 + 1) * 60_000
    path, typed = typed_token(service, browser)
    browser.post(path, typed)
    other = browser.post(path, typed | {"name": "Another"}).html.find(id="token")["value"]
    remove(service, path, "CI")
    for passed in (0, 119_999):
        clock.now += passed
        page = browser.post(path, typed, status=409)
        assert "The token that this form made was removed. Open the form anew" in words(page)
        assert [row["name"] for row in service.rows(service_token)] == ["Another"]
    # Another form's token is none of its.
    assert browser.post(path, typed | {"name": "Another"}).html.find(id="token")["value"] == other
    assert [one["action"] for one in service.audit()].count("token.create") == 2


def test_a_token_that_is_being_removed_is_not_shown(tokens, monkeypatch):
    service, browser = tokens
    StoppedClock(monkeypatch)
    path, typed = typed_token(service, browser)
    # As where the row that kept the new one out is gone when it is asked for.
    monkeypatch.setattr(domain, "insert_or_ignore", lambda *_: False)
    page = browser.post(path, typed, status=409)
    assert "is being removed" in words(page, "[role=dialog]")
    assert page.html.find(id="token") is None


def remove(service, path, name):
    (id_,) = (row["id"] for row in service.rows(service_token) if row["name"] == name)
    service.user().delete(f"{path}/{id_}")


def test_nobody_else_gets_a_token_by_the_form_of_another(tokens):
    service, browser = tokens
    path, typed = typed_token(service, browser)
    token = browser.post(path, typed).html.find(id="token")["value"]
    service.grant(ADA, "admin")
    other = Browser(service, ADA)
    csrf = dict(typed_token(service, other)[1])["csrf"]
    remove(service, path, "CI")
    assert other.post(path, typed | {"csrf": csrf}).html.find(id="token")["value"] != token


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 257}, "name"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"expires_at": "2000-01-01T00:00"}, "expires_at"),
        ({"expires_at": "2999-01-01T00:00"}, "expires_at"),
        ({"until": ""}, "expires_at"),
        ({"until": "never"}, "expires_at"),
    ],
    ids=str,
)
def test_a_refused_token_keeps_what_was_typed_and_says_why(tokens, changes, field):
    service, browser = tokens
    path = f"/identities/{service.identity_id('robot', 'service')}/tokens"
    token = browser.open(f"{path}?new").html.find("input", {"name": "csrf"})["value"]
    typed = {"csrf": token, "name": "CI", "until": "1w", "expires_at": ""} | changes
    page = browser.post(path, typed, status=422)
    assert page.html.find(id=field)["aria-invalid"] == "true"
    assert page.html.find(id="name")["value"] == typed["name"]
    assert page.html.find(id="expires_at")["value"] == typed["expires_at"]
    assert page.html.select_one(f"[role=dialog] [role=alert] a[href='#{field}']")
    assert service.rows(service_token) == []


def test_a_token_is_removed_after_a_look_at_it(tokens):
    service, browser = tokens
    robot = service.identity_id("robot", "service")
    path = f"/identities/{robot}/tokens"
    form = next(form for form in browser.open(f"{path}?new").forms.values() if "until" in form.fields)
    form["name"] = "CI"
    form.submit()
    page = browser.open(path).click("Remove…")
    assert "CI" in words(page, "[role=dialog]")
    assert "It was never used." in words(page, "[role=dialog]")
    page = submit(page, "/remove")
    assert "The service token was removed." in words(page, "[role=status]")
    assert "No service token yet." in words(page)
    assert service.rows(service_token) == []
    csrf = browser.open(f"{path}?new").html.find("input", {"name": "csrf"})["value"]
    for chosen, status in ((str(new_id()), 303), ("x", 422)):
        browser.post(f"{path}/{chosen}/remove", {"csrf": csrf}, status=status)


def test_people_have_none_and_only_global_admins_see_them(tokens):
    service, browser = tokens
    ada = service.identity_id(ADA)
    page = browser.open(f"/identities/{ada}/tokens")
    assert "A person signs in through the access proxy" in words(page)
    csrf = browser.open("/identities?new=user").html.find("input", {"name": "csrf"})["value"]
    browser.post(f"/identities/{ada}/tokens", {"csrf": csrf, "name": "x", "until": "1w"}, status=409)
    robot = service.identity_id("robot", "service")
    service.grant(ADA, "admin", "shop")
    mine = Browser(service, ADA)
    mine.open(f"/identities/{robot}/tokens", 403)
    assert "Service tokens" not in words(mine.open(f"/identities/{robot}"))
    browser.open(f"/identities/{new_id()}/tokens", 404)


def test_where_they_are_switched_off_there_is_no_page(browser, service):
    robot = service.identity_id("robot", "service")
    browser.open(f"/identities/{robot}/tokens", 404)
    assert "Service tokens" not in words(browser.open(f"/identities/{robot}"))


@pytest.mark.slow
def test_what_somebody_has_seen_is_told_by_place_and_whether_it_is_in_force(browser, service, admin):
    service.grant(ADA, "writer", "shop")
    prod = Vault(admin)
    prod.batch(set={"A": "1", "B": "2"})
    theirs = Vault(service.user(ADA), prod.base)
    theirs.get("secrets/A")
    theirs.get("secrets/B")
    prod.batch(set={"B": "3"})
    ada = service.identity_id(ADA)
    page = browser.open(f"/identities/{ada}").click("What has been seen")
    assert "1 value is still in force." in words(page)
    assert [row for row in rows(page) if "shop / prod" not in row] == ["A 1 just now still in force"]
    assert page.html.select_one('a.key[href="/projects/shop/environments/prod/secrets/A"]')
    page = browser.open(f"/identities/{ada}/exposure?show=all")
    assert len(rows(page)) == 3
    assert rows(page)[2] == "B 1 just now replaced"
    prod.batch(set={"A": "4"})
    page = browser.open(f"/identities/{ada}/exposure")
    assert "Nothing of it is in force any more." in words(page)
    assert "No value that is still in force" in words(page)


def test_who_has_seen_nothing_is_told_so_and_the_page_is_for_admins(admin, service):
    ada = service.identity_id(ADA)
    assert "No value has been seen." in words(Browser(service).open(f"/identities/{ada}/exposure"))
    Browser(service, ADA).open(f"/identities/{ada}/exposure", 403)
    Browser(service).open(f"/identities/{new_id()}/exposure", 404)
    Browser(service).open(f"/identities/{ada}/exposure?cursor=x", 422)


@pytest.mark.slow
def test_what_was_seen_comes_in_pages(browser, service, admin):
    prod = Vault(admin)
    keys = [f"KEY_{number:03}" for number in range(300)]
    for value in ("x", "y"):
        prod.batch(set=dict.fromkeys(keys, value))
    path = f"/identities/{service.identity_id(ADMIN)}/exposure?show=all"
    page, found = browser.open(path), 0
    while True:
        found += len(page.html.select("tbody a.key"))
        if not page.html.find("a", rel="next"):
            break
        page = page.click("More values")
    assert found == 600


@pytest.mark.both_engines
@pytest.mark.parametrize("count", [2, 40])
def test_a_page_of_tokens_costs_the_same_however_many_there_are(make_service, count):
    arrange(make_service(), "shop", "prod")
    service = make_service(SERVICE_TOKENS="on", LAST_SEEN_RESOLUTION="3600000")
    robot = service.identity_id("robot", "service")
    for number in range(count):
        body = {"name": f"T{number}", "expires_at": now_ms() + DAY}
        service.user().post(f"/identities/{robot}/tokens", body, 201)
    with recorded(service.engine) as statements:
        Browser(service).open(f"/identities/{robot}/tokens")
    assert len(statements) == 4
