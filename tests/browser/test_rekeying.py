"""All rows are moved to the new master key, page by page, while somebody watches."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from chromium import Visitor, visit
from playwright.sync_api import Browser, Page, Route, expect
from rotation import fill, rotated
from server import served
from service import Client, Service

PATH = "/admin/keyring"


@pytest.fixture
def visitor(browser: Browser, service: Service, admin: Client) -> Iterator[Visitor]:
    """The administrator's browser before 399 rows under the old key."""
    fill(admin, 200)
    turned = rotated(service)
    with served(turned.app) as port, visit(browser, turned, port) as visitor:
        yield visitor


def start(page: Page) -> None:
    page.goto(PATH)
    page.get_by_label("Move envelopes").select_option("100")
    page.get_by_role("button", name="Move all 399").click()


def test_every_row_is_moved_page_by_page_and_the_answer_follows(page: Page, visitor: Visitor) -> None:
    start(page)
    expect(page.get_by_text("No value needs the old key.")).to_be_visible()
    expect(page.locator("#rekey-form")).to_have_count(0)
    assert visitor.paths(method="POST") == ["/api/v1/admin/rekey"] * 4


def test_the_progress_is_seen_and_heard_and_can_be_stopped(page: Page) -> None:
    held: list[Route] = []

    def hold_the_second(route: Route) -> None:
        held.append(route)
        if len(held) == 1:
            route.continue_()

    page.route("**/rekey", hold_the_second)
    start(page)
    expect(page.locator("#remaining")).to_have_text("299")
    progress = page.get_by_role("progressbar", name="Envelopes moved to the active key")
    expect(progress).to_be_visible()
    expect(progress).to_have_attribute("max", "399")
    assert progress.evaluate("(bar) => bar.value") == 100
    expect(page.locator("#announcer")).to_have_text("299 envelopes remain.")
    expect(page.get_by_role("button", name="Stop")).to_be_focused()
    page.get_by_role("button", name="Stop").click()
    held[1].continue_()
    expect(page.get_by_role("button", name="Move all 199")).to_be_visible()
    expect(page.get_by_text("It is not safe to remove MASTER_KEY_OLD")).to_be_visible()
    expect(page.locator("#remaining")).to_have_text("199")


def test_what_stops_it_is_told_and_it_can_go_on(page: Page, visitor: Visitor) -> None:
    page.route("**/rekey", lambda route: route.abort("connectionrefused"), times=1)
    start(page)
    expect(page.get_by_role("alert")).to_contain_text("The service cannot be reached.")
    page.get_by_role("button", name="Move all 399").click()
    expect(page.get_by_text("No value needs the old key.")).to_be_visible()
    assert all(re.search("ERR_CONNECTION_REFUSED", one) for one in visitor.problems)
    visitor.problems.clear()
