"""Edits are counted as they are staged, and not lost by accident."""

from __future__ import annotations

import re
import time

import pytest
from chromium import Visitor
from playwright.sync_api import Dialog, Page, expect
from vault import CANONICAL as PROD
from vault import Vault
from waiting import PATIENCE


def stage(page: Page) -> None:
    """One secret changed, one new, one deleted."""
    page.goto(PROD)
    page.get_by_label("New value of API_KEY").fill("another")
    page.get_by_label("Key of a new secret").first.fill("FRESH")
    page.get_by_label("Value of a new secret").first.fill("new")
    page.get_by_label("Delete DB_URL").check()


def leave(page: Page) -> list[str]:
    """The questions that are asked on the way to another page; each is answered by staying."""
    asked, left = [], []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.on("framenavigated", lambda _: left.append(True))
    page.get_by_role("link", name="Projects").first.click(no_wait_after=True)
    until = time.monotonic() + PATIENCE
    while not (asked or left) and time.monotonic() < until:
        page.wait_for_timeout(50)
    # For a second question.
    page.wait_for_timeout(200)
    return asked


def test_staged_edits_are_counted_in_words(page: Page) -> None:
    page.goto(PROD)
    told = page.locator("#staged")
    expect(told).to_have_text("Type what is to change.")
    stage(page)
    expect(told).to_have_text("1 changed, 1 new, 1 deleted: not written yet.")
    page.get_by_label("Delete API_KEY").check()
    expect(told).to_have_text("1 new, 2 deleted: not written yet.")
    page.get_by_label("Delete API_KEY").uncheck()
    page.get_by_label("Delete DB_URL").uncheck()
    page.get_by_label("New value of API_KEY").fill("")
    page.get_by_label("Description of API_KEY").fill("For all of it")
    expect(told).to_have_text("1 changed, 1 new: not written yet.")
    page.get_by_label("Description of API_KEY").fill("For the payments")
    page.get_by_label("Key of a new secret").first.fill("")
    page.get_by_label("Value of a new secret").first.fill("")
    expect(told).to_have_text("Type what is to change.")


def test_what_is_staged_is_reviewed_and_written(page: Page, vault: Vault) -> None:
    stage(page)
    page.get_by_role("button", name="Review the changes").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Review before it is written")
    page.get_by_label("Reason").fill("because")
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_role("status").first).to_have_text("Written.")
    assert vault.values() == {"API_KEY": "another", "FRESH": "new", "MAIL_FROM": "shop@example.com"}


def test_rows_for_new_secrets_are_added_as_they_are_needed(page: Page, vault: Vault) -> None:
    page.goto(PROD)
    keys = page.get_by_label("Key of a new secret")
    before = keys.count()
    for number in range(before):
        keys.nth(number).fill(f"NEW_{number}")
    page.get_by_role("button", name="Add a row").click()
    expect(keys).to_have_count(before + 1)
    expect(keys.last).to_be_focused()
    expect(keys.last).to_have_value("")
    keys.last.fill("NEWEST")
    expect(page.locator("#staged")).to_have_text(f"{before + 1} new: not written yet.")
    page.get_by_role("button", name="Review the changes").click()
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_role("status").first).to_have_text("Written.")
    assert set(vault.values()) >= {f"NEW_{number}" for number in range(before)} | {"NEWEST"}


def test_the_filter_leaves_the_rows_that_match_and_forgets_no_edit(page: Page) -> None:
    stage(page)
    rows = page.locator("tr[data-key]")
    page.get_by_label("Filter rows").fill("mail")
    expect(rows.filter(visible=True)).to_have_count(1)
    expect(page.locator("#staged")).to_have_text("1 changed, 1 new, 1 deleted: not written yet.")
    page.get_by_label("Filter rows").fill("")
    expect(rows.filter(visible=True)).to_have_count(3)


def test_a_page_with_edits_is_not_left_by_accident(page: Page) -> None:
    stage(page)
    assert leave(page) == ["beforeunload"]
    assert page.url.endswith(PROD)
    expect(page.get_by_label("New value of API_KEY")).to_have_value("another")


@pytest.mark.parametrize("path", [PROD, f"{PROD}/import"])
def test_a_page_without_edits_is_left_without_a_question(page: Page, path: str) -> None:
    page.goto(path)
    page.locator("h1").click()
    assert leave(page) == []
    expect(page).to_have_url(re.compile("/projects$"))


def test_a_form_that_is_sent_asks_no_question(page: Page) -> None:
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    stage(page)
    page.get_by_role("button", name="Review the changes").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Review before it is written")
    assert asked == []


def test_text_is_not_lost_by_accident_either(page: Page) -> None:
    page.goto(f"{PROD}/text")
    page.get_by_role("button", name="Show the values").click()
    page.get_by_label("One KEY=value a line").press_sequentially("# mine")
    assert leave(page) == ["beforeunload"]


SECRET = f"{PROD}/secrets/API_KEY"


@pytest.mark.parametrize("label", ["New value", "Description", "Set an empty value"])
def test_what_is_typed_for_one_secret_is_not_lost_by_accident(page: Page, label: str) -> None:
    page.goto(SECRET)
    field = page.get_by_label(label)
    if label.startswith("Set"):
        field.check()
    else:
        field.fill("another")
    assert leave(page) == ["beforeunload"]


def test_the_page_of_one_secret_is_left_without_a_question_where_nothing_is_typed(
    page: Page, vault: Vault
) -> None:
    vault.batch(set={"API_KEY": "x"}, descriptions={"API_KEY": "first\nsecond"})
    page.goto(SECRET)
    page.locator("h1").click()
    assert leave(page) == []
    expect(page).to_have_url(re.compile("/projects$"))


def test_what_was_typed_before_a_refusal_is_guarded_too(page: Page, visitor: Visitor) -> None:
    page.goto(SECRET)
    page.get_by_label("New value").fill("typed")
    page.get_by_label("Set an empty value").check()
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("New value")).to_have_value("typed")
    assert leave(page) == ["beforeunload"]


def test_a_stale_write_of_one_secret_goes_back_to_it_with_what_was_typed(page: Page, vault: Vault) -> None:
    page.goto(SECRET)
    page.get_by_label("New value").fill("mine")
    vault.set(API_KEY="theirs")
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Somebody was quicker")
    page.get_by_role("button", name="Go on editing").click()
    expect(page.get_by_label("New value")).to_have_value("mine")
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_text("Written.", exact=True)).to_be_visible()
    assert vault.value("API_KEY") == "mine"


def test_mine_and_theirs_stand_side_by_side_and_mine_can_be_applied(
    page: Page, visitor: Visitor, vault: Vault
) -> None:
    stage(page)
    page.get_by_role("button", name="Review the changes").click()
    vault.set(API_KEY="theirs")
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Somebody was quicker")
    expect(page.get_by_role("alert")).to_be_visible()
    theirs, mine = page.get_by_role("table").all()
    expect(theirs.get_by_role("row", name="API_KEY written")).to_be_visible()
    expect(mine.get_by_role("row", name="API_KEY changed yes: yours would take its place")).to_be_visible()
    page.get_by_role("button", name="Go on editing").click()
    expect(page.get_by_label("New value of API_KEY")).to_have_value("another")
    expect(page.locator("#staged")).to_have_text("1 changed, 1 new, 1 deleted: not written yet.")
    page.get_by_role("button", name="Review the changes").click()
    page.get_by_role("button", name="Write").click()
    expect(page.get_by_role("status").first).to_have_text("Written.")
    assert vault.values() == {"API_KEY": "another", "FRESH": "new", "MAIL_FROM": "shop@example.com"}
