"""The shell around every page, and errors as pages."""

from __future__ import annotations

import sys

import pytest
from pages import Browser
from pyramid.exceptions import ConfigurationError
from service import ADMIN
from statements import recorded

PROD = "/projects/shop/environments/prod"


def navigation(page, section="Main"):
    return {link.text: link["href"] for link in page.html.find("nav", {"aria-label": section}).find_all("a")}


def crumbs(page):
    trail = page.html.find("nav", {"aria-label": "Breadcrumb"})
    return {link.text: link["href"] for link in trail.find_all("a")} if trail else {}


def project_links(page, name="Shop"):
    found = page.html.find("nav", {"aria-label": name})
    return {link.text: link["href"] for link in found.find_all("a")} if found else {}


def test_breadcrumbs_lead_back_from_what_is_deeper_than_a_tab(vault, service):
    vault.batch(set={"API_KEY": "x"})
    browser = Browser(service)
    assert crumbs(browser.open(f"{PROD}/secrets/API_KEY")) == {"Shop": "/projects/shop", "Prod": PROD}
    assert crumbs(browser.open(PROD)) == crumbs(browser.open("/projects/shop")) == {}
    for kind, label, id in (
        ("identities", "People and tokens", service.identity_id("rita@example.com")),
        ("groups", "Groups", service.group("crew")),
    ):
        assert crumbs(browser.open(f"/{kind}/{id}")) == {label: f"/{kind}"}


def test_a_scope_that_an_id_names_is_called_by_what_people_know_it_by(admin, service):
    paths = {
        f"/identities/{service.identity_id('rita@example.com')}": "rita@example.com",
        f"/groups/{service.group('crew')}": "crew",
    }
    for path, name in paths.items():
        page = Browser(service).open(path)
        assert name in page.html.title.text
        assert name in page.html.main.text


def test_the_sidebar_shows_the_project_with_the_number_of_its_keys(vault, service):
    vault.batch(set={"API_KEY": "x", "DB_URL": "y", "GONE": "z"})
    vault.batch(delete=["GONE"])
    page = Browser(service).open(f"{PROD}/settings")
    links = project_links(page)
    assert links["All keys2"] == "/projects/shop"
    assert links["Prod2"] == PROD
    assert links["Settings"] == "/projects/shop/settings"
    assert project_links(Browser(service).open("/projects")) == {}


def test_the_sidebar_counts_a_key_once_and_only_where_the_caller_reads(vault, service):
    vault.batch(set={"SHARED": "x", "HERE": "y"})
    root = service.user(ADMIN)
    batch = {"mode": "merge", "set": {"SHARED": "x", "THERE": "y"}}
    root.post("/projects/shop/environments/dev/secrets:batch", batch)
    links = [*project_links(Browser(service).open("/projects/shop/settings"))]
    assert links[:3] == ["All keys3", "Prod2", "Dev2"]
    service.grant("rita@example.com", "reader", "shop/dev")
    page = Browser(service, "rita@example.com").open("/projects/shop/settings")
    assert [*project_links(page)][:2] == ["All keys2", "Dev2"]
    assert "Prod" not in page.html.find(id="side").text


def test_one_switches_to_the_other_projects_that_one_sees(vault, service):
    root = service.user(ADMIN)
    for number in range(10):
        root.post("/projects", {"slug": f"other-{number}", "name": f"Other {number}"}, status=201)
    page = Browser(service).open("/projects/shop/settings")
    links = [link["href"] for link in page.html.find("details", class_="switch").find_all("a")]
    assert links == [*(f"/projects/other-{number}" for number in range(8)), "/projects"]
    service.grant("rita@example.com", "reader", "shop/prod")
    mine = Browser(service, "rita@example.com").open("/projects/shop/settings")
    assert [link["href"] for link in mine.html.find("details", class_="switch").find_all("a")] == [
        "/projects"
    ]


def me(page):
    return page.html.find("details", class_="me").summary.get_text(" ", strip=True)


def test_the_sidebar_calls_one_by_ones_name(admin, service):
    service.grant("rita@example.com", "reader", "shop")
    rita = Browser(service, "rita@example.com")
    assert me(rita.open("/projects")) == "R rita example.com"
    path = f"/identities/{service.identity_id('rita@example.com')}"
    service.user(ADMIN).patch(path, {"display_name": "Rita Reader"})
    assert me(rita.open("/projects")) == "RR Rita Reader rita @example.com"


def test_the_project_beside_a_page_takes_one_statement(vault, service):
    browser = Browser(service)
    browser.open(f"{PROD}/settings")
    with recorded(service.engine) as statements:
        browser.open(f"{PROD}/settings")
    assert len([one for one in statements if "UNION ALL" in one and "protected" in one]) == 1, statements


def test_an_error_tells_nothing_of_the_project_it_happened_in(vault, service):
    page = Browser(service).open("/projects/shop/nothing-of-the-kind", 404)
    assert project_links(page) == {}
    assert "Shop" not in page.html.find(id="side").text


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
    def marked(path):
        found = Browser(service).open(path).html.find_all("a", {"aria-current": "page"})
        return [(link.text, link["href"]) for link in found]

    assert marked("/projects") == [("Projects", "/projects")]
    assert marked("/projects/shop/settings") == [("Settings", "/projects/shop/settings")]
    assert marked(f"{PROD}/settings")[0] == ("Prod0", PROD)
    # The tab of a project's keys leads to another page than the list of its environments.
    assert marked("/projects/shop/environments") == []


