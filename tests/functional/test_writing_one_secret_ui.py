"""The editor loses nothing: what is blank stays, what is stale is told, what is typed is kept."""

from __future__ import annotations

import pytest
from pages import Browser, form_of, submit
from secrets_client import detail, digests

PROD = "/projects/shop/environments/prod"


@pytest.fixture
def browser(vault, service) -> Browser:
    vault.batch(set={"A": "one", "B": "two"}, descriptions={"A": "ay"})
    return Browser(service)


def plan(page):
    """What the review page says that it would do."""
    rows = page.html.select("table.diff tbody tr:not(.grow-row)")
    return {row.select_one(".key").text: row.find_all("td")[1].text for row in rows}


def test_what_is_typed_in_the_editor_for_a_key_that_is_gone_stands_in_a_new_row(browser, vault):
    form = browser.open(PROD).forms["edits"]
    form["value.B"], form["delete.A"] = "mine", True
    vault.batch(delete=["A", "B"])
    page = form.submit(status=412)
    page = browser.post(f"{PROD}/edit-back", dict(form_of(page, "/edit-back").submit_fields()))
    retyped = page.forms["edits"]
    rows = {
        retyped[name].value: name.removesuffix(".key")
        for name in retyped.fields
        if name and name.startswith("new.") and name.endswith(".key")
    }
    assert retyped[f"{rows['B']}.value"].value.strip() == "mine"
    assert "A" not in rows


def test_a_new_row_without_a_value_empties_no_secret_of_its_key(browser, vault):
    form = browser.open(PROD).forms["edits"]
    form["new.1.key"], form["new.1.description"], form["new.2.key"] = "A", "described", "NEW"
    page = form.submit(status=422)
    assert "A exists." in page.text
    form = page.forms["edits"]
    form["new.1.key"], form["new.1.description"] = "", ""
    page = form.submit()
    assert plan(page) == {"NEW": "new, empty"}
    submit(page, "/edit-apply")
    assert vault.values() == {"A": "one", "B": "two", "NEW": ""}


def test_a_mixed_edit_records_its_changes_and_what_was_described_alone(browser, vault, service):
    form = browser.open(PROD).forms["edits"]
    form["value.A"], form["new.1.key"], form["new.1.description"] = "uno", "C", "sea"
    typed = dict(form.submit_fields()) | {"description.B": "bee", "was.B": ""}
    submit(browser.post(f"{PROD}/edit-review", typed), "/edit-apply")
    assert detail(service.audit("secret.batch")[-1]) == {
        "rev": 2,
        "changes": [
            {"key": "A", "kind": "changed", "version": 2},
            {"key": "C", "kind": "added", "version": 1},
        ],
        "described": ["B"],
        **digests(service, B="bee", C="sea"),
    }
    assert {key: (one["version"], one["description"]) for key, one in vault.listed().items()} == {
        "A": (2, "ay"),
        "B": (1, "bee"),
        "C": (1, "sea"),
    }
