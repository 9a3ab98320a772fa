"""A double click sends a form once, and what it did is told once."""

from __future__ import annotations

import pytest
from chromium import Visitor
from playwright.sync_api import Page, Route, expect
from secrets_client import CANONICAL as PROD

SEND = "(form) => form.requestSubmit()"
#: Whether the form would have been sent, as far as the page's scripts go.
SEND_NOWHERE = """(form) => {
  let isKept;
  window.addEventListener("submit", (event) => {
    isKept = event.defaultPrevented;
    event.preventDefault();
  }, { once: true });
  form.requestSubmit();
  return !isKept;
}"""


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


def test_whoever_stopped_the_browser_may_send_the_form_again(page: Page) -> None:
    page.clock.install()
    page.goto("/projects?new")
    page.get_by_label("Name", exact=True).fill("Stopped")
    form = page.locator("form.panel")
    assert form.evaluate(SEND_NOWHERE)
    # The page's clock goes on between the steps, as long as a busy machine takes for them.
    page.clock.fast_forward(5_000)
    assert not form.evaluate(SEND_NOWHERE)
    page.clock.fast_forward(6_000)
    assert form.evaluate(SEND_NOWHERE)


def test_what_a_script_kept_from_being_sent_may_be_sent_at_once(visitor: Visitor, page: Page) -> None:
    page.goto(PROD)
    value = page.get_by_label("Value of API_KEY", exact=True)
    value.evaluate("(one) => { one.value = 'x'.repeat(2_000_000); }")
    page.locator("#edits").evaluate(SEND)
    expect(page.get_by_role("alert")).to_contain_text("Nothing is lost")
    assert posts(visitor) == []
    value.fill("less")
    page.locator(".dock").get_by_role("button", name="Review changes").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Review 1 change")
    assert len(posts(visitor)) == 1


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


@pytest.mark.parametrize("path", ["/projects?new", "/projects/shop/settings"])
def test_a_form_sent_after_the_session_has_ended_says_so_and_keeps_what_was_typed(
    visitor: Visitor, page: Page, path: str
) -> None:
    def end(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(status=302, headers={"Location": "https://login.example/"})
        else:
            route.continue_()

    page.goto(path)
    field = page.get_by_label("Name", exact=True)
    field.fill("Typed")
    page.route("**/*", end)
    field.press("Enter")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("Your session may have ended")
    assert not notice.evaluate("(one) => Boolean(one.closest('[inert]'))")
    expect(field).to_have_value("Typed")
    page.unroute("**/*")
    field.press("Enter")
    expect(page.get_by_text("Your session may have ended")).to_have_count(0)
    assert len(posts(visitor)) == 2
    visitor.problems.clear()


def test_what_was_done_is_told_once(page: Page) -> None:
    page.goto("/projects?q=shop&done=created")
    expect(page.get_by_role("status").filter(has_text="Created.")).to_be_visible()
    assert page.url.endswith("/projects?q=shop")
    page.reload()
    expect(page.get_by_text("Created.")).to_have_count(0)
    for told in ("done=created", "rolled_back=2&to=1", "renamed=1", "restored=3"):
        page.goto(f"/projects?{told}")
        assert page.url.endswith("/projects")
