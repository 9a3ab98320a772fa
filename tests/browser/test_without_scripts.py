"""The same pages in a browser that runs no script."""

from __future__ import annotations

from chromium import Visitor
from playwright.sync_api import Locator, Page, expect
from sample_data import DOCS, PATHS, SENT
from secrets_client import CANONICAL as PROD
from secrets_client import Vault
from service import Service

#: Of a page with all its menus open: what can be seen, and does nothing where no script runs.
IDLE = """() => {
    for (const one of document.querySelectorAll("details")) {
        one.removeAttribute("name");
        one.open = true;
    }
    const isSeen = (one) => one.checkVisibility({visibilityProperty: true}) && !one.closest("[inert]");
    const isIdle = (one) => {
        if (one.matches("button")) return !(one.form && one.type === "submit") && !one.popoverTargetElement;
        if (one.matches("a")) {
            const href = one.getAttribute("href");
            const target = href.startsWith("#") ? document.getElementById(href.slice(1)) : one;
            return !target || !isSeen(target);
        }
        return !one.form && !one.readOnly && !one.matches("[type=checkbox], [type=radio]");
    };
    // One text alone is sent by the Enter key; the button of a selection shows once something is ticked.
    const isStuck = (form) => ![...form.elements].some((one) => one.type === "submit" && isSeen(one))
        && [...form.elements].filter((one) => one.matches("select, textarea, input")
            && !one.matches("[type=hidden], [type=checkbox], [type=radio]") && isSeen(one)).length > 1;
    const found = [...document.querySelectorAll("a[href], :is(button, input, select, textarea):enabled")];
    return [...found.filter((one) => isSeen(one) && isIdle(one)), ...[...document.forms].filter(isStuck)]
        .map((one) => one.outerHTML.slice(0, 150));
}"""


def value_of(page: Page, key: str = "API_KEY") -> Locator:
    return page.get_by_label(f"Value of {key}", exact=True)


def test_edits_are_made_counted_reviewed_and_written(visitor: Visitor, vault: Vault) -> None:
    page = visitor.page(PROD, java_script_enabled=False)
    expect(page.locator(".dock.when-staged")).to_be_hidden()
    value_of(page).fill("one\ntwo")
    expect(page.get_by_label("Key 2 to add")).to_be_hidden()
    page.get_by_label("Key 1 to add").fill("FRESH")
    expect(page.get_by_label("Key 2 to add")).to_be_visible()
    expect(page.locator(".tally").filter(visible=True)).to_have_text(["new", "changed"])
    page.get_by_label("Actions for DB_URL").click()
    page.get_by_text("Delete, or keep").locator("visible=true").click()
    page.get_by_label("Actions for DB_URL").click()
    expect(page.get_by_text("Keep", exact=True).locator("visible=true")).to_have_count(1)
    page.locator(".dock").get_by_role("button", name="Review changes").click()
    page.get_by_role("button", name="Apply 3 changes").click()
    expect(page.locator("#notice")).to_contain_text("Saved 3 changes to Prod (revision 2).")
    assert vault.values() == {"API_KEY": "one\ntwo", "FRESH": "", "MAIL_FROM": "shop@example.com"}
    page.get_by_role("button", name="Undo").click()
    assert vault.value("DB_URL") == "postgresql://shop"


def test_a_value_is_shown_in_its_row_and_the_edits_stay(visitor: Visitor, service: Service) -> None:
    page = visitor.page(PROD, java_script_enabled=False)
    value_of(page, "DB_URL").fill("typed")
    page.get_by_label("Reveal API_KEY").click()
    expect(value_of(page)).to_have_value("s3cr3t-of-the-house")
    expect(value_of(page, "DB_URL")).to_have_value("typed")
    expect(page.locator(".flag.mod").locator("visible=true")).to_have_count(1)
    page.get_by_label("Mask API_KEY").click()
    expect(value_of(page)).to_have_value("")
    expect(value_of(page, "DB_URL")).to_have_value("typed")
    assert len(service.audit("secret.reveal")) == 1


