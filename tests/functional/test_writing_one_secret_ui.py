"""The editor loses nothing: what is blank stays, what is stale is told, what is typed is kept."""

from __future__ import annotations

import json

import pytest
from pages import Browser, submit
from vault import detail

PROD = "/projects/shop/environments/prod"


@pytest.fixture
def browser(vault, service) -> Browser:
    vault.batch(set={"A": "one", "B": "two"}, descriptions={"A": "ay"})
    return Browser(service)


def plan(page):
    """What the review page says that it would do."""
    return {row.th.text: row.td.text for row in page.html.find_all("table")[-1].tbody.find_all("tr")}


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
