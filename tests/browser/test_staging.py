"""Edits are counted as they are staged, and not lost by accident."""

from __future__ import annotations

import json
import re
import time

import pytest
from accessible import violations
from chromium import Visitor
from playwright.sync_api import Browser, Dialog, Locator, Page, expect
from secrets_client import CANONICAL as PROD
from secrets_client import Vault
from waiting import PATIENCE

SECRET = f"{PROD}/secrets/API_KEY"
IS_DRAWN = "(row) => row.firstElementChild.checkVisibility({ contentVisibilityAuto: true })"


def value_of(page: Page, key: str = "API_KEY") -> Locator:
    return page.get_by_label(f"Value of {key}", exact=True)


def delete(page: Page, key: str) -> None:
    """Marks a row for deletion by its menu."""
    page.get_by_label(f"Actions for {key}").click()
    page.get_by_text("Delete, or keep").locator("visible=true").click()
    expect(page.get_by_text("Delete, or keep").locator("visible=true")).to_have_count(0)


def stage(page: Page) -> None:
    """One secret changed, one new, one deleted."""
    page.goto(PROD)
    value_of(page).fill("another")
    page.get_by_label("Key 1 to add").fill("FRESH")
    page.get_by_label("Value 1 to add").fill("new")
    delete(page, "DB_URL")


def asked(visitor: Visitor) -> list[str]:
    """What was asked of the server, beside files."""
    return [path for path in visitor.paths() if not path.startswith("/static/")]


def review(page: Page) -> None:
    page.locator(".dock").get_by_role("button", name="Review changes").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"Review \d+ change"))


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
    page.remove_listener("dialog", stay)
    return asked


def ground_under_mouse(page: Page, kind: str) -> str:
    """The colour of a row of a kind that the mouse is on."""
    cell = page.locator(f"tr.{kind}").first.locator("td").nth(1)
    cell.hover()
    return str(cell.evaluate("(one) => getComputedStyle(one).backgroundColor"))


def test_staged_edits_are_counted_in_words_and_marked(page: Page) -> None:
    stage(page)
    told = page.locator("#staged")
    expect(told).to_have_text("1 new, 1 changed, 1 deleted: nothing is written yet.")
    expect(page.locator(".dock.when-staged .tally")).to_have_text(["+1 new", "~1 changed", "−1 deleted"])
    expect(page.locator("tr.mod .flag.mod")).to_be_visible()
    expect(page.locator("tr.gone .flag.del")).to_be_visible()
    expect(page.locator("tr.gone a.key")).to_have_css("text-decoration-line", "line-through")
    colours = [ground_under_mouse(page, kind) for kind in ("mod", "gone", "add", "old:not(.mod, .gone)")]
    assert len({*colours}) == len(colours)
    delete(page, "API_KEY")
    expect(told).to_have_text("1 new, 2 deleted: nothing is written yet.")
    page.locator("tr.gone").filter(has_text="DB_URL").get_by_text("Keep", exact=True).click()
    page.locator("tr.gone").get_by_text("Keep", exact=True).click()
    expect(told).to_have_text("1 new, 1 changed: nothing is written yet.")
    expect(page.locator(".tally").filter(visible=True)).to_have_text(["+1 new", "~1 changed"])
    value_of(page).fill("")
    page.get_by_label("Key 1 to add").fill("")
    expect(told).to_have_text("")
    expect(page.locator(".dock.when-staged")).to_be_hidden()


def test_what_is_staged_is_reviewed_and_written(page: Page, vault: Vault) -> None:
    stage(page)
    review(page)
    page.get_by_label("Reason").fill("because")
    page.get_by_role("button", name="Apply 3 changes").click()
    expect(page.locator("#notice")).to_contain_text("Saved 3 changes to Prod (revision 2).")
    assert vault.values() == {"API_KEY": "another", "FRESH": "new", "MAIL_FROM": "shop@example.com"}
    # What was done is told once.
    expect(page).to_have_url(re.compile(f"{PROD}$"))
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text("Undid revision 2")
    assert "FRESH" not in vault.values()


