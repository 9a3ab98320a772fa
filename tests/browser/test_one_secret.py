"""The page of one secret in a browser: what is beside its value, and its panels."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect
from secrets_client import CANONICAL as PROD
from secrets_client import Vault

SECRET = f"{PROD}/secrets/API_KEY"
HIDDEN = "s3cr3t-of-the-house"


def test_two_versions_are_revealed_in_a_tab_of_their_own(page: Page, vault: Vault) -> None:
    vault.set(API_KEY=f"{HIDDEN}-2")
    page.goto(SECRET)
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Reveal both").click()
    expect(opened.value.locator(".vals pre")).to_have_text([HIDDEN, f"{HIDDEN}-2"])
    expect(page.locator(".vals pre").first).not_to_contain_text(HIDDEN)


def test_a_panel_closes_without_a_trace(page: Page, vault: Vault) -> None:
    page.goto(SECRET)
    page.get_by_label("More actions").click()
    page.get_by_role("link", name="Rename…").click()
    expect(page.get_by_role("heading", name="Rename API_KEY")).to_be_visible()
    page.get_by_role("link", name="Close").click()
    expect(page).to_have_url(re.compile(f"{SECRET}$"))
    assert vault.rev == 1
