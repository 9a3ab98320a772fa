"""The tables of keys in a browser: filters, selection, and the copy that they lead to."""

from __future__ import annotations

import pytest
from accessible import violations
from chromium import Visitor
from playwright.sync_api import Page, expect
from secrets_client import Vault

SHOP = "/projects/shop"
WIDTHS = (1440, 390, 320)


@pytest.fixture
def dev(vault: Vault) -> Vault:
    dev = Vault(vault.client, f"{SHOP}/environments/dev")
    dev.batch(set={"API_KEY": "of dev", "NEW_KEY": "n", "DB_PORT": "1"})
    return dev


def shown(page: Page) -> list[str]:
    rows = page.locator("tbody tr[id]").filter(visible=True)
    return [one.removeprefix("key-") for one in rows.evaluate_all("(rows) => rows.map((row) => row.id)")]


def test_the_text_filters_the_rows_as_it_is_typed_but_keeps_what_is_ticked(
    visitor: Visitor, dev: Vault
) -> None:
    page = visitor.page(SHOP)
    page.get_by_label("Select MAIL_FROM").check()
    page.get_by_label("Filter keys").fill("db")
    expect(page.get_by_label("Select API_KEY")).to_be_hidden()
    page.get_by_label("Filter keys").press("Enter")
    page.wait_for_timeout(100)
    assert shown(page) == ["DB_PORT", "DB_URL", "MAIL_FROM"]
    expect(page.get_by_label("Select MAIL_FROM")).to_be_checked()
    page.get_by_label("Select MAIL_FROM").uncheck()
    page.get_by_label("Filter keys").fill("nothing at all")
    expect(page.get_by_text("is shown by these filters")).to_be_visible()
    assert not shown(page)
    page.get_by_label("Filter keys").fill("")
    assert len(shown(page)) == 5
    assert visitor.problems == []


def test_what_is_compared_with_changes_without_a_button(visitor: Visitor, dev: Vault) -> None:
    page = visitor.page(SHOP)
    expect(page.get_by_role("button", name="Apply")).to_be_hidden()
    page.get_by_label("Compared with").select_option("prod")
    expect(page.get_by_title("API_KEY in Dev: differs from Prod, version 1")).to_be_visible()
    page.get_by_label("Group by prefix").uncheck()
    expect(page.locator("tr.group")).to_have_count(0)
    expect(page.get_by_label("Compared with")).to_have_value("prod")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_the_dock_counts_what_is_ticked_and_leads_to_a_copy(
    visitor: Visitor, dev: Vault, vault: Vault, scripts
) -> None:
    page = visitor.page(f"{SHOP}?with=prod", java_script_enabled=scripts)
    dock = page.get_by_role("group", name="With the selected keys")
    expect(dock).to_be_hidden()
    page.get_by_label("Select DB_PORT").check()
    page.get_by_label("Select NEW_KEY").check()
    expect(dock).to_be_visible()
    # Folded groups keep in sight what is ticked in them.
    page.locator("label:has(.fold)").first.click()
    expect(page.get_by_label("Select DB_URL")).to_be_hidden()
    expect(page.get_by_label("Select DB_PORT")).to_be_visible()
    dock.get_by_role("button", name="Copy…").click()
    page.get_by_role("button", name="Copy 2 keys to Prod").click()
    expect(page.locator("main [role=status]").first).to_have_text(
        "Copied 2 keys from Dev to Prod (revision 2)."
    )
    assert vault.value("DB_PORT") == "1"


def test_the_reviews_of_a_copy_and_a_deletion_are_accessible(visitor: Visitor, dev: Vault) -> None:
    for button in ("Copy…", "Delete…"):
        page = visitor.page(f"{SHOP}?with=prod")
        page.get_by_label("Select API_KEY").check()
        page.get_by_label("Select MAIL_FROM").check()
        assert violations(page) == []
        page.get_by_role("group", name="With the selected keys").get_by_role("button", name=button).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("key")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert violations(page) == [], (button, width)
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width