def test_rows_for_new_secrets_are_added_as_they_are_needed(page: Page, vault: Vault) -> None:
    page.goto(PROD)
    shown = page.locator("tr.new:not([hidden]) .nk")
    expect(shown).to_have_count(1)
    for number in range(10):
        expect(shown).to_have_count(number + 1)
        shown.nth(number).fill(f"NEW_{number}")
    page.locator("tr.new:not([hidden]) .d").first.fill("Good for something")
    page.locator(".dock").get_by_role("button", name="Review changes").click()
    page.get_by_role("button", name="Apply 10 changes").click()
    expect(page.locator("#notice")).to_contain_text("Saved 10 changes")
    assert set(vault.values()) >= {f"NEW_{number}" for number in range(10)}
    assert vault.listed()["NEW_0"]["description"] == "Good for something"


def test_a_random_value_is_made_in_place(page: Page, visitor: Visitor) -> None:
    page.goto(PROD)
    before = asked(visitor)
    page.get_by_label("Make a random value for row 1").click()
    expect(page.get_by_label("Value 1 to add")).to_have_value(re.compile("^[A-Za-z0-9_-]{43}$"))
    assert asked(visitor) == before


def test_the_filter_leaves_the_rows_that_match_and_forgets_no_edit(page: Page) -> None:
    stage(page)
    rows = page.locator("tr.old")
    page.get_by_label("Filter 3 keys").fill("mail")
    expect(rows.filter(visible=True)).to_have_count(1)
    expect(page.locator("#matches")).to_have_text("1 of 3 keys")
    page.get_by_label("Filter 3 keys").fill("zzz")
    expect(page.get_by_text("No key matches.")).to_be_visible()
    page.get_by_label("Filter 3 keys").press("Enter")
    page.get_by_label("Filter 3 keys").fill("")
    expect(rows.filter(visible=True)).to_have_count(3)
    expect(value_of(page)).to_have_value("another")


def test_a_page_with_edits_is_not_left_by_accident(page: Page) -> None:
    stage(page)
    assert leave(page) == ["beforeunload"]
    assert page.url.endswith(PROD)
    expect(value_of(page)).to_have_value("another")


def test_edits_are_discarded_without_a_question(page: Page) -> None:
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    stage(page)
    page.get_by_role("link", name="Discard").click()
    expect(value_of(page)).to_have_value("")
    expect(page.locator(".dock.when-staged")).to_be_hidden()
    assert asked == []


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
    review(page)
    page.get_by_role("button", name="Keep editing").click()
    expect(value_of(page)).to_have_value("another")
    assert asked == []


def test_going_back_from_a_review_finds_what_was_typed(page: Page) -> None:
    stage(page)
    review(page)
    page.on("dialog", lambda dialog: dialog.accept())
    page.go_back()
    expect(value_of(page)).to_have_value("another")
    expect(page.get_by_label("Key 1 to add")).to_have_value("FRESH")
    expect(page.locator("#staged")).to_have_text(re.compile("1 new, 1 changed"))
    review(page)


@pytest.mark.parametrize("path", [PROD, SECRET, f"{PROD}/import"])
def test_going_back_after_the_session_has_ended_finds_what_was_typed(
    page: Page, visitor: Visitor, path: str
) -> None:
    page.goto(path)
    field = page.locator("main form[data-guard] textarea:not([hidden], .rs)").first
    field.evaluate("(one) => one.closest('details')?.setAttribute('open', '')")
    field.fill("TYPED=1")
    page.context.clear_cookies()
    page.locator("main form[data-guard]").evaluate("(form) => form.requestSubmit()")
    expect(page.get_by_role("heading", level=1)).to_contain_text("assertion")
    page.context.add_cookies(visitor.cookies)
    page.on("dialog", lambda dialog: dialog.accept())
    page.go_back()
    expect(field).to_have_value("TYPED=1")
    visitor.problems.clear()


def fill_new(page: Page, numbers: range) -> None:
    for number in numbers:
        page.get_by_label(f"Key {number} to add").fill(f"NEW_{number}")
        page.get_by_label(f"Value {number} to add").fill(f"value {number}")


def new_keys(page: Page) -> list[str]:
    return page.locator("tr.new .nk").evaluate_all("(all) => all.map((one) => one.value).filter(Boolean)")


