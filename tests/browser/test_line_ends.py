"""CR LF, CR and NUL survive every page, with scripts and without, though no text area can show them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chromium import Visitor
from playwright.sync_api import Locator, Page, expect
from secrets_client import CANONICAL as PROD
from secrets_client import Vault

ODD = {"CR": "a\rb", "CRLF": "a\r\nb\r\n", "MIXED": "a\r\nb\nc\r", "NUL": "a\0b\r\n"}
SHOWN = {"CR": "a\nb", "CRLF": "a\nb\n", "MIXED": "a\nb\nc\n"}
UNCHANGED = "No changes to save."


@pytest.fixture(params=[True, False], ids=["scripts", "no-scripts"])
def scripts(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def page(visitor: Visitor, vault: Vault, scripts: bool) -> Page:
    """A browser, before a shop with values that no text area can show."""
    vault.set(**ODD)
    return visitor.page(java_script_enabled=scripts)


def value_of(page: Page, key: str) -> Locator:
    return page.get_by_label(f"Value of {key}", exact=True)


def reveal(page: Page, key: str) -> None:
    page.get_by_label(f"Reveal {key}", exact=True).click()
    expect(page.get_by_label(f"Mask {key}", exact=True)).to_be_visible()


def review(page: Page) -> None:
    """Presses the button that the Enter key presses, whether anything is staged or not."""
    page.locator("#edits > button.unseen").evaluate("(one) => one.click()")


def changes(page: Page) -> list[str]:
    """The keys of a review."""
    expect(page.get_by_role("heading", level=1)).to_contain_text("Review")
    return page.locator("main tbody .key").all_inner_texts()


def apply(page: Page) -> None:
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("button", name="Apply 1 change")).to_have_count(0)


def odd(vault: Vault) -> dict[str, Any]:
    return {key: value for key, value in vault.values().items() if key in ODD}


def test_values_that_were_revealed_beside_an_edit_stay(page: Page, vault: Vault) -> None:
    page.goto(PROD)
    for key, text in SHOWN.items():
        reveal(page, key)
        expect(value_of(page, key)).to_have_value(text)
    reveal(page, "NUL")
    value_of(page, "MAIL_FROM").fill("typed")
    review(page)
    assert changes(page) == ["MAIL_FROM"]
    apply(page)
    assert vault.value("MAIL_FROM") == "typed"
    assert odd(vault) == ODD


def test_a_review_after_revealing_all_has_no_change(page: Page, vault: Vault) -> None:
    page.goto(PROD)
    page.get_by_text("Reveal all").click()
    page.get_by_role("button", name="Reveal 7 values").click()
    expect(value_of(page, "CRLF")).to_have_value(SHOWN["CRLF"])
    expect(page.locator(".dock.when-staged")).to_be_hidden()
    review(page)
    expect(page.get_by_text(UNCHANGED)).to_be_visible()
    assert odd(vault) == ODD


@pytest.mark.parametrize(
    ("key", "told", "written"),
    [
        ("CRLF", "line ends stay CR LF", "a\r\nb\r\n!"),
        ("CR", "line ends stay CR", "a\rb!"),
        ("MIXED", "line ends become LF", "a\nb\nc\n!"),
        ("NUL", "line ends stay CR LF", "a\0b\r\n!"),
    ],
)
def test_an_edited_value_keeps_its_line_ends_or_the_review_says_so(
    page: Page, vault: Vault, key: str, told: str, written: str
) -> None:
    page.goto(PROD)
    reveal(page, key)
    value_of(page, key).press("Control+End")
    value_of(page, key).press_sequentially("!")
    review(page)
    assert changes(page) == [key]
    expect(page.locator("main tbody")).to_contain_text(told)
    apply(page)
    assert odd(vault) == ODD | {key: written}


def test_the_revealed_value_typed_again_on_its_own_page_is_no_change(page: Page, vault: Vault) -> None:
    page.goto(f"{PROD}/secrets/CRLF")
    page.get_by_text("Write a new value").click()
    page.get_by_label("New value").fill(SHOWN["CRLF"])
    page.get_by_role("button", name="Review the change").click()
    expect(page.get_by_text(UNCHANGED)).to_be_visible()
    page.goto(f"{PROD}/secrets/CRLF")
    page.get_by_text("Write a new value").click()
    page.get_by_label("New value").fill("A\nb")
    page.get_by_role("button", name="Review the change").click()
    apply(page)
    assert odd(vault) == ODD | {"CRLF": "A\r\nb"}


def test_an_edited_text_leaves_the_other_values(page: Page, vault: Vault) -> None:
    page.goto(f"{PROD}/text")
    page.get_by_role("button", name="Show the values").click()
    text = page.locator("#content")
    text.fill(text.input_value().replace("MAIL_FROM=shop@", "MAIL_FROM=typed@"))
    page.get_by_role("button", name="Review changes").click()
    assert changes(page) == ["MAIL_FROM"]
    apply(page)
    assert odd(vault) == ODD


def test_a_file_gives_the_same_with_scripts_and_without(page: Page, vault: Vault) -> None:
    page.goto(f"{PROD}/import")
    buffer = b"\xef\xbb\xbfLINES='1\r\n2\r3'\r\rEXACT=\"x\\r\\ny\0z\"\r\n"
    page.get_by_label("Or choose a file").set_input_files(
        {"name": "x.env", "mimeType": "text/plain", "buffer": buffer}
    )
    page.get_by_role("button", name="Review the import").click()
    page.get_by_role("button", name="Keep editing").click()
    page.get_by_role("button", name="Review the import").click()
    page.get_by_role("button", name="Apply 2 changes").click()
    expect(page.locator("#notice")).to_contain_text("Saved 2 changes")
    assert vault.value("LINES") == "1\n2\n3"
    assert vault.value("EXACT") == "x\r\ny\0z"


PASTED = {"CRLF": "new\r\n\0", "FRESH": "f\r\0\n"}


def test_pasted_values_survive_the_editor_a_review_and_a_conflict(page: Page, vault: Vault) -> None:
    page.goto(PROD)
    page.get_by_role("textbox", name="Paste a .env file").fill(json.dumps(PASTED))
    page.get_by_role("button", name="Stage these lines").click()
    page.get_by_label("Reveal MAIL_FROM").click()
    review(page)
    assert sorted(changes(page)) == ["CRLF", "FRESH"]
    page.get_by_role("button", name="Keep editing").click()
    expect(value_of(page, "CRLF")).to_be_visible()
    vault.set(CRLF="theirs\r\n", FRESH="theirs")
    review(page)
    page.get_by_role("button", name="Review again").click()
    assert sorted(changes(page)) == ["CRLF", "FRESH"]
    page.get_by_role("button", name="Apply 2 changes").click()
    expect(page.locator("#notice")).to_contain_text("Saved 2 changes")
    assert {key: vault.value(key) for key in PASTED} == PASTED


def paste(page: Page, values: dict[str, str]) -> None:
    page.goto(PROD)
    page.get_by_role("textbox", name="Paste a .env file").fill(json.dumps(values))
    page.get_by_role("button", name="Stage these lines").click()


def test_a_value_revealed_after_its_paste_was_cleared_is_no_change(page: Page, vault: Vault) -> None:
    paste(page, {"CRLF": "a\nb\n"})
    expect(value_of(page, "CRLF")).to_have_value(SHOWN["CRLF"])
    value_of(page, "CRLF").fill("")
    reveal(page, "CRLF")
    expect(value_of(page, "CRLF")).to_have_value(SHOWN["CRLF"])
    review(page)
    expect(page.get_by_text(UNCHANGED)).to_be_visible()
    assert odd(vault) == ODD


@pytest.mark.parametrize("scripts", [True], indirect=True, ids=["scripts"])
def test_a_pasted_value_that_moves_to_the_row_of_its_key_stays_exact(page: Page, vault: Vault) -> None:
    paste(page, {"FRESH": "x\ny"})
    page.locator("input.nk").filter(visible=True).first.fill("CRLF")
    page.get_by_role("link", name="Edit it").click()
    expect(value_of(page, "CRLF")).to_have_value("x\ny")
    review(page)
    assert changes(page) == ["CRLF"]
    apply(page)
    assert odd(vault) == ODD | {"CRLF": "x\ny"}
