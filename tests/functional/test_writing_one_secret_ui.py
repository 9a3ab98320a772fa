"""The page of one secret loses nothing: what is blank stays, what is stale is told, what is typed is kept."""

from __future__ import annotations

import json

import pytest
from pages import Browser, form_of, submit, words
from vault import detail, records, state

PROD = "/projects/shop/environments/prod"
PAGE = f"{PROD}/secrets/A"


@pytest.fixture
def browser(vault, service) -> Browser:
    vault.batch(set={"A": "one", "B": "two"}, descriptions={"A": "ay"})
    return Browser(service)


def write(page, status=303, *, key="A", **fields):
    """Fills in the form that writes, and sends it; a redirection is followed."""
    names = {name: name if name == "reason" else f"{name}.{key}" for name in fields}
    return submit(page, "/write-apply", status, **{names[name]: text for name, text in fields.items()})


def typed(page, name):
    return form_of(page, "/write-apply")[name].value


def plan(page):
    """What the review page says that it would do."""
    return {row.th.text: row.td.text for row in page.html.find_all("table")[-1].tbody.find_all("tr")}


def test_a_value_left_blank_stays_and_its_description_changes_without_a_version(browser, vault, service):
    before = vault.listed()["A"]
    page = write(browser.open(PAGE), description="new", reason="because")
    assert "Written." in page.text
    assert vault.rev == 2
    assert vault.values() == {"A": "one", "B": "two"}
    assert vault.listed()["A"] == before | {"description": "new"}
    assert [one["version"] for one in vault.versions("A")] == [1]
    row = service.audit("secret.batch")[-1]
    assert (row["reason"], detail(row)) == ("because", {"rev": 2, "changes": [], "described": ["A"]})


def test_a_value_is_written_with_its_description(browser, vault, service):
    write(browser.open(PAGE), value="uno", description="")
    assert vault.value("A") == "uno"
    assert vault.listed()["A"]["description"] is None
    assert detail(records(service)[-2]) == {
        "rev": 2,
        "changes": [{"key": "A", "kind": "changed", "version": 2}],
    }


def test_a_form_with_nothing_typed_writes_nothing(browser, service):
    page = browser.open(PAGE)
    before, known = state(service), service.audit()
    assert "Nothing had to be changed." in write(page).text
    assert "Nothing had to be changed." in write(page, description=" ay ").text
    assert (state(service), service.audit()) == (before, known)


def test_a_description_of_several_lines_is_not_changed_by_a_browser_that_shows_it_on_one(browser, vault):
    vault.batch(set={"A": "one"}, descriptions={"A": "first\nsecond"})
    assert "Nothing had to be changed." in write(browser.open(PAGE), description="firstsecond").text
    assert vault.listed()["A"]["description"] == "first\nsecond"


def test_an_empty_value_is_asked_for_by_itself(browser, vault):
    page = write(browser.open(PAGE), empty=True)
    assert "Written." in page.text
    assert vault.value("A") == ""
    assert vault.listed()["A"]["description"] == "ay"


def test_an_empty_value_beside_a_typed_one_is_refused_at_its_field(browser, vault):
    page = write(browser.open(PAGE), 422, empty=True, value="typed")
    assert page.html.find(role="alert").code.text == "empty.A"
    field = page.html.find(id="value")
    assert field["aria-invalid"] == "true"
    assert "as well" in page.html.find(id=field["aria-describedby"]).text
    assert typed(page, "value.A").strip() == "typed"
    assert form_of(page, "/write-apply")["empty.A"].checked
    assert vault.rev == 1


def test_a_stale_write_shows_mine_and_theirs_and_loses_nothing(browser, vault):
    page = browser.open(PAGE)
    vault.set(A="theirs")
    page = write(page, 412, value="mine\r\n", description="my own", reason="why")
    assert "Somebody was quicker" in page.text
    theirs = page.html.find_all("table")[0]
    assert [row.th.text for row in theirs.tbody.find_all("tr")] == ["A"]
    assert plan(page) == {"A": "changed"}
    assert vault.value("A") == "theirs"
    again = browser.post(f"{PAGE}/write-again", dict(form_of(page, "/write-apply").submit_fields()))
    assert typed(again, "value.A").splitlines() == ["mine"]
    assert typed(again, "description.A") == "my own"
    assert typed(again, "reason") == "why"
    assert "Written." in write(again).text
    assert vault.value("A") == "mine\n"
    assert vault.listed()["A"]["description"] == "my own"


def test_mine_is_written_over_theirs_from_the_page_that_shows_both(browser, vault):
    page = browser.open(PAGE)
    vault.set(A="theirs")
    page = submit(write(page, 412, empty=True), "/write-apply")
    assert page.request.path == PAGE
    assert vault.value("A") == ""


