"""The shell around every page, and errors as pages."""

from __future__ import annotations

import pytest
from pages import Browser
from pyramid.exceptions import ConfigurationError

pytestmark = pytest.mark.engine_neutral

PROD = "/projects/shop/environments/prod"


def navigation(page):
    return {link.text: link["href"] for link in page.html.find("nav", {"aria-label": "Main"}).find_all("a")}


def test_breadcrumbs_follow_the_tree_and_name_the_present_place(vault, service):
    vault.batch(set={"API_KEY": "x"})
    page = Browser(service).open(f"{PROD}/secrets/API_KEY")
    crumbs = page.html.find("nav", {"aria-label": "Breadcrumb"})
    assert [item.text.strip() for item in crumbs.find_all("li")] == [
        "Home",
        "Projects",
        "shop",
        "Environments",
        "prod",
        "Secrets",
        "API_KEY",
    ]
    assert crumbs.find(attrs={"aria-current": "page"}).text == "API_KEY"
    assert [link["href"] for link in crumbs.find_all("a")][2] == "/projects/shop"


def test_a_place_that_an_id_names_is_called_by_what_people_know_it_by(admin, service):
    paths = {
        f"/identities/{service.identity_id('rita@example.com')}": "rita@example.com",
        f"/groups/{service.group('crew')}": "crew",
    }
    for path, name in paths.items():
        crumbs = Browser(service).open(path).html.find("nav", {"aria-label": "Breadcrumb"})
        assert crumbs.find(attrs={"aria-current": "page"}).text == name


def test_every_page_has_a_title_a_skip_link_one_heading_and_a_live_region(vault, service):
    browser = Browser(service)
    for path in ("/projects", "/projects/shop", PROD, f"{PROD}/import", "/nothing"):
        page = browser.get(path, status="*").html
        assert page.title.text.endswith(" · secretsvc")
        assert page.find("a", class_="skip")["href"] == f"#{page.main['id']}"
        assert len(page.find_all("h1")) == 1
        assert page.find(attrs={"aria-live": "polite"})
        assert page.html["lang"] == "en"


def test_the_place_shown_is_marked_in_navigation_and_tabs(admin, service):
    page = Browser(service).open(f"{PROD}/settings")
    marked = [link.text for link in page.html.find_all("a", {"aria-current": "page"})]
    assert marked == ["Projects", "Settings"]