def test_rows_beyond_the_eighth_are_there_after_going_back_and_after_a_refusal(
    page: Page, visitor: Visitor, vault: Vault
) -> None:
    page.goto(PROD)
    fill_new(page, range(1, 12))
    review(page)
    page.on("dialog", lambda dialog: dialog.accept())
    page.go_back()
    expect(page.get_by_label("Value 11 to add")).to_have_value("value 11")
    assert new_keys(page) == [f"NEW_{number}" for number in range(1, 12)]
    expect(page.locator("#staged")).to_have_text("11 new: nothing is written yet.")
    page.get_by_label("Key 10 to add").fill("not a key")
    page.locator(".dock").get_by_role("button", name="Review changes").click()
    expect(page.get_by_role("alert")).to_contain_text("New secret, row 10")
    expect(page.get_by_label("Value 11 to add")).to_have_value("value 11")
    # Fewer rows come back than there were, and others are added beside them.
    for number in range(1, 5):
        page.get_by_label(f"Key {number} to add").fill("")
        page.get_by_label(f"Value {number} to add").fill("")
    page.get_by_label("Key 10 to add").fill("NEW_10")
    review(page)
    page.get_by_role("button", name="Keep editing").click()
    blank = page.locator("tr.new:not([hidden]) .nk").filter(visible=True)
    before = len(new_keys(page))
    for number in range(before, 12):
        expect(blank).to_have_count(number + 1)
        empty = blank.evaluate_all("(all) => all.findIndex((one) => one.value === '')")
        blank.nth(empty).fill(f"MORE_{number}")
    names = page.locator("tr.new .nk").evaluate_all("(all) => all.map((one) => one.name)")
    assert len({*names}) == len(names)
    review(page)
    page.get_by_role("button", name="Apply 12 changes").click()
    expect(page.locator("#notice")).to_contain_text("Saved 12 changes")
    assert vault.value("NEW_11") == "value 11"
    visitor.problems.clear()


def test_a_panel_with_something_typed_is_not_left_by_accident(page: Page) -> None:
    page.goto("/projects?new")
    page.get_by_label("Name", exact=True).fill("Typed")
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_role("link", name="Close").click(no_wait_after=True)
    expect(page.get_by_label("Name", exact=True)).to_have_value("Typed")
    page.wait_for_timeout(200)
    assert asked == ["beforeunload"]
    page.get_by_role("link", name="Cancel").click()
    expect(page).to_have_url(re.compile("/projects$"))
    page.goto("/projects?new")
    page.get_by_role("link", name="Close").click()
    expect(page).to_have_url(re.compile("/projects$"))
    assert asked == ["beforeunload"]


def test_what_is_typed_for_all_environments_is_not_lost_by_accident(page: Page) -> None:
    page.goto("/projects/shop/rename-everywhere?key=API_KEY")
    page.get_by_label("New key").fill("TYPED")
    assert leave(page) == ["beforeunload"]
    page.get_by_role("link", name="Cancel").click()
    expect(page).to_have_url(re.compile("/projects/shop$"))


def test_a_form_that_is_sent_twice_writes_once(page: Page, visitor: Visitor, vault: Vault) -> None:
    stage(page)
    review(page)
    page.get_by_role("button", name="Apply 3 changes").dblclick()
    expect(page.locator("#notice")).to_contain_text("Saved 3 changes")
    assert vault.rev == 2


def test_what_is_too_large_is_told_before_it_is_sent_and_stays(page: Page) -> None:
    page.goto(PROD)
    value_of(page).evaluate("(one) => { one.value = 'x'.repeat(2_000_000); }")
    value_of(page).press("End")
    page.locator("#edits").evaluate("(form) => form.requestSubmit()")
    expect(page.get_by_role("alert")).to_contain_text("can be sent at once. Nothing is lost")
    assert len(value_of(page).input_value()) == 2_000_000


def test_text_is_not_lost_by_accident_either(page: Page) -> None:
    page.goto(f"{PROD}/text")
    page.get_by_role("button", name="Show the values").click()
    page.get_by_label("Every key and value").press_sequentially("# mine")
    assert leave(page) == ["beforeunload"]


def test_text_is_masked_again_and_keeps_what_was_typed(page: Page, vault: Vault) -> None:
    page.clock.install(time=0)
    page.goto(f"{PROD}/text")
    page.get_by_role("button", name="Show the values").click()
    text = page.get_by_label("Every key and value")
    expect(page.locator("#masking")).to_contain_text(re.compile(r"Masked again in \d+ seconds"))
    page.clock.pause_at(100)
    text.press("Control+End")
    text.press_sequentially("MINE=1")
    page.clock.run_for(20_000)
    expect(text).to_be_visible()
    page.clock.run_for(10_000)
    expect(text).to_be_hidden()
    page.get_by_role("button", name="Show again").click()
    expect(text).to_have_value(re.compile("MINE=1$"))
    page.clock.run_for(40_000)
    page.get_by_role("button", name="Review changes").click()
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.locator("#notice")).to_contain_text("Saved 1 change")
    assert vault.value("MINE") == "1"


