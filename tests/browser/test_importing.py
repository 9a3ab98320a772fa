"""A file is dropped or chosen, read into the form, looked at and sent."""

from __future__ import annotations

from playwright.sync_api import Page, expect
from secrets_client import CANONICAL as PROD
from secrets_client import Vault

#: What the desktop hands over when a file is dropped on an element.
DROP = """(target, [name, text]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], name));
    const event = (kind) => new DragEvent(kind, {dataTransfer, bubbles: true, cancelable: true});
    return [target.dispatchEvent(event("dragover")), target.dispatchEvent(event("drop"))];
}"""


def write(page: Page) -> None:
    page.get_by_role("button", name="Review the import").click()
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.locator("#notice")).to_contain_text("Saved 1 change to Prod")


def test_a_dropped_file_becomes_the_text_of_the_form(page: Page, vault: Vault) -> None:
    page.goto(f"{PROD}/import")
    text = page.get_by_label("Paste the text, or drop a file here")
    # Both answers are the page's own: the browser does not open the file in its stead.
    assert text.evaluate(DROP, ["first.env", "DROPPED='one\ntwo'\n"]) == [False, False]
    expect(text).to_have_value("DROPPED='one\ntwo'\n")
    expect(page.locator("#announcer")).to_have_text("first.env was read into the form.")
    write(page)
    assert vault.value("DROPPED") == "one\ntwo"


def test_a_chosen_file_becomes_the_text_of_the_form_and_tells_its_format(page: Page, vault: Vault) -> None:
    page.goto(f"{PROD}/import")
    file = {"name": "some.json", "mimeType": "application/json", "buffer": b'{"CHOSEN": "v\xc3\xa4lue"}'}
    page.get_by_label("Or choose a file").set_input_files(file)
    expect(page.get_by_label("Paste the text, or drop a file here")).to_have_value('{"CHOSEN": "välue"}')
    expect(page.get_by_label("Format")).to_have_value("json")
    write(page)
    assert vault.value("CHOSEN") == "välue"


def test_a_file_replaces_what_was_typed_only_if_one_says_so(page: Page) -> None:
    page.goto(f"{PROD}/import")
    text = page.get_by_label("Paste the text, or drop a file here")
    text.fill("TYPED=1")
    page.once("dialog", lambda dialog: dialog.dismiss())
    text.evaluate(DROP, ["first.env", "FIRST=1"])
    expect(text).to_have_value("TYPED=1")
    page.once("dialog", lambda dialog: dialog.accept())
    text.evaluate(DROP, ["first.env", "FIRST=1"])
    expect(text).to_have_value("FIRST=1")
    text.evaluate(DROP, ["second.env", "SECOND=1"])
    expect(text).to_have_value("SECOND=1")


def test_a_file_that_is_no_text_is_not_read_and_that_is_seen(page: Page) -> None:
    page.goto(f"{PROD}/import")
    text = page.get_by_label("Paste the text, or drop a file here")
    text.fill("TYPED=1")
    file = {"name": "latin.env", "mimeType": "text/plain", "buffer": "A=é".encode("latin-1")}
    page.get_by_label("Or choose a file").set_input_files(file)
    expect(page.get_by_role("alert")).to_have_text("latin.env was not read: it is no text in UTF-8.")
    expect(text).to_have_value("TYPED=1")


def test_problems_name_their_lines_beside_the_text(page: Page) -> None:
    page.goto(f"{PROD}/import")
    text = page.get_by_label("Paste the text, or drop a file here")
    text.fill("A=1\nnonsense\n")
    page.get_by_role("button", name="Review the import").click()
    expect(page.get_by_role("alert")).to_contain_text("Line 2")
    expect(text).to_have_value("A=1\nnonsense\n")