def test_a_package_outside_adds_to_navigation_and_tabs(admin, make_service, tmp_path, monkeypatch):
    (tmp_path / "outside.py").write_text(
        """
def page(context, request):
    return request.response

def includeme(config):
    config.add_navigation("Billing", "/billing", order=15)
    config.add_navigation("Secret plans", "/plans", role="admin")
    config.add_tab("Costs", context="secretsvc.projects.resources.Project", name="costs", role="reader")
    config.add_page(page, context="secretsvc.projects.resources.Project", name="costs", role="reader")
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    service = make_service(**{"PYRAMID.INCLUDES": "outside"})
    service.grant("rita@example.com", "reader", "shop")
    page = Browser(service).open("/projects/shop/settings")
    assert "Secret plans" in navigation(page)
    assert [*navigation(page)].index("Billing") < [*navigation(page)].index("Projects")
    mine = Browser(service, "rita@example.com")
    page = mine.open("/projects/shop/settings")
    assert "Billing" in navigation(page)
    assert "Secret plans" not in navigation(page)
    assert page.html.find("a", string="Costs")["href"] == "/projects/shop/costs"
    mine.open("/projects/shop/costs")


@pytest.mark.parametrize(
    "declaration",
    [
        "add_navigation({!r}, '/same')",
        "add_done('same', {!r})",
        "add_error_link('Same', {!r}.format, role='admin')",
    ],
)
def test_two_entries_of_one_path_word_or_label_conflict(make_service, tmp_path, monkeypatch, declaration):
    (tmp_path / "rival.py").write_text(
        "def includeme(config):\n"
        f"    config.{declaration.format('A')}\n"
        f"    config.{declaration.format('B')}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match="there are two of navigation /same: take one out"):
        make_service(**{"PYRAMID.INCLUDES": "rival"})


def test_a_word_of_another_package_cannot_be_taken(make_service, tmp_path, monkeypatch):
    (tmp_path / "rival_word.py").write_text(
        "def includeme(config):\n    config.add_done('granted', 'Mine.')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match="there are two of done granted: take one out"):
        make_service(**{"PYRAMID.INCLUDES": "rival_word"})


def test_a_package_outside_says_what_its_forms_did_and_leads_on_from_errors(
    admin, make_service, tmp_path, monkeypatch
):
    (tmp_path / "told.py").write_text(
        """
def trace(request, request_id):
    return f"/traces/{request_id}"

def includeme(config):
    config.add_done("noted", "Noted & kept.")
    config.add_error_link("Find its trace", trace, role="admin")
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    service = make_service(**{"PYRAMID.INCLUDES": "told"})
    browser = Browser(service)
    assert browser.open("/projects?done=noted").html.find("p", string="Noted & kept.")
    assert "Noted" not in browser.open("/projects?done=Noted").text
    lost = browser.open("/projects/nothing", 404)
    link = lost.html.find("a", string="Find its trace")
    assert link["href"] == f"/traces/{lost.headers['X-Request-Id']}"
    assert "Find its trace" not in Browser(service, "rita@example.com").open("/projects/nothing", 404).text


@pytest.mark.parametrize(
    ("who", "path", "status", "code", "advice"),
    [
        (None, "/projects", 401, "UNAUTHENTICATED", "Reload the page"),
        ("rita@example.com", f"{PROD}/import", 403, "FORBIDDEN", "Ask an administrator"),
        ("rita@example.com", "/projects/nothing", 404, "NOT_FOUND", "no grant lets you see it"),
        ("root@example.com", "/projects/Not%20A%20Slug", 422, "VALIDATION_FAILED", "correct what is named"),
        ("root@example.com", "/projects?a=1&a=2", 422, "VALIDATION_FAILED", "correct what is named"),
        ("root@example.com", "/projects?a=%FF", 400, "BAD_REQUEST", "reload the page"),
        ("root@example.com", "/%FF", 400, "BAD_REQUEST", "reload the page"),
    ],
)
def test_an_error_is_a_page_that_says_what_to_do_next(admin, service, who, path, status, code, advice):
    service.grant("rita@example.com", "reader", "shop/prod")
    browser = Browser(service, who or "root@example.com")
    if who is None:
        browser.extra_environ.clear()
    page = browser.get(path, status=status)
    assert page.html.find("code", string=code)
    assert advice in page.html.main.text
    assert page.headers["X-Request-Id"] in page.html.main.text
    assert page.html.main.find("a", href="/")


def test_an_error_page_leads_who_may_audit_to_its_own_records(admin, service):
    service.grant("rita@example.com", "reader", "shop/prod")
    service.grant("ada@example.com", "admin", "shop")
    refused = Browser(service, "ada@example.com").open("/projects/nothing", 404)
    assert f"/audit?request_id={refused.headers['X-Request-Id']}" in refused.text
    assert "/audit?" not in Browser(service, "rita@example.com").open("/projects/nothing", 404).text


def test_what_is_too_large_or_too_often_is_a_page(make_service, admin):
    browser = Browser(make_service(BODY_MAX_BYTES="1000"))
    page = browser.post("/projects", {"name": "x" * 2000}, status=413)
    assert "Send less at once" in page.text
    hasty = Browser(make_service(RATE_LIMIT="1/hour"))
    hasty.open("/projects")
    page = hasty.open("/projects", 429)
    assert "Wait a moment" in page.text
    assert page.headers["Retry-After"]


def test_a_service_that_is_not_configured_says_so_on_a_page(make_service):
    page = Browser(make_service(BOOTSTRAP_ADMINS="")).open("/projects", 503)
    assert "BOOTSTRAP_ADMINS" in page.html.main.text
    page = Browser(make_service(MASTER_KEY="short")).open("/projects", 500)
    assert page.html.find("code", string="SERVER_MISCONFIGURED")
    assert "the log of the service names the setting" in page.text
    page = Browser(make_service(ACCESS_ISSUER="")).open("/projects", 500)
    assert page.html.find("code", string="SERVER_MISCONFIGURED")


def test_a_page_that_fails_unforeseen_is_a_page_too(admin, service, monkeypatch):
    monkeypatch.setattr("secretsvc.projects.domain.page_of", lambda *_: 1 / 0)
    page = Browser(service).open("/projects", 500)
    assert page.html.find("h1").text == "An unexpected error occurred."
    assert "division" not in page.text


def test_pages_may_be_reached_from_other_sites_but_nothing_is_sent_from_there(admin, service):
    browser = Browser(service)
    cross = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    page = browser.open("/projects", headers=cross)
    token = page.html.find("input", {"name": "csrf"})["value"]
    refused = browser.post(
        "/projects", {"csrf": token, "slug": "evil", "name": "E"}, headers=cross, status=403
    )
    assert "other sites" in refused.text
    assert len(service.audit("project.create")) == 1