def open_writing(page: Page) -> None:
    page.goto(SECRET)
    page.get_by_text("Write a new value").click()


@pytest.mark.parametrize("label", ["New value", "Set it to empty"])
def test_what_is_typed_for_one_secret_is_not_lost_by_accident(page: Page, label: str) -> None:
    open_writing(page)
    field = page.get_by_label(label)
    if label.startswith("Set"):
        field.check()
    else:
        field.fill("another")
    assert leave(page) == ["beforeunload"]


def test_the_page_of_one_secret_is_left_without_a_question_where_nothing_is_typed(page: Page) -> None:
    open_writing(page)
    assert leave(page) == []
    expect(page).to_have_url(re.compile("/projects$"))


def test_what_was_typed_before_a_refusal_is_guarded_too(page: Page, visitor: Visitor) -> None:
    open_writing(page)
    page.get_by_label("New value").fill("typed")
    page.get_by_label("Set it to empty").check()
    page.get_by_role("button", name="Review the change").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("New value")).to_have_value("typed")
    assert leave(page) == ["beforeunload"]
    visitor.problems.clear()


def test_a_stale_write_of_one_secret_goes_back_to_it_with_what_was_typed(
    page: Page, visitor: Visitor, vault: Vault
) -> None:
    open_writing(page)
    page.get_by_label("New value").fill("mine")
    vault.set(API_KEY="theirs")
    page.get_by_role("button", name="Review the change").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("while you were typing")
    page.get_by_role("button", name="Back to editing").click()
    expect(page.get_by_label("New value")).to_have_value("mine")
    page.get_by_role("button", name="Review the change").click()
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("API_KEY")
    assert vault.value("API_KEY") == "mine"
    visitor.problems.clear()


def test_mine_and_theirs_stand_side_by_side_and_mine_can_be_applied(
    page: Page, visitor: Visitor, vault: Vault
) -> None:
    stage(page)
    review(page)
    vault.set(API_KEY="theirs", MAIL_FROM="theirs")
    page.get_by_role("button", name="Apply 3 changes").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("changed Prod while you were typing")
    expect(page.get_by_role("row", name="API_KEY both new value new value, v2")).to_be_visible()
    expect(page.get_by_role("row", name="MAIL_FROM – new value, v2 theirs, already written")).to_be_visible()
    page.get_by_role("button", name="Back to editing").click()
    expect(value_of(page)).to_have_value("another")
    expect(page.locator("#staged")).to_have_text("1 new, 1 changed, 1 deleted: nothing is written yet.")
    review(page)
    page.get_by_role("button", name="Apply 3 changes").click()
    expect(page.locator("#notice")).to_contain_text("Saved 3 changes")
    assert vault.values() == {"API_KEY": "another", "FRESH": "new", "MAIL_FROM": "theirs"}
    visitor.problems.clear()


def drawn_anew(browser: Browser, page: Page, key: str) -> int:
    """How many elements' styles a key typed makes the browser compute, at most at once."""
    # A busy machine may draw late: then longer.
    for milliseconds in (600, 6_000, 30_000):
        browser.start_tracing(
            page=page, categories=["devtools.timeline", "disabled-by-default-devtools.timeline"]
        )
        page.keyboard.press(key)
        page.wait_for_timeout(milliseconds)
        events = json.loads(browser.stop_tracing())["traceEvents"]
        found = [one["args"].get("elementCount") or 0 for one in events if one["name"] == "UpdateLayoutTree"]
        if found:
            return max(found)
    raise AssertionError("nothing was drawn")


def test_a_key_typed_into_one_of_500_rows_is_no_matter_of_the_others(
    browser: Browser, page: Page, vault: Vault
) -> None:
    keys = [f"KEY_{number}" for number in range(497)]
    vault.batch(set=dict.fromkeys(keys, "x"))
    page.goto(PROD)
    expect(page.locator("tr.old")).to_have_count(500)
    for label in ("Value of KEY_250", "Key 1 to add"):
        page.get_by_label(label, exact=True).click()
        page.wait_for_timeout(600)
        for key in "AB":
            assert drawn_anew(browser, page, key) < 200
    expect(page.locator("#staged")).to_have_text("1 new, 1 changed: nothing is written yet.")
    # What is out of sight is neither laid out nor painted, until it is scrolled to.
    far = page.locator("tr.old").last
    assert not far.evaluate(IS_DRAWN)
    far.scroll_into_view_if_needed()
    expect(far.locator("a.key")).to_be_in_viewport()
    assert far.evaluate(IS_DRAWN)


