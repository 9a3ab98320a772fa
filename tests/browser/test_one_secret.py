"""The page of one secret in a browser: what is typed is not lost, what is revealed is masked again."""

from __future__ import annotations

import re

import pytest
from chromium import Visitor
from playwright.sync_api import Dialog, Page, expect
from service import Service
from vault import CANONICAL as PROD
from vault import Vault, detail

SECRET = f"{PROD}/secrets/API_KEY"
HIDDEN = "s3cr3t-of-the-house"


def open_form(page: Page) -> None:
    """The page, with the form for a new value."""
    page.goto(SECRET)
    page.get_by_text("Write a new value").click()


def leave(page: Page) -> list[str]:
    """The questions that are asked on the way to another page; each is answered by staying."""
    asked = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.once("dialog", stay)
    page.get_by_role("link", name="Projects").first.click()
    return asked


@pytest.mark.parametrize("label", ["New value", "Set it to empty"])
def test_what_is_typed_is_not_lost_by_accident(page: Page, label: str) -> None:
    open_form(page)
    field = page.get_by_label(label)
    if label.startswith("Set"):
        field.check()
    else:
        field.fill("another")
    assert leave(page) == ["beforeunload"]


def test_the_page_is_left_without_a_question_where_nothing_is_typed(page: Page) -> None:
    open_form(page)
    page.locator("h1").click()
    assert leave(page) == []
    expect(page).to_have_url(re.compile("/projects$"))


def test_what_was_typed_before_a_refusal_is_guarded_too(page: Page) -> None:
    open_form(page)
    page.get_by_label("New value").fill("typed")
    page.get_by_label("Set it to empty").check()
    page.get_by_role("button", name="Review the change").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("New value")).to_have_value("typed")
    assert leave(page) == ["beforeunload"]


def test_a_stale_value_goes_back_to_its_page_with_what_was_typed(page: Page, vault: Vault) -> None:
    open_form(page)
    page.get_by_label("New value").fill("mine")
    vault.set(API_KEY="theirs")
    page.get_by_role("button", name="Review the change").click()
    page.get_by_role("button", name="Back to editing").click()
    expect(page.get_by_label("New value")).to_have_value("mine")
    page.get_by_role("button", name="Review the change").click()
    page.get_by_role("button", name=re.compile("^Apply")).click()
    expect(page).to_have_url(re.compile(f"{SECRET}($|[?])"))
    assert vault.value("API_KEY") == "mine"


def test_a_value_is_revealed_in_place_and_masked_again(page: Page, service: Service) -> None:
    page.goto(SECRET)
    card = page.locator(".value")
    card.get_by_role("button", name="Reveal").click()
    expect(card.locator(".mask")).to_have_text(HIDDEN)
    expect(card).to_contain_text("Masked again in")
    page.keyboard.press("Escape")
    expect(card.locator(".mask")).to_have_text("••••••••")
    assert [detail(row)["key"] for row in service.audit("secret.reveal")] == ["API_KEY"]


def test_two_versions_are_revealed_in_a_tab_of_their_own(page: Page, vault: Vault) -> None:
    vault.set(API_KEY=f"{HIDDEN}-2")
    page.goto(SECRET)
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Reveal both").click()
    expect(opened.value.locator(".vals pre")).to_have_text([HIDDEN, f"{HIDDEN}-2"])
    expect(page.locator(".vals pre").first).not_to_contain_text(HIDDEN)


def test_a_reveal_without_scripts_neither_fills_in_a_reason_nor_drops_what_is_typed(
    visitor: Visitor, vault: Vault, service: Service
) -> None:
    page = visitor.page(SECRET, java_script_enabled=False)
    page.get_by_text("Write a new value").click()
    page.get_by_label("New value").fill("typed")
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Reveal", exact=True).click()
    expect(opened.value.get_by_label("The value of API_KEY")).to_have_value(HIDDEN)
    # What the page's refresh gives way to has no field that it would take along.
    expect(opened.value.locator("main form")).to_have_count(0)
    expect(page.get_by_label("New value")).to_have_value("typed")
    page.get_by_role("button", name="Review the change").click()
    page.get_by_role("button", name=re.compile("^Apply")).click()
    expect(page).to_have_url(re.compile(f"{SECRET}($|[?])"))
    assert vault.value("API_KEY") == "typed"
    assert service.audit("secret.batch")[-1]["reason"] is None


def test_a_panel_closes_without_a_trace(page: Page, vault: Vault) -> None:
    page.goto(SECRET)
    page.get_by_label("More actions").click()
    page.get_by_role("link", name="Rename…").click()
    expect(page.get_by_role("heading", name="Rename API_KEY")).to_be_visible()
    page.get_by_role("link", name="Close").click()
    expect(page).to_have_url(re.compile(f"{SECRET}$"))
    assert vault.rev == 1
