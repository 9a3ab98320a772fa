"""A double click sends a form once."""

from __future__ import annotations

from chromium import Visitor
from playwright.sync_api import Page
from vault import CANONICAL as PROD


def test_a_double_click_makes_one_project_and_shows_it(visitor: Visitor, page: Page) -> None:
    page.goto("/projects?new")
    page.get_by_label("Name", exact=True).fill("Twice")
    page.get_by_role("button", name="Create").dblclick()
    page.wait_for_url("**/projects/twice/**")
    assert len(posts(visitor)) == 1


def test_whoever_comes_back_may_send_the_form_again(visitor: Visitor, page: Page) -> None:
    page.goto("/projects?new")
    for _ in range(2):
        page.get_by_label("Name", exact=True).fill("Again")
        page.get_by_role("button", name="Create").click()
        page.wait_for_load_state("networkidle")
        page.go_back()
    assert len(posts(visitor)) == 2


def test_a_file_is_downloaded_as_often_as_it_is_asked_for(visitor: Visitor, page: Page) -> None:
    page.goto(PROD)
    for _ in range(2):
        page.locator("summary", has_text="Export").click()
        with page.expect_download():
            page.locator("button[form=export]").first.click()
        page.keyboard.press("Escape")
    assert len(posts(visitor)) == 2


def posts(visitor: Visitor) -> list[str]:
    return visitor.paths(method="POST")
