"""The pages of projects and environments, without JavaScript."""

from __future__ import annotations

import pytest
from pages import Browser, submit
from secrets_client import PLAINTEXT_HEADERS
from statements import recorded

from secretsvc.projects import ui


def create(browser, status=303, **fields):
    """Sends the panel of a new project, without environments where none are named."""
    page = browser.open("/projects?new")
    assert page.html.find(role="dialog")
    assert page.html.find(class_="app").has_attr("inert")
    return submit(page, "/projects", status, **{"environments": "", **fields})


def test_a_project_is_created_changed_and_deleted_by_forms(browser, service):
    page = create(browser, name="Till", slug="till", description="Pays")
    assert page.request.path == "/projects/till"
    page = browser.open("/projects/till/settings")
    page = submit(page, "/settings", name="Tills", description="")
    assert "Tills" in page.html.select_one(".head").text
    assert "Saved." in page.html.find(role="status").text
    page = submit(page, "/delete", confirm="till")
    assert "Deleted till." in page.html.find(role="status").text
    browser.open("/projects/till/settings", 404)
    assert [row["action"] for row in service.audit()][-3:] == [
        "project.create",
        "project.update",
        "project.delete",
    ]


def test_the_panel_is_an_address_of_its_own_and_the_list_stands_without_it(browser):
    page = browser.open("/projects")
    assert page.html.find(role="dialog") is None
    assert page.html.find("a", href="/projects?new")
    assert not page.html.find(class_="app").has_attr("inert")
    page = browser.open("/projects?new")
    assert page.html.find(id="name").has_attr("autofocus")
    assert page.html.find("a", {"aria-label": "Close"})["href"] == "/projects"


def listed(page):
    return [row.th.a["href"].removeprefix("/projects/") for row in page.html.select("table tbody tr")]


@pytest.mark.slow
@pytest.mark.both_engines
def test_projects_are_found_by_a_part_of_their_name_or_address(browser, service, admin):
    for slug, name in (("web-shop", "Till"), ("odd", "100%_sure"), ("blog", "A web log")):
        service.user().post("/projects", {"slug": slug, "name": name}, 201)
    service.grant("ada@example.com", "reader", "shop")
    assert listed(submit(browser.open("/projects"), "/projects", 200, q=" WEB ")) == ["web-shop", "blog"]
    for text, found in (
        ("till", ["web-shop"]),
        ("%", ["odd"]),
        ("_", ["odd"]),
        ("shop", ["shop", "web-shop"]),
    ):
        page = browser.open("/projects", params={"q": text})
        assert (listed(page), page.html.find(id="q")["value"]) == (found, text)
    page = browser.open("/projects?q=nothing")
    assert "No project that you see matches." in page.html.main.text
    assert listed(page.click("Show all")) == ["shop", "web-shop", "odd", "blog"]
    assert listed(Browser(service, "ada@example.com").open("/projects?q=web")) == []
    assert Browser(service, "new@example.com").open("/projects").html.find(id="q") is None
    browser.open("/projects?q=" + "x" * 321, 422)


@pytest.mark.both_engines
def test_the_pages_of_the_list_keep_what_was_asked_for(browser, service, monkeypatch):
    monkeypatch.setattr(ui, "LIMIT", 2)
    for number in range(3):
        service.user().post("/projects", {"slug": f"a-{number}", "name": "A"}, 201)
        service.user().post("/projects", {"slug": f"b-{number}", "name": "B"}, 201)
    page = browser.open("/projects?q=a-")
    assert listed(page) == ["a-0", "a-1"]
    page = page.click("^More projects")
    assert (listed(page), page.html.find(id="q")["value"]) == (["a-2"], "a-")
    assert page.html.find("a", rel="next") is None


