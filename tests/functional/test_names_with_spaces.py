"""A service token's name with spaces, wherever a subject is asked for (contract 3.20)."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from pages import Browser, rows, submit
from service import ADMIN
from wsgi import call

NAME, ANOTHER = "GitHub  Actions deploy", "GitHub Actions deploy"
SECRETS = "/projects/shop/environments/prod/secrets"


@pytest.fixture
def robots(service, admin):
    """Two whose names differ in one space; the first was denied something."""
    service.robot(NAME).get(SECRETS, 404)
    service.robot(ANOTHER).get("/whoami")
    return {name: service.identity_id(name, "service") for name in (NAME, ANOTHER)}


def test_it_is_who_it_is_to_the_letter(service, robots):
    for name in robots:
        assert service.robot(name).get("/whoami").json["identity"]["subject"] == name


@pytest.mark.both_engines
def test_the_audit_log_is_filtered_by_it(admin, browser, robots):
    for name, count in ((NAME, 2), (ANOTHER, 1)):
        items = admin.get(f"/audit?{urlencode({'actor': name})}").json["items"]
        assert {item["actor"]["subject"] for item in items} == {name}
        assert len(items) == count
        page = browser.open("/audit", params={"actor": f" {name} "})
        assert len(page.html.select(".log > li")) == count


@pytest.mark.both_engines
def test_lists_find_it_by_a_part_of_it(browser, robots):
    assert len(rows(browser.open("/identities", params={"q": "github actions"}))) == 1
    assert len(rows(browser.open("/identities", params={"q": "actions deploy"}))) == 2


@pytest.mark.both_engines
def test_whoever_was_denied_is_granted_a_role_from_the_list_of_them(service, browser, robots):
    page = browser.open("/access/unknown-identities")
    assert page.html.select_one("tbody th .who > span:last-child").find(string=True) == NAME
    page = page.click("Give access…")
    form = next(one for one in page.forms.values() if "role" in one.fields)
    form["role"], form["until"] = "reader", "never"
    answer = form.submit(status=303).follow()
    assert "Access was given." in answer.text
    service.robot(NAME).get(SECRETS)
    service.robot(ANOTHER).get(SECRETS, 404)


def test_it_is_added_to_a_group_by_name(service, browser, robots):
    team = service.group("team")
    page = submit(browser.open(f"/groups/{team}?add"), "/add-member", holder=NAME)
    assert NAME in page.html.select_one(f'main a[href="/identities/{robots[NAME]}"]').text


def test_it_sends_forms_with_a_token_of_its_own(service, robots):
    service.grant(robots[NAME], "admin")
    browser = Browser(service, ADMIN)
    browser.extra_environ["HTTP_PROXY_ACCESS_JWT_ASSERTION"] = service.issuer.service(NAME)
    page = submit(browser.open("/projects?new"), "/projects", slug="till", name="Till")
    assert page.request.path.startswith("/projects/till")


@pytest.mark.parametrize("name", [f" {NAME}", f"{NAME} ", "Git\tHub", "Git\nHub", "Git\u00a0Hub"])
def test_other_white_space_is_refused(service, name):
    headers = {"Proxy-Access-Jwt-Assertion": service.issuer.service(name)}
    assert call(service.app, "GET", "/api/v1/whoami", headers).status == 401