def test_descriptions_that_others_changed_are_told_of_without_a_table(browser, vault):
    page = browser.open(PAGE)
    write(browser.open(f"{PROD}/secrets/B"), key="B", description="bee")
    page = write(page, 412, value="mine")
    assert "only descriptions were changed" in words(page)
    submit(page, "/write-apply")
    assert vault.values() == {"A": "mine", "B": "two"}


def test_the_description_of_a_secret_that_was_deleted_meanwhile_stays_typed(browser, vault):
    page = browser.open(PAGE)
    vault.batch(delete=["A"])
    page = write(page, 412, description="new")
    assert "The secret is not there any more." in page.html.find(role="alert").text
    assert typed(page, "description.A") == "new"
    submit(write(page, 412, value="x"), "/write-apply")
    assert vault.listed()["A"]["description"] == "new"


def test_a_refused_write_still_belongs_to_the_revision_that_it_was_typed_at(browser, vault):
    page = write(browser.open(PAGE), 422, value="mine", description="d" * 1025)
    vault.set(A="theirs")
    assert "Somebody was quicker" in write(page, 412, description="short").text


@pytest.mark.parametrize(("form", "fields"), [("/rename", {"to": "C"}), ("/rollback", {}), ("/delete", {})])
def test_a_stale_rename_rollback_or_deletion_is_told_and_can_be_repeated(browser, vault, form, fields):
    vault.set(A="uno")
    page = browser.open(PAGE)
    vault.set(A="theirs")
    page = submit(page, form, 412, **fields)
    assert "not at the expected revision" in page.html.find(role="alert").text
    assert vault.value("A") == "theirs"
    assert page.html.find(class_="number", string="3")
    for name, text in fields.items():
        assert form_of(page, form)[name].value == text
    if form != "/rollback":
        submit(page, form)
        assert "A" not in vault.values()


def test_a_revealed_value_has_a_page_without_a_form_that_its_refresh_could_drop(browser):
    page = submit(browser.open(PAGE), "/reveal", 200)
    assert page.headers["Refresh"] == f"30;url={PAGE}"
    assert page.html.find("textarea", {"aria-label": "The value of A"}).text.strip() == "one"
    assert page.html.main.find("form") is None
    assert page.html.find(attrs={"name": "reason"}) is None
    # The page that it was asked from stays, with what is typed there.
    opener = browser.open(PAGE).html.find("form", action=f"{PAGE}/reveal")
    assert opener["target"] == "_blank"
    assert browser.open(PROD).html.find("form", id="reveal")["target"] == "_blank"


def test_what_is_typed_in_the_editor_for_a_key_that_is_gone_stands_in_a_new_row(browser, vault):
    form = browser.open(PROD).forms["edits"]
    form["value.B"], form["description.A"] = "mine", "changed"
    vault.batch(delete=["A", "B"])
    page = form.submit(status=412)
    assert "The secret is not there any more." in page.html.find(role="alert").text
    retyped = page.forms["edits"]
    rows = {
        retyped[name].value: name.removesuffix(".key")
        for name in retyped.fields
        if name and name.startswith("new.") and name.endswith(".key")
    }
    assert retyped[f"{rows['B']}.value"].value.strip() == "mine"
    assert retyped[f"{rows['A']}.description"].value == "changed"


def test_a_new_row_without_a_value_empties_no_secret_of_its_key(browser, vault, service):
    form = browser.open(PROD).forms["edits"]
    form["new.0.key"], form["new.0.description"], form["new.1.key"] = "A", "described", "NEW"
    page = form.submit()
    assert plan(page) == {"A": "description only", "NEW": "new"}
    submit(page, "/edit-apply")
    assert vault.values() == {"A": "one", "B": "two", "NEW": ""}
    (row,) = service.audit("secret.batch")[1:]
    assert json.loads(row["detail"])["described"] == ["A"]


def test_a_mixed_edit_records_its_changes_and_what_was_described_alone(browser, vault, service):
    form = browser.open(PROD).forms["edits"]
    form["value.A"], form["description.A"], form["description.B"] = "uno", "new", "bee"
    submit(form.submit(), "/edit-apply")
    assert detail(service.audit("secret.batch")[-1]) == {
        "rev": 2,
        "changes": [{"key": "A", "kind": "changed", "version": 2}],
        "described": ["B"],
    }
    assert {key: (one["version"], one["description"]) for key, one in vault.listed().items()} == {
        "A": (2, "new"),
        "B": (1, "bee"),
    }


def test_a_description_of_what_is_to_be_deleted_is_refused_at_its_field(browser, vault):
    form = browser.open(PROD).forms["edits"]
    form["description.A"], form["delete.A"] = "new", True
    page = form.submit(status=422)
    assert page.html.find(role="alert").code.text == "description.A"
    assert vault.rev == 1