@pytest.mark.both_engines
@pytest.mark.parametrize("count", [1, 60])
def test_the_list_takes_two_statements_however_much_there_is(make_service, count):
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    for number in range(count):
        service.user().post("/projects", {"slug": f"p-{number}", "name": "P"}, 201)
    with recorded(service.engine) as statements:
        Browser(service).open("/projects?q=p-")
    # Authentication; the projects and their environments.
    assert len(statements) == 3


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Web Shop 2", "web-shop-2"),
        ("  Über–Crème!  ", "uber-creme"),
        ("x" * 80, "x" * 64),
        ("A--B_c", "a-b-c"),
    ],
)
def test_an_address_left_blank_is_made_of_the_name(browser, name, slug):
    assert create(browser, name=name).request.path == f"/projects/{slug}"


def test_a_name_that_makes_no_address_is_refused_at_the_address(browser):
    page = create(browser, 422, name="店")
    assert page.html.find(id="slug")["aria-invalid"] == "true"
    rule = "Address: Use a-z, 0-9 and single hyphens, such as shop-2."
    assert page.html.find(role="alert").a.text == rule
    assert page.html.find(id="name")["value"] == "店"


def test_a_project_comes_with_its_environments_the_last_one_protected(browser, service):
    page = create(browser, name="Till", environments="Test\r\nQuality Gate\r\n\r\nLive", protect="yes")
    assert page.request.path == "/projects/till/environments/test/import"
    listed = service.user().get("/projects/till/environments").json["items"]
    assert [(one["slug"], one["name"], one["protected"]) for one in listed] == [
        ("test", "Test", False),
        ("quality-gate", "Quality Gate", False),
        ("live", "Live", True),
    ]
    assert [row["action"] for row in service.audit()][-5:] == [
        "project.create",
        *["environment.create"] * 3,
        "environment.update",
    ]


@pytest.mark.parametrize("typed", ["店", "One\none", "\n".join(f"e{number}" for number in range(21))])
def test_environments_that_cannot_be_made_leave_no_project_and_all_that_was_typed(browser, typed):
    page = create(browser, 422, name="Till", environments=typed)
    assert page.html.find(id="environments").text.strip() == typed
    assert page.html.find(id="environments")["aria-invalid"] == "true"
    browser.open("/projects/till", 404)


def test_an_environment_is_created_and_deleted_by_forms(browser):
    page = browser.open("/projects/shop/environments?new")
    page = submit(page, "/environments", name="Test")
    assert page.request.path == "/projects/shop/environments/test"
    page = browser.open("/projects/shop/environments/test/settings")
    page = submit(page, "/delete", confirm="test")
    assert page.request.path == "/projects/shop"
    browser.open("/projects/shop/environments/test/settings", 404)


def test_an_environment_is_renamed_and_protected_and_then_cannot_be_deleted(browser, service, admin):
    path = "/projects/shop/environments/prod"
    page = submit(
        browser.open(f"{path}/settings"), "/settings", name="Live", description="Ours", protected="yes"
    )
    assert "Saved." in page.html.find(role="status").text
    assert "protected" in page.html.h1.text
    found = admin.get(path).json
    assert (found["name"], found["description"], found["protected"]) == ("Live", "Ours", True)
    assert page.html.find(id="confirm").find_parent("fieldset").has_attr("disabled")
    page = browser.open("/projects/shop/settings")
    assert "Live is protected" in page.html.main.text
    token = page.html.find("input", {"name": "csrf"})["value"]
    for page_path, slug in ((path, "prod"), ("/projects/shop", "shop")):
        refused = browser.post(f"{page_path}/delete", {"csrf": token, "confirm": slug}, status=409)
        assert "protected" in refused.html.find(role="alert").text
    page = submit(browser.open(f"{path}/settings"), "/settings", protected=None)
    assert admin.get(path).json["protected"] is False


