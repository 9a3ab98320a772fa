"""The pages of refusals: the role that is missing, why it is, and whom to ask; and what cannot be told."""

from __future__ import annotations

import pytest
from pages import Browser, words
from service import arrange
from statements import recorded

from secretsvc.kernel.clock import now_ms

RITA = "rita@example.com"
PROD = "/projects/shop/environments/prod"


def refused(service, path=f"{PROD}/import", subject=RITA, status=403):
    return Browser(service, subject).open(path, status)


@pytest.mark.both_engines
def test_a_refusal_names_the_role_why_it_is_missing_and_the_way_back(service, admin):
    service.grant(service.group("shop-developers", RITA), "reader", "shop", group=True)
    page = refused(service)
    assert page.html.h1.text == "Changing Prod needs the writer role"
    told = words(page)
    assert "You are a reader of Shop / Prod. Nothing was changed." in told
    assert "Reader in the whole project , through the group" in told.replace("project,", "project ,")
    assert page.html.find("a", string="Back to Prod")["href"] == PROD
    assert page.headers["X-Request-Id"] in told


def test_admins_to_ask_are_named_the_nearest_first_and_no_more_than_three(service, admin):
    service.grant(RITA, "reader", "shop/prod")
    service.grant("zoe@example.com", "admin", "shop/prod")
    service.grant(service.group("leads", "lea@example.com"), "admin", "shop", group=True)
    service.grant("other@example.com", "admin", "shop/dev")
    service.grant("late@example.com", "admin", "shop/prod", expires_at=now_ms() - 1)
    service.grant("writer@example.com", "writer", "shop/prod")
    service.grant("ann@example.com", "admin")
    page = refused(service)
    asked = [" ".join(item.text.split()) for item in page.html.select(".card .lines li .grow")]
    assert asked[0].startswith("zoe@example.com")
    assert asked[1].startswith("lea@example.com")
    assert asked[2].startswith(("ann@example.com", "root@example.com"))
    assert len(asked) == 3


def test_a_disabled_admin_is_not_named(service, admin):
    service.grant(RITA, "reader", "shop/prod")
    service.grant("zoe@example.com", "admin", "shop/prod")
    admin.patch(f"/identities/{service.identity_id('zoe@example.com')}", {"disabled": True})
    assert "zoe@example.com" not in refused(service).text


@pytest.mark.parametrize("path", ["/projects/depot/settings", "/projects/nothing", "/nothing/at/all"])
def test_what_is_not_seen_and_what_is_not_there_look_the_same_and_name_nobody(service, admin, path):
    arrange(service, "depot", "prod")
    service.grant(RITA, "reader", "shop/prod")
    service.grant("zoe@example.com", "admin", "depot")
    page = refused(service, path, status=404)
    assert page.html.h1.text == "There is nothing here that you may see"
    assert page.html.main.find("form", role="search")["action"] == "/search"
    assert "zoe@example.com" not in page.text
    assert "Depot" not in page.text


def test_a_project_of_which_one_environment_is_seen_is_explained_without_a_role(service, admin):
    service.grant(RITA, "admin", "shop/prod")
    page = refused(service, "/projects/shop/access")
    assert page.html.h1.text == "Administering Shop needs the admin role"
    assert "You hold no role on Shop as a whole." in words(page)


def test_a_refusal_that_is_not_about_a_role_names_nobody(service, admin):
    page = Browser(service).post("/projects/shop/settings", {"name": "x"}, status=403)
    assert "too old, or not yours" in page.text
    assert "Ask one of its admins" not in page.text
    service.grant(RITA, "reader", "shop")
    assert "Ask one of its admins" not in refused(service, "/admin/keyring").text


def test_what_cannot_be_explained_is_a_page_still(service, admin, monkeypatch):
    service.grant(RITA, "reader", "shop/prod")
    monkeypatch.setattr("secretsvc.access.domain.denial_explanation._statement", lambda *_: 1 / 0)
    page = refused(service)
    assert page.html.h1.text == "Your grants do not allow this."


def test_a_refusal_is_explained_by_one_statement_and_an_absence_by_none(make_service):
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    arrange(service)
    service.grant(RITA, "reader", "shop/prod")
    browser = Browser(service, RITA)
    counts = {}
    for path, status in ((f"{PROD}/import", 403), ("/projects/nothing", 404)):
        browser.open(path, status)
        with recorded(service.engine) as statements:
            browser.open(path, status)
        counts[status] = sum("environment_name" in one or "AS two" in one for one in statements)
    assert counts == {403: 1, 404: 0}
