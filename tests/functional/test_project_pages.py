"""The pages of projects and environments, without JavaScript."""

from __future__ import annotations

import pytest
from pages import Browser, submit
from vault import PLAINTEXT_HEADERS


def test_a_project_is_created_changed_and_deleted_by_forms(browser, service):
    page = submit(browser.open("/projects"), "/projects", name="Till", slug="till", description="Pays")
    assert page.request.path == "/projects/till"
    page = browser.open("/projects/till/settings")
    page = submit(page, "/settings", name="Tills", description="")
    assert page.html.find("h1").text == "Tills"
    assert "Saved." in page.html.find(role="status").text
    page = submit(page, "/delete", confirm="till")
    assert "Deleted." in page.html.find(role="status").text
    browser.open("/projects/till/settings", 404)
    assert [row["action"] for row in service.audit()][-3:] == [
        "project.create",
        "project.update",
        "project.delete",
    ]


def test_an_environment_is_created_and_deleted_by_forms(browser):
    page = browser.open("/projects/shop/environments")
    page = submit(page, "/environments", name="Test", slug="test")
    assert page.request.path == "/projects/shop/environments/test"
    page = browser.open("/projects/shop/environments/test/settings")
    page = submit(page, "/delete", confirm="test")
    assert page.request.path == "/projects/shop"
    browser.open("/projects/shop/environments/test/settings", 404)


@pytest.mark.parametrize("place", ["/projects/shop", "/projects/shop/environments/prod"])
def test_nothing_is_deleted_unless_its_slug_is_typed(browser, place):
    page = submit(browser.open(f"{place}/settings"), "/delete", 422, confirm="shops")
    assert "Type the slug" in page.html.find(role="alert").text
    assert page.html.find(id="confirm")["aria-invalid"] == "true"
    browser.open(f"{place}/settings")


@pytest.mark.parametrize(("slug", "status"), [("shop", 409), ("Not A Slug", 422), ("", 422)])
def test_a_refused_form_keeps_what_was_typed_and_says_why(browser, slug, status):
    typed = {"name": "  Shop <b>2</b> ", "slug": slug, "description": "A & B"}
    page = submit(browser.open("/projects"), "/projects", status, **typed)
    assert {name: page.html.find(id=name)["value"] for name in typed} == typed
    assert page.html.find(role="alert")
    assert page.headers["Cache-Control"] == PLAINTEXT_HEADERS["Cache-Control"]


def test_what_the_caller_may_not_do_is_disabled_with_the_reason(admin, service):
    service.grant("ada@example.com", "reader", "shop/prod")
    browser = Browser(service, "ada@example.com")
    for path in ("/projects", "/projects/shop/settings", "/projects/shop/environments/prod/settings"):
        page = browser.open(path)
        assert all(field.has_attr("disabled") for field in page.html.find_all("fieldset"))
        assert [help for help in page.html.find_all(class_="help") if " needs the " in help.text]
    assert "Dev" not in browser.open("/projects").text
    browser.open("/projects/shop/environments/dev/settings", 404)


def test_a_form_without_its_token_or_with_another_identitys_is_refused(browser, service):
    service.grant("ada@example.com", "admin", "global")
    other = Browser(service, "ada@example.com").open("/projects")
    token = other.html.find("input", {"name": "csrf"})["value"]
    fields = {"name": "Till", "slug": "till", "description": ""}
    for offered in ({}, {"csrf": ""}, {"csrf": "é"}, {"csrf": token}):
        page = browser.post("/projects", fields | offered, status=403)
        assert "too old, or not yours" in page.text
    assert [row["action"] for row in service.audit("project.create")] == ["project.create"]


@pytest.mark.engine_neutral
@pytest.mark.parametrize(
    ("body", "media", "status"),
    [
        (b"name=%FF", "application/x-www-form-urlencoded", 400),
        (b"name=a&name=b", "application/x-www-form-urlencoded", 422),
        (b"&" * 20_000, "application/x-www-form-urlencoded", 400),
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
    submit(browser.open("/projects"), "/projects", name=evil, slug="evil", description=evil)
    for path in ("/projects", "/projects/evil/settings"):
        page = browser.open(path)
        assert evil in page.html.text or page.html.find(id="name")["value"] == evil
        assert {script["src"].split("?")[0].split("/")[1] for script in page.html.find_all("script")} == {
            "static"
        }
