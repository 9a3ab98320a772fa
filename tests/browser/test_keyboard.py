"""Shortcuts, none of which gets in the way of typing, and the search over a page."""

from __future__ import annotations

import re

import pytest
from chromium import Visitor
from playwright.sync_api import Page, expect
from secrets_client import CANONICAL as PROD


def test_a_question_mark_opens_the_help_and_escape_closes_it(page: Page) -> None:
    page.goto(PROD)
    page.keyboard.press("?")
    help_of_page = page.get_by_role("dialog", name="Keyboard")
    expect(help_of_page).to_be_visible()
    expect(help_of_page).to_contain_text("Add a key")
    page.keyboard.press("Escape")
    expect(help_of_page).to_be_hidden()


def test_the_help_opens_by_its_link_too_and_closes_by_its_button(page: Page) -> None:
    page.goto(PROD)
    page.locator(".me > summary").click()
    page.get_by_role("link", name="Keyboard").click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert page.url.endswith(PROD)


def test_f_leads_to_the_filter_of_the_page(page: Page) -> None:
    page.goto("/projects/shop")
    page.keyboard.press("f")
    field = page.locator("main .find input")
    expect(field).to_be_focused()
    expect(field).to_have_value("")


def test_a_slash_searches_over_the_page_and_leads_to_what_it_finds(page: Page) -> None:
    page.goto(PROD)
    page.keyboard.press("/")
    palette = page.get_by_role("dialog", name="Search everything")
    expect(palette.get_by_label("Search what you may see")).to_be_focused()
    page.keyboard.type("mail")
    expect(palette.get_by_role("status")).to_have_text("1 found")
    page.keyboard.press("ArrowDown")
    expect(palette.get_by_role("link", name="MAIL_FROM")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(palette.get_by_label("Search what you may see")).to_be_focused()
    palette.get_by_role("link", name="MAIL_FROM").click()
    expect(page).to_have_url(re.compile(f"{PROD}/secrets/MAIL_FROM$"))


def test_the_search_over_a_page_says_where_nothing_is_found(page: Page) -> None:
    page.goto(PROD)
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search everything")
    page.keyboard.type("nothing of the kind")
    expect(palette.get_by_role("status")).to_contain_text("Nothing that you may see")
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()


def test_the_search_over_a_page_says_that_the_session_has_ended(visitor: Visitor) -> None:
    page = visitor.page(PROD)
    page.route("**/api/v1/search?*", lambda route: route.abort())
    page.keyboard.press("/")
    page.keyboard.type("mail")
    status = page.get_by_role("dialog", name="Search everything").get_by_role("status")
    expect(status).to_contain_text("Your session may have ended")
    page.unroute("**/api/v1/search?*")
    page.keyboard.type("_")
    expect(status).to_have_text("1 found")
    page.route("**/api/v1/search?*", lambda route: route.fulfill(content_type="text/html", body="Sign in"))
    page.keyboard.type("f")
    expect(status).to_contain_text("Your session may have ended")
    visitor.problems.clear()


@pytest.mark.parametrize("path", [PROD, f"{PROD}/secrets/API_KEY", f"{PROD}/access"])
def test_a_menu_closes_by_escape_which_leads_back_to_its_button_and_by_a_click_elsewhere(
    page: Page, path: str
) -> None:
    page.goto(path)
    menu = page.locator("main details.menu").filter(has=page.locator(".menu-list a")).last
    summary = menu.locator("summary")
    summary.press("Enter")
    expect(menu).to_have_attribute("open", "")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    expect(summary).to_be_focused()
    summary.click()
    page.locator("h1").click()
    expect(menu).not_to_have_attribute("open", "")


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


def test_what_is_typed_is_no_shortcut(page: Page) -> None:
    page.goto(PROD)
    field = page.locator("#find")
    field.press_sequentially("?/ghnf")
    expect(field).to_have_value("?/ghnf")
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