def test_a_row_of_many_gets_its_menu_in_place(page: Page, visitor: Visitor, vault: Vault) -> None:
    vault.batch(set={f"KEY_{number}": "x" for number in range(101)})
    page.goto(PROD)
    before = asked(visitor)
    page.get_by_label("Actions for KEY_50").click()
    menu = page.locator("details[open]").filter(has_text="Rename")
    expect(menu.get_by_role("link", name="Rename…")).to_have_attribute(
        "href", f"{PROD}/secrets/KEY_50?rename"
    )
    menu.get_by_text("Delete, or keep").click()
    expect(page.locator("tr.gone")).to_have_count(1)
    assert asked(visitor) == before
    review(page)
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.locator("#notice")).to_contain_text("Deleted KEY_50 from Prod.")


def test_the_keyboard_edits_reveals_and_moves(page: Page) -> None:
    page.goto(PROD)
    page.locator("h1").click()
    for key, focused in (("j", "API_KEY"), ("j", "DB_URL"), ("k", "API_KEY")):
        page.keyboard.press(key)
        expect(page.get_by_role("link", name=focused, exact=True)).to_be_focused()
    page.keyboard.press("r")
    expect(value_of(page)).to_have_value("s3cr3t-of-the-house")
    page.keyboard.press("Escape")
    expect(value_of(page)).to_have_value("")
    page.keyboard.press("e")
    expect(value_of(page)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="API_KEY", exact=True)).to_be_focused()
    page.keyboard.press("n")
    expect(page.get_by_label("Key 1 to add")).to_be_focused()


def test_an_existing_key_in_a_new_row_says_so_while_it_is_typed_and_leads_to_its_row(page: Page) -> None:
    page.goto(PROD)
    field = page.get_by_label("Key 1 to add")
    field.press_sequentially("DB_UR")
    expect(page.locator(".taken")).to_have_count(0)
    field.press_sequentially("L")
    expect(page.locator(".taken")).to_have_text("DB_URL exists. Edit it")
    expect(field).to_have_accessible_description("DB_URL exists. Edit it")
    expect(page.locator("#announcer")).to_have_text("DB_URL exists.")
    assert violations(page) == []
    field.press_sequentially("_2")
    expect(page.locator(".taken")).to_have_count(0)
    assert field.get_attribute("aria-invalid") is None
    field.fill("DB_URL")
    page.get_by_label("Value 1 to add").fill("typed")
    page.get_by_role("link", name="Edit it").press("Enter")
    expect(value_of(page, "DB_URL")).to_be_focused()
    expect(value_of(page, "DB_URL")).to_have_value("typed")
    expect(field).to_have_value("")
    expect(page.locator(".taken")).to_have_count(0)
    expect(page.locator(".tally").filter(visible=True)).to_have_text(["~1 changed"])


def test_an_existing_key_leaves_both_where_its_row_was_edited(page: Page) -> None:
    page.goto(PROD)
    value_of(page, "DB_URL").fill("first")
    page.get_by_label("Key 1 to add").fill("DB_URL")
    page.get_by_label("Value 1 to add").fill("second")
    page.get_by_label("Filter 3 keys").fill("nothing")
    page.get_by_role("link", name="Edit it").click()
    expect(value_of(page, "DB_URL")).to_be_focused()
    expect(value_of(page, "DB_URL")).to_have_value("first")
    expect(page.get_by_label("Value 1 to add")).to_have_value("second")
    review_button = page.locator(".dock").get_by_role("button", name="Review changes")
    review_button.click()
    # What the server says stays until the key is another one.
    expect(page.locator(".taken")).to_have_text("DB_URL exists. Edit it")
    expect(page.get_by_role("alert")).to_contain_text("New secret, row 1: DB_URL exists.")
    assert violations(page) == []
    page.get_by_label("Key 1 to add").fill("DB_URL_2")
    expect(page.locator(".taken")).to_have_count(0)


def test_the_environment_of_new_keys_is_chosen_by_keyboard(page: Page) -> None:
    page.goto("/projects/shop")
    page.locator("summary", has_text="Add keys").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/environments/\w+\?new$"))
    expect(page.get_by_label("Key 1 to add")).to_be_focused()
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
