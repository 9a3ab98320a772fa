"""Adding keys by the pages: where they go is asked for, and a key that exists is not overwritten."""

from __future__ import annotations

import pytest
from pages import Browser, form_of, submit, words

PROJECT = "/projects/shop"
PROD, DEV = (f"{PROJECT}/environments/{slug}" for slug in ("prod", "dev"))


@pytest.fixture
def browser(vault, service):
    vault.batch(set={"A": "1", "B": "2"}, descriptions={"B": "bee"})
    return Browser(service)


def menus(page):
    """The links of each menu in the head of a page, by its name."""
    found = page.html.select(".head details.menu")
    return {
        menu.summary.text: [(a.get_text(" ").split(), a["href"]) for a in menu.find_all("a")]
        for menu in found
    }


def add(page, key, value="", description=""):
    form = page.forms["edits"]
    form["new.1.key"], form["new.1.value"], form["new.1.description"] = key, value, description
    return form


def problem(page):
    """What stands at the first row for a new secret."""
    field = page.html.find(id="new.1.key")
    assert field["aria-invalid"] == "true"
    return page.html.find(id=field["aria-describedby"])


def test_adding_keys_asks_for_the_environment_and_names_a_protected_one_last(browser, admin):
    admin.patch(PROD, {"protected": True})
    page = browser.open(f"{PROJECT}?with=prod")
    prod, dev = ["Prod", "protected"], ["Dev"]
    assert menus(page) == {
        "Paste .env": [(dev, f"{DEV}/import"), (prod, f"{PROD}/import")],
        "Add keys": [(dev, f"{DEV}?new"), (prod, f"{PROD}?new")],
    }
    for links in menus(page).values():
        for _, href in links:
            assert browser.open(href)
    assert browser.open(f"{DEV}?new").html.find(id="new.1.key").has_attr("autofocus")


def test_adding_keys_offers_the_environments_that_the_caller_writes_to(browser, service):
    service.grant("rita@example.com", "reader", "shop")
    service.grant("rita@example.com", "writer", "shop/dev")
    found = menus(Browser(service, "rita@example.com").open(PROJECT))
    assert [[href for _, href in links] for links in found.values()] == [[f"{DEV}/import"], [f"{DEV}?new"]]


@pytest.mark.parametrize(
    ("value", "description"), [("new", ""), ("1", ""), ("", ""), ("", "described"), ("new", "described")]
)
def test_an_existing_key_in_a_new_row_is_a_problem_of_that_row(browser, vault, value, description):
    page = add(browser.open(PROD), "A", value, description).submit(status=422)
    assert " ".join(problem(page).text.split()) == "A exists. Edit it"
    link = problem(page).a["href"]
    assert page.html.find(id=link.removeprefix("#"))["name"] == "value.A"
    assert "New secret, row 1: A exists." in words(page)
    form = page.forms["edits"]
    typed = [form[f"new.1.{part}"].value.strip() for part in ("key", "value", "description")]
    assert typed == ["A", value, description]
    assert vault.rev == 1


def test_an_existing_key_in_a_new_row_is_a_problem_beside_its_own_edit(browser):
    form = add(browser.open(PROD), "A", "new")
    form["value.A"] = "typed"
    assert problem(form.submit(status=422)).text.startswith("A exists.")


def test_the_row_of_an_existing_key_is_shown_whatever_the_filter(browser):
    page = add(browser.open(f"{PROD}?show=without-description"), "B", "new").submit(status=422)
    row = page.html.find(attrs={"name": "value.B"}).find_parent("tr")
    assert not row.has_attr("hidden")


def test_a_deleted_key_is_new_again(browser, vault):
    vault.batch(delete=["A"])
    page = add(browser.open(PROD), "A", "again").submit()
    submit(page, "/edit-apply")
    assert vault.value("A") == "again"


def test_a_link_to_a_missing_key_that_was_added_meanwhile_leads_to_its_row(browser):
    page = browser.open(f"{PROD}?new=A")
    assert page.forms["edits"]["new.1.key"].value == ""
    assert [one["name"] for one in page.html.select("#edits [autofocus]")] == ["value.A"]


@pytest.mark.both_engines
@pytest.mark.parametrize("value", ["mine", "theirs"])
def test_a_new_key_that_another_user_added_meanwhile_is_a_conflict_and_mine_can_be_kept(
    browser, vault, value
):
    form = add(browser.open(PROD), "NEW", value, "described")
    vault.set(NEW="theirs")
    page = form.submit(status=412)
    form = form_of(page, "/edit-back")
    assert form["keep.NEW"].value == "yours"
    back = browser.post(f"{PROD}/edit-back", form.submit_fields())
    assert back.forms["edits"]["value.NEW"].value.strip() == value
    page = back.forms["edits"].submit()
    submit(page, "/edit-apply")
    assert vault.value("NEW") == value
    assert vault.listed()["NEW"]["description"] == "described"
    assert len(vault.versions("NEW")) == (2 if value == "mine" else 1)
