"""Shortcuts, none of which gets in the way of typing."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect
from vault import CANONICAL as PROD


def test_a_question_mark_opens_the_help_and_escape_closes_it(page: Page) -> None:
    page.goto(PROD)
    page.keyboard.press("?")
    help_of_page = page.get_by_role("dialog", name="Keyboard")
    expect(help_of_page).to_be_visible()
    expect(help_of_page).to_contain_text("Go to the first row for a new secret")
    page.keyboard.press("Escape")
    expect(help_of_page).to_be_hidden()


def test_the_help_opens_by_its_link_too_and_closes_by_its_button(page: Page) -> None:
    page.goto(PROD)
    page.get_by_role("link", name="Keyboard").click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert page.url.endswith(PROD)


@pytest.mark.parametrize(("path", "label"), [(PROD, "Filter rows"), ("/projects/shop", "Filter keys")])
def test_a_slash_leads_to_the_filter(page: Page, path: str, label: str) -> None:
    page.goto(path)
    page.keyboard.press("/")
    expect(page.get_by_label(label)).to_be_focused()
    expect(page.get_by_label(label)).to_have_value("")


def test_g_and_h_lead_home(page: Page) -> None:
    page.goto(PROD)
    page.keyboard.press("h")
    page.keyboard.press("g")
    page.keyboard.press("x")
    page.keyboard.press("h")
    assert page.url.endswith(PROD)
    page.keyboard.press("g")
    with page.expect_navigation():
        page.keyboard.press("h")
    assert page.url.split("/", 3)[3] == ""


def test_n_leads_to_the_first_new_row(page: Page) -> None:
    page.goto(PROD)
    page.keyboard.press("n")
    expect(page.get_by_label("Key of a new secret").first).to_be_focused()
    expect(page.get_by_label("Key of a new secret").first).to_have_value("")


def test_what_is_typed_is_no_shortcut(page: Page) -> None:
    page.goto(PROD)
    field = page.get_by_label("Key of a new secret").first
    field.press_sequentially("?/ghn")
    expect(field).to_have_value("?/ghn")
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert page.url.endswith(PROD)


def test_the_first_tab_stop_skips_to_the_content(page: Page) -> None:
    page.goto(PROD)
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