def test_a_package_outside_adds_to_navigation_and_tabs(admin, make_service, tmp_path, monkeypatch):
    (tmp_path / "outside.py").write_text(
        """
def page(context, request):
    return request.response

def includeme(config):
    config.add_navigation("Billing", "/billing", order=15, icon="box", section="main")
    config.add_navigation("Secret plans", "/plans", role="admin")
    config.add_tab("Costs", context="secretsvc.projects.resources.Project", name="costs", role="reader")
    config.add_page(page, context="secretsvc.projects.resources.Project", name="costs", role="reader")
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    service = make_service(**{"PYRAMID.INCLUDES": "outside"})
    service.grant("rita@example.com", "reader", "shop")
    page = Browser(service).open("/projects/shop/settings")
    assert "Secret plans" in navigation(page, "Organisation")
    assert [*navigation(page)].index("Billing") < [*navigation(page)].index("Projects")
    mine = Browser(service, "rita@example.com")
    page = mine.open("/projects/shop/settings")
    assert "Billing" in navigation(page)
    assert "Secret plans" not in page.text
    assert project_links(page)["Costs"] == "/projects/shop/costs"
    mine.open("/projects/shop/costs")


@pytest.mark.parametrize(
    ("declaration", "told"),
    [
        ("add_navigation({!r}, '/same')", "navigation /same"),
        ("add_flash_message('same', {!r})", "done same"),
        ("add_error_link('Same', {!r}.format, role='admin')", "error link Same"),
    ],
)
def test_two_entries_of_one_path_word_or_label_conflict(
    make_service, tmp_path, monkeypatch, declaration, told
):
    (tmp_path / "rival.py").write_text(
        "def includeme(config):\n"
        f"    config.{declaration.format('A')}\n"
        f"    config.{declaration.format('B')}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    # Or it would be that of the test before.
    monkeypatch.delitem(sys.modules, "rival", raising=False)
    with pytest.raises(ConfigurationError, match=f"there are two of {told}: take one out"):
        make_service(**{"PYRAMID.INCLUDES": "rival"})


def test_a_section_that_the_navigation_does_not_have_is_refused(make_service, tmp_path, monkeypatch):
    (tmp_path / "astray.py").write_text(
        "def includeme(config):\n    config.add_navigation('Astray', '/astray', section='nowhere')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match="no section 'nowhere'"):
        make_service(**{"PYRAMID.INCLUDES": "astray"})


def test_a_word_of_another_package_cannot_be_taken(make_service, tmp_path, monkeypatch):
    (tmp_path / "rival_word.py").write_text(
        "def includeme(config):\n    config.add_flash_message('granted', 'Mine.')\n"
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
    config.add_flash_message("noted", "Noted & kept.")
    config.add_error_link("Find its trace", trace, role="admin")
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    service = make_service(**{"PYRAMID.INCLUDES": "told"})
    browser = Browser(service)
    assert browser.open("/projects?done=noted").html.find("div", string="Noted & kept.")
    assert "Noted" not in browser.open("/projects?done=Noted").text
    lost = browser.open("/projects/nothing", 404)
    link = lost.html.find("a", string="Find its trace")
    assert link["href"] == f"/traces/{lost.headers['X-Request-Id']}"
    assert "Find its trace" not in Browser(service, "rita@example.com").open("/projects/nothing", 404).text


@pytest.mark.parametrize(
    ("who", "path", "status", "code", "advice"),
    [
        (None, "/projects", 401, "UNAUTHENTICATED", "in another tab to sign in again"),
        ("rita@example.com", f"{PROD}/import", 403, "FORBIDDEN", "Name the request below"),
        ("rita@example.com", "/projects/nothing", 404, "NOT_FOUND", "Ask an administrator of the place"),
        ("root@example.com", "/projects/Not%20A%20Slug", 422, "VALIDATION_FAILED", "Project: Use a-z"),
        ("root@example.com", "/projects?a=1&a=2", 422, "VALIDATION_FAILED", "correct what is named"),
        ("root@example.com", "/projects?a=%FF", 400, "BAD_REQUEST", "Go back and try again"),
        ("root@example.com", "/%FF", 400, "BAD_REQUEST", "Go back and try again"),
    ],
)
def test_an_error_is_a_page_that_says_what_to_do_next(admin, service, who, path, status, code, advice):
    service.grant("rita@example.com", "reader", "shop/prod")
    browser = Browser(service, who or "root@example.com")
    if who is None:
        browser.extra_environ.clear()
    page = browser.get(path, status=status)
    # Whoever is not known is not given the stylesheet either, without which symbols are as large as pictures.
    assert bool(page.html.select(".topbar svg")) == bool(page.html.main.select("svg")) == (who is not None)
    assert page.html.find("code", string=code)
    assert advice in page.html.main.text
    assert page.headers["X-Request-Id"] in page.html.main.text
    assert page.html.main.find("a", href="/")
    assert "schema" not in page.html.text
    assert (page.html.h1.text == "Please correct the following:") == (status == 422)


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


@pytest.mark.slow
def test_a_service_that_is_not_configured_says_so_on_a_page(make_service):
    page = Browser(make_service(BOOTSTRAP_ADMINS="")).open("/projects", 503)
    assert "BOOTSTRAP_ADMINS" in page.html.main.text
    page = Browser(make_service(MASTER_KEY="short")).open("/projects?new", 500)
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
    page = browser.open("/projects?new", headers=cross)
    token = page.html.find("input", {"name": "csrf"})["value"]
    refused = browser.post(
        "/projects", {"csrf": token, "slug": "evil", "name": "E"}, headers=cross, status=403
    )
    assert "other sites" in refused.text
    assert len(service.audit("project.create")) == 1