@pytest.mark.both_engines
def test_protecting_needs_the_admin_role_of_the_environment(service, admin):
    service.grant("ada@example.com", "writer", "shop")
    browser = Browser(service, "ada@example.com")
    token = browser.open("/projects?new").html.find("input", {"name": "csrf"})["value"]
    fields = {"csrf": token, "name": "Prod", "protected": "yes"}
    browser.post("/projects/shop/environments/prod/settings", fields, status=403)
    assert browser.open("/projects/shop/environments?new").html.find("input", {"name": "protect"}) is None


@pytest.mark.parametrize("path", ["/projects/shop", "/projects/shop/environments/prod"])
def test_nothing_is_deleted_unless_its_slug_is_typed(browser, path):
    page = submit(browser.open(f"{path}/settings"), "/delete", 422, confirm="shops")
    assert f"Address: Type {path.rpartition('/')[2]} to confirm." in page.html.find(role="alert").text
    assert page.html.find(id="confirm")["aria-invalid"] == "true"
    browser.open(f"{path}/settings")


@pytest.mark.parametrize(("slug", "status"), [("shop", 409), ("Not A Slug", 422), ("-", 422)])
def test_a_refused_form_keeps_what_was_typed_and_says_why(browser, slug, status):
    typed = {"name": "  Shop <b>2</b> ", "slug": slug, "description": "A & B"}
    page = create(browser, status, **typed)
    assert {name: page.html.find(id=name)["value"] for name in typed} == typed
    assert page.html.find(role="alert")
    assert page.headers["Cache-Control"] == PLAINTEXT_HEADERS["Cache-Control"]


@pytest.mark.both_engines
def test_what_the_caller_may_not_do_is_disabled_with_the_reason(admin, service):
    service.grant("ada@example.com", "reader", "shop/prod")
    browser = Browser(service, "ada@example.com")
    for path in ("/projects?new", "/projects/shop/settings", "/projects/shop/environments/prod/settings"):
        page = browser.open(path)
        assert all(field.has_attr("disabled") for field in page.html.find_all("fieldset"))
        assert [help for help in page.html.find_all(class_="help") if " needs the " in help.text]
    assert "Dev" not in browser.open("/projects").text
    browser.open("/projects/shop/environments/dev/settings", 404)


def test_a_form_without_its_token_or_with_another_identitys_is_refused(browser, service):
    service.grant("ada@example.com", "admin", "global")
    other = Browser(service, "ada@example.com").open("/projects?new")
    token = other.html.find("input", {"name": "csrf"})["value"]
    fields = {"name": "Till", "slug": "till", "description": ""}
    for offered in ({}, {"csrf": ""}, {"csrf": "é"}, {"csrf": token}):
        page = browser.post("/projects", fields | offered, status=403)
        assert "too old, or not yours" in page.text
    assert [row["action"] for row in service.audit("project.create")] == ["project.create"]


@pytest.mark.parametrize(
    ("body", "media", "status"),
    [
        (b"name=%FF", "application/x-www-form-urlencoded", 400),
        (b"name=a&name=b", "application/x-www-form-urlencoded", 422),
        (b"&" * 200_000, "application/x-www-form-urlencoded", 400),
        (b"{}", "application/json", 400),
        (b"x", "multipart/form-data", 403),
        (b"--x\r\nnonsense", "multipart/form-data; boundary=x", 400),
        (b"x", "", 400),
    ],
)
def test_a_form_that_no_browser_sends_is_an_error_page(browser, body, media, status):
    page = browser.post("/projects", body, content_type=media, status=status)
    assert page.content_type == "text/html"


def test_names_are_shown_as_text(browser):
    evil = "<script>alert(1)</script>\"'${1+1}"
    create(browser, name=evil, slug="evil", description=evil)
    for path in ("/projects", "/projects/evil/settings"):
        page = browser.open(path)
        assert evil in page.html.text or page.html.find(id="name")["value"] == evil
        assert {script["src"].split("?")[0].split("/")[1] for script in page.html.find_all("script")} == {
            "static"
        }