def shown_apart(page: Page, name: str) -> Page:
    """The page that a button opens beside this one, with the value on it."""
    with page.expect_popup() as opened:
        page.get_by_role("button", name=name).click()
    expect(opened.value.get_by_label("The value of API_KEY")).to_have_value("s3cr3t-of-the-house")
    return opened.value


def test_a_reveal_of_one_secret_drops_nothing_that_is_typed(visitor: Visitor, vault: Vault) -> None:
    page = visitor.page(f"{PROD}/secrets/API_KEY", java_script_enabled=False)
    page.get_by_text("Write a new value").click()
    page.get_by_label("New value").fill("typed")
    shown = shown_apart(page, "Reveal")
    # What the page's refresh gives way to has no field that it would take along.
    expect(shown.locator("main form")).to_have_count(0)
    expect(page.get_by_label("New value")).to_have_value("typed")
    page.get_by_role("button", name="Review the change").click()
    expect(page.get_by_label("Reason")).to_have_value("")
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("API_KEY")
    assert vault.value("API_KEY") == "typed"


def test_a_file_is_uploaded(visitor: Visitor, vault: Vault) -> None:
    page = visitor.page(f"{PROD}/import", java_script_enabled=False)
    file = {"name": "x.env", "mimeType": "text/plain", "buffer": b"SENT=yes\n"}
    page.get_by_label("Or choose a file").set_input_files(file)
    page.get_by_role("button", name="Review the import").click()
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.locator("#notice")).to_contain_text("Saved 1 change")
    assert vault.value("SENT") == "yes"


def test_the_api_is_listed_where_its_viewer_does_not_run(visitor: Visitor) -> None:
    page = visitor.page("/api/v1/docs", java_script_enabled=False, viewport={"width": 320, "height": 640})
    expect(page.get_by_text("POST /projects", exact=True)).to_be_visible()
    expect(page.locator("rapi-doc")).to_be_hidden()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 320
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("link", name="Projects").click()
    expect(page).to_have_url(f"{visitor.origin}/projects")


def test_every_page_is_whole_without_scripts(onlooker: Visitor) -> None:
    found, page = {}, onlooker.page(java_script_enabled=False)
    for path in (*PATHS, DOCS, *SENT):
        page.set_viewport_size({"width": 320, "height": 640})
        onlooker.go(page, path)
        wide = page.evaluate("document.scrollingElement.scrollWidth") > 320
        page.set_viewport_size({"width": 1440, "height": 900})
        if idle := [*page.evaluate(IDLE), *(["it scrolls sideways"] if wide else [])]:
            found[path] = idle
    assert found == {}


def test_an_existing_key_in_a_new_row_is_told_by_the_review(visitor: Visitor, vault: Vault) -> None:
    page = visitor.page("/projects/shop", java_script_enabled=False)
    page.locator("summary", has_text="Add keys").click()
    page.locator(".head").get_by_role("link", name="Prod").click()
    page.get_by_label("Key 1 to add").fill("API_KEY")
    page.get_by_label("Value 1 to add").fill("typed")
    page.locator(".dock").get_by_role("button", name="Review changes").click()
    expect(page.locator(".taken")).to_have_text("API_KEY exists. Edit it")
    expect(page.get_by_label("Value 1 to add")).to_have_value("typed")
    page.get_by_role("link", name="Edit it").click()
    value_of(page).fill("typed")
    page.get_by_label("Key 1 to add").fill("")
    page.get_by_label("Value 1 to add").fill("")
    page.locator(".dock").get_by_role("button", name="Review changes").click()
    page.get_by_role("button", name="Apply 1 change").click()
    expect(page.locator("#notice")).to_contain_text("Saved 1 change")
    assert vault.value("API_KEY") == "typed"
