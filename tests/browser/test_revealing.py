"""Reveal and copy: one request and one record each, and nothing stays to be read by whoever comes by."""

from __future__ import annotations

from typing import Any

import pytest
from chromium import Visitor
from playwright.sync_api import Locator, Page, expect
from service import Service
from vault import CANONICAL as PROD
from vault import detail

MASK = "••••••••"
HIDDEN = "s3cr3t-of-the-house"
REVEALED = f"/api/v1{PROD}/secrets/API_KEY?reason=reveal"
#: The tab is no longer looked at; the page cannot tell it from the real thing.
HIDE_TAB = """() => {
    Object.defineProperty(document, "hidden", {value: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""
PLACES = pytest.mark.parametrize("path", [PROD, f"{PROD}/secrets/API_KEY"], ids=["editor", "secret"])


def cell_of(page: Page, key: str = "API_KEY") -> Locator:
    return page.locator(f".value[data-key={key}]")


def reveal(page: Page, path: str = PROD) -> Locator:
    """What stands where the mask was."""
    page.goto(path)
    cell_of(page).get_by_role("button", name="Reveal").click()
    shown = cell_of(page).locator(".mask")
    expect(shown).to_have_text(HIDDEN)
    return shown


def reasons(service: Service) -> list[Any]:
    return [(row["reason"], detail(row)["key"]) for row in service.audit("secret.reveal")]


@PLACES
def test_one_reveal_is_one_request_and_one_record(
    page: Page, visitor: Visitor, service: Service, path: str
) -> None:
    reveal(page, path)
    assert visitor.paths().count(REVEALED) == 1
    assert reasons(service) == [("reveal", "API_KEY")]
    expect(cell_of(page).get_by_role("button", name="Mask")).to_be_visible()


@PLACES
def test_a_value_is_masked_again_by_its_button_without_another_request(
    page: Page, visitor: Visitor, path: str
) -> None:
    shown = reveal(page, path)
    cell_of(page).get_by_role("button", name="Mask").click()
    expect(shown).to_have_text(MASK)
    expect(cell_of(page).get_by_role("button", name="Reveal")).to_be_visible()
    assert visitor.paths().count(REVEALED) == 1


@PLACES
def test_a_value_is_masked_again_after_thirty_seconds(page: Page, path: str) -> None:
    page.clock.install()
    shown = reveal(page, path)
    page.clock.fast_forward(28_000)
    expect(shown).to_have_text(HIDDEN)
    page.clock.fast_forward(2_000)
    expect(shown).to_have_text(MASK)


def test_a_value_is_masked_again_when_the_tab_is_hidden(page: Page) -> None:
    shown = reveal(page)
    page.evaluate(HIDE_TAB)
    expect(shown).to_have_text(MASK)


def test_a_value_that_arrives_in_a_hidden_tab_is_not_shown(page: Page) -> None:
    page.goto(PROD)
    page.evaluate(HIDE_TAB)
    with page.expect_response(lambda answer: answer.url.endswith(REVEALED)):
        cell_of(page).get_by_role("button", name="Reveal").click()
    expect(cell_of(page).locator(".mask")).to_have_text(MASK)


def test_the_escape_key_masks_everything(page: Page) -> None:
    shown = reveal(page)
    cell_of(page, "DB_URL").get_by_role("button", name="Reveal").click()
    expect(page.locator(".mask.shown")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.locator(".mask.shown")).to_have_count(0)
    expect(shown).to_have_text(MASK)


def test_a_value_does_not_come_back_by_going_back(page: Page) -> None:
    reveal(page)
    page.get_by_role("link", name="Projects").first.click()
    page.go_back()
    expect(page.locator(".mask")).to_have_text([MASK] * 3)


def test_a_mask_tells_nothing_of_what_it_hides(page: Page) -> None:
    page.goto(PROD)
    boxes = [mask.bounding_box() for mask in page.locator(".mask").all()]
    assert len(boxes) == 3
    assert len({box["width"] for box in boxes if box}) == 1
    expect(page.locator(".mask")).to_have_text([MASK] * 3)


def test_copying_puts_the_value_on_the_clipboard_alone(visitor: Visitor, service: Service) -> None:
    page = visitor.page(PROD, permissions=["clipboard-read", "clipboard-write"])
    cell_of(page).get_by_role("button", name="Copy").click()
    expect(page.locator("#announcer")).to_have_text("API_KEY was copied.")
    assert page.evaluate("navigator.clipboard.readText()") == HIDDEN
    expect(page.locator(".mask")).to_have_text([MASK] * 3)
    assert reasons(service) == [("copy", "API_KEY")]


def test_a_read_that_is_refused_says_why(page: Page, visitor: Visitor, service: Service) -> None:
    page.goto(PROD)
    service.execute("UPDATE secret_version SET envelope = :bad", {"bad": b"damaged"})
    cell_of(page).get_by_role("button", name="Reveal").click()
    expect(page.locator("#announcer")).to_contain_text("API_KEY: ")
    expect(page.locator(".mask")).to_have_text([MASK] * 3)
    assert len(visitor.problems) == 1
    visitor.problems.clear()
