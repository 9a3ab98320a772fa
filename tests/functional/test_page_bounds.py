"""What pages must not tell, and what nobody from outside may make of them (a 500, or a wait)."""

from __future__ import annotations

import pytest
from pages import Browser, form_of

from secretsvc.projects.ui import slug_of
from secretsvc.secrets.ui import editor, editor_fields
from secretsvc.web.forms import Form

BOB = "bob@example.com"
PROD = "/projects/shop/environments/prod"


@pytest.fixture
def narrow(service, admin):
    """The browser of an administrator of one environment of the project."""
    service.grant("nina@example.com", "admin", "shop/prod")
    return Browser(service, "nina@example.com")


def test_a_reason_names_no_grant_where_the_caller_sees_nothing(service, narrow):
    service.grant(BOB, "reader", "shop/prod")
    service.grant(BOB, "admin", "shop/dev")
    bob = service.identity_id(BOB)
    for path in (
        f"/identities/{bob}?why=shop",
        f"{PROD}/access?why={bob}",
        f"/projects/shop/access?why={bob}",
    ):
        page = narrow.get(path, status="*")
        assert "Dev" not in page.text
        assert "in dev" not in page.text


def test_what_has_ended_is_told_to_whom_the_grants_of_its_scope_are_told(service, narrow, browser):
    service.grant(BOB, "reader", "shop", expires_at=1)
    service.grant("carl@example.com", "reader", "shop/prod", expires_at=1)
    shown = narrow.open(f"{PROD}/access?show=ended").html.find("table").text
    assert ("carl@example.com" in shown, BOB in shown) == (True, False)
    assert BOB in browser.open(f"{PROD}/access?show=ended").html.find("table").text


@pytest.mark.both_engines
def test_the_groups_count_only_grants_that_the_caller_may_list(service, narrow, browser):
    crew = service.group("crew", BOB)
    service.grant(crew, "reader", "shop/prod", group=True)
    service.grant(crew, "reader", "shop/dev", group=True)
    counts = [
        page.open("/groups").html.find("td", {"data-h": "Grants"}).text.strip() for page in (narrow, browser)
    ]
    assert counts == ["1", "2"]


def test_a_project_without_environments_has_a_page_of_access(admin, browser):
    admin.post("/projects", {"slug": "bare", "name": "Bare"}, 201)
    assert "root@example.com" in browser.open("/projects/bare/access").html.main.text


@pytest.mark.parametrize(
    "path", ["/grants?q=%00", "/groups?q=%00", "/identities?q=%00", "/grants?q=" + "x" * 321]
)
def test_what_no_name_holds_is_refused_as_a_filter(admin, browser, path):
    browser.open(path, 422)


@pytest.mark.parametrize("button", ["reveal", "copy"])
def test_a_button_of_a_row_that_cannot_be_is_not_found(vault, browser, button):
    vault.set(A="1")
    form = browser.open(PROD).forms["edits"]
    page = browser.post(f"{PROD}/read", {"csrf": form["csrf"].value, button: "A\0"}, status="*")
    assert page.status_int in (404, 422)
    assert "Secret not found." in page.text


def test_a_name_of_many_marks_makes_an_address_of_its_beginning():
    marks = "\u0301" * 300_000 + "\u0316" * 300_000
    assert slug_of(f"a{marks}b") == "a"


def test_what_is_typed_is_looked_through_once_however_many_rows_there_are(monkeypatch):
    looks = []

    def counted(found):
        def look(form):
            looks.append(1)
            return found(form)

        return look

    monkeypatch.setattr(editor, "changed_descriptions", counted(editor.changed_descriptions))
    monkeypatch.setattr(editor_fields, "new_keys", counted(editor_fields.new_keys))
    form = Form({f"value.K{number}": "x" for number in range(50)})

    class Nothing:
        items = ()

    editor._keep_for_gone(form, Nothing)
    assert form["new.of-K7.value"] == "x"
    kept = {f"keep.K{number}": "theirs" for number in range(50)} | {"new.1.key": "K7", "new.1.value": "x"}
    form = Form(kept)
    editor_fields.give_up(form)
    assert form.values == {}
    assert len(looks) <= 3


def test_the_address_of_a_form_that_creates_is_refused_with_what_was_typed(admin, browser):
    form = form_of(browser.open("/projects?new"), "/projects")
    form["name"] = "\u0301" * 300
    page = form.submit(status=422)
    assert page.html.find(id="name")["value"] == "\u0301" * 300
