"""The same pages in a browser that runs no script."""

from __future__ import annotations

from chromium import Visitor
from playwright.sync_api import Page, expect
from vault import CANONICAL as PROD
from vault import Vault


def test_edits_are_made_reviewed_and_written(visitor: Visitor, vault: Vault) -> None:
    page = visitor.page(PROD, java_script_enabled=False)
    page.get_by_label("New value of API_KEY").fill("one\ntwo")
    page.get_by_label("Key of a new secret").first.fill("FRESH")
    page.get_by_label("Delete DB_URL").check()
    page.get_by_role("button", name="Review the changes").click()
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_text("Written.", exact=True)).to_be_visible()
    assert vault.values() == {"API_KEY": "one\ntwo", "FRESH": "", "MAIL_FROM": "shop@example.com"}


def shown_apart(page: Page, name: str) -> Page:
    """The page that a button opens beside this one, with the value on it."""
    with page.expect_popup() as opened:
        page.get_by_role("button", name=name).click()
    expect(opened.value.get_by_label("The value of API_KEY")).to_have_value("s3cr3t-of-the-house")
    return opened.value


def test_a_value_is_shown_on_a_page_of_its_own_and_the_edits_stay(visitor: Visitor) -> None:
    page = visitor.page(PROD, java_script_enabled=False)
    page.get_by_label("New value of API_KEY").fill("typed")
    shown_apart(page, "Reveal API_KEY")
    expect(page.get_by_label("New value of API_KEY")).to_have_value("typed")


def test_what_only_a_script_can_do_is_not_offered(visitor: Visitor) -> None:
    page = visitor.page(PROD, java_script_enabled=False)
    for hidden in ("Filter rows", "Copy API_KEY", "Add a row"):
        expect(page.get_by_text(hidden).or_(page.get_by_label(hidden)).first).to_be_hidden()


def test_a_file_is_uploaded(visitor: Visitor, vault: Vault) -> None:
    page = visitor.page(f"{PROD}/import", java_script_enabled=False)
    file = {"name": "x.env", "mimeType": "text/plain", "buffer": b"SENT=yes\n"}
    page.get_by_label("Or choose a file").set_input_files(file)
    page.get_by_role("button", name="Review the import").click()
    page.get_by_role("button", name="Write it").click()
    expect(page.get_by_text("Written.", exact=True)).to_be_visible()
    assert vault.value("SENT") == "yes"
