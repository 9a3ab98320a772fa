"""Reveal and copy: one request and one record each, and nothing stays to be read by whoever comes by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from accessible import violations
from chromium import Visitor
from playwright.sync_api import Locator, Page, Route, expect
from secrets_client import CANONICAL as PROD
from secrets_client import Vault, detail
from service import Service

MASK = "••••••••"
HIDDEN = "s3cr3t-of-the-house"
REVEALED = f"/api/v1{PROD}/secrets/API_KEY?reason=reveal"
#: The tab is no longer looked at; the page cannot tell it from the real thing.
HIDE_TAB = """() => {
    Object.defineProperty(document, "hidden", {value: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""
PAGES = pytest.mark.parametrize("path", [PROD, f"{PROD}/secrets/API_KEY"], ids=["editor", "secret"])


def cell_of(page: Page, key: str = "API_KEY") -> Locator:
    """The row of a key in the editor, or the card of its value on its own page."""
    row = page.locator("tr.old").filter(has=page.get_by_role("link", name=key, exact=True))
    return row.or_(page.locator(f".value[data-key={key}]"))


def text_of(cell: Locator) -> str:
    """What stands where the value is: a field of a row, or text."""
    found: str = cell.locator("textarea.w, .mask").first.evaluate("(one) => one.value ?? one.textContent")
    return found


def is_masked(page: Page, key: str = "API_KEY") -> None:
    cell = cell_of(page, key)
    expect(cell.get_by_role("button", name="Reveal")).to_be_visible()
    assert text_of(cell) in ("", MASK)


def is_shown(page: Page, key: str = "API_KEY", value: str = HIDDEN) -> None:
    cell = cell_of(page, key)
    expect(cell.get_by_role("button", name="Mask")).to_be_visible()
    assert text_of(cell) == value


def reveal(page: Page, path: str = PROD) -> None:
    page.goto(path)
    reveal_here(page)


def reveal_here(page: Page) -> None:
    """The same on the page that is open."""
    cell_of(page).get_by_role("button", name="Reveal").click()
    is_shown(page)


def reasons(service: Service) -> list[Any]:
    return [(row["reason"], detail(row)["key"]) for row in service.audit("secret.reveal")]


@PAGES
def test_one_reveal_is_one_request_and_one_record(
    page: Page, visitor: Visitor, service: Service, path: str
) -> None:
    reveal(page, path)
    assert visitor.paths().count(REVEALED) == 1
    assert reasons(service) == [("reveal", "API_KEY")]


@PAGES
def test_a_double_click_is_one_look(page: Page, service: Service, path: str) -> None:
    asked: list[Route] = []
    page.goto(path)
    page.route("**/api/v1/**", lambda route: asked.append(route))
    button = cell_of(page).get_by_role("button", name="Reveal")
    with page.expect_request("**/api/v1/**"):
        button.dblclick()
    # Whoever is impatient clicks again, and not as one clicks twice.
    button.evaluate("(one) => one.click()")
    page.wait_for_timeout(300)
    [once] = asked
    once.continue_()
    is_shown(page)
    page.wait_for_timeout(300)
    is_shown(page)
    assert reasons(service) == [("reveal", "API_KEY")]


LINES = "-----BEGIN KEY-----\n" + "x" * 60_000 + "\n-----END KEY-----\n"


@pytest.mark.parametrize("role", ["writer", "reader"])
@pytest.mark.parametrize("path", [PROD, f"{PROD}/secrets/LONG"], ids=["editor", "secret"])
def test_a_value_of_many_lines_keeps_them_and_fits_the_screen(
    visitor: Visitor, service: Service, vault: Vault, path: str, role: str
) -> None:
    vault.set(LONG=LINES)
    service.grant("rita@example.com", role, "shop/prod")
    page = visitor.page(viewport={"width": 390, "height": 800})
    token = service.issuer.sign("rita@example.com")
    page.context.add_cookies([visitor.cookies[0] | {"value": token}])
    page.goto(path)
    cell_of(page, "LONG").get_by_role("button", name="Reveal").click()
    is_shown(page, "LONG", LINES)
    text = cell_of(page, "LONG").locator("textarea.w, .mask")
    assert text.evaluate("(one) => one.value ?? one.innerText").count("\n") >= 2
    box = text.bounding_box()
    assert box
    assert box["width"] <= 390
    assert box["height"] <= 800
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert violations(page) == []


@pytest.mark.parametrize("path", [PROD, f"{PROD}/secrets/TURNED"], ids=["editor", "secret"])
def test_a_value_that_looks_like_another_is_told_of(page: Page, vault: Vault, path: str) -> None:
    vault.set(TURNED="\u202eevil")
    page.goto(path)
    cell_of(page, "TURNED").get_by_role("button", name="Reveal").click()
    is_shown(page, "TURNED", "\u202eevil")
    expect(cell_of(page, "TURNED")).to_contain_text("characters stand in another order than you see")


@PAGES
def test_a_value_is_masked_again_by_its_button_without_another_request(
    page: Page, visitor: Visitor, path: str
) -> None:
    reveal(page, path)
    cell_of(page).get_by_role("button", name="Mask").click()
    is_masked(page)
    assert visitor.paths().count(REVEALED) == 1


@PAGES
def test_a_value_is_masked_again_after_thirty_seconds(page: Page, path: str) -> None:
    page.clock.install(time=0)
    page.goto(path)
    # From here on no time passes by itself, however slow the machine is.
    page.clock.pause_at(24 * 3600 * 1000)
    reveal_here(page)
    expect(cell_of(page).locator(".countdown")).to_have_text(
        "Revealed and recorded. Masked again in 30 seconds."
    )
    page.clock.run_for(28_000)
    expect(cell_of(page).locator(".countdown")).to_contain_text("again in 2 seconds")
    is_shown(page)
    page.clock.run_for(3_000)
    is_masked(page)
    expect(cell_of(page).locator(".countdown")).to_have_count(0)


def test_a_value_is_masked_again_when_the_tab_is_hidden(page: Page) -> None:
    reveal(page)
    page.evaluate(HIDE_TAB)
    is_masked(page)


def test_a_value_that_arrives_in_a_hidden_tab_is_not_shown(page: Page) -> None:
    page.goto(PROD)
    page.evaluate(HIDE_TAB)
    with page.expect_response(lambda answer: answer.url.endswith(REVEALED)):
        cell_of(page).get_by_role("button", name="Reveal").click()
    is_masked(page)


def test_the_escape_key_masks_everything(page: Page) -> None:
    reveal(page)
    cell_of(page, "DB_URL").get_by_role("button", name="Reveal").click()
    expect(page.locator("textarea.open")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.locator("textarea.open")).to_have_count(0)
    is_masked(page)


def test_a_value_does_not_come_back_by_going_back(page: Page) -> None:
    reveal(page)
    page.get_by_role("link", name="Projects").first.click()
    page.go_back()
    expect(page.locator("tr.old")).to_have_count(3)
    for key in ("API_KEY", "DB_URL", "MAIL_FROM"):
        is_masked(page, key)


def test_a_mask_tells_nothing_of_what_it_hides(page: Page) -> None:
    page.goto(PROD)
    fields = page.locator("tr.old textarea.w").all()
    boxes = [field.bounding_box() for field in fields]
    assert len(boxes) == 3
    assert len({(box["width"], box["height"]) for box in boxes if box}) == 1
    assert {field.get_attribute("placeholder") for field in fields} == {MASK}


def test_a_revealed_value_is_edited_in_place_and_is_then_a_change(page: Page) -> None:
    reveal(page)
    expect(page.locator(".dock.when-staged")).to_be_hidden()
    field = cell_of(page).locator("textarea.w")
    field.press("End")
    field.press_sequentially("!")
    expect(page.locator(".dock.when-staged")).to_be_visible()
    # Exactly as before, it is no change.
    field.press("Backspace")
    expect(page.locator(".dock.when-staged")).to_be_hidden()
    field.press_sequentially("?")
    page.keyboard.press("Control+a")
    cell_of(page).get_by_role("button", name="Mask").click()
    expect(field).to_have_value(f"{HIDDEN}?")
    expect(page.locator("tr.mod")).to_have_count(1)


def test_a_value_is_revealed_beside_what_was_typed(page: Page) -> None:
    page.goto(PROD)
    field = cell_of(page).locator("textarea.w")
    field.fill("typed")
    cell_of(page).get_by_role("button", name="Reveal").click()
    expect(cell_of(page).locator(".beside")).to_have_text(HIDDEN)
    expect(field).to_have_value("typed")
    page.keyboard.press("Escape")
    expect(cell_of(page).locator(".beside")).to_have_count(0)


def test_all_values_are_revealed_after_one_question_and_masked_again(page: Page, service: Service) -> None:
    page.clock.install()
    page.goto(PROD)
    cell_of(page, "DB_URL").locator("textarea.w").fill("typed")
    page.get_by_text("Reveal all").click()
    page.get_by_role("button", name="Reveal 3 values").click()
    expect(page.locator("textarea.open")).to_have_count(2)
    expect(cell_of(page, "DB_URL").locator("textarea.w")).to_have_value("typed")
    assert [key for _, key in reasons(service)] == ["API_KEY", "DB_URL", "MAIL_FROM"]
    page.clock.run_for(31_000)
    expect(page.locator("textarea.open")).to_have_count(0)
    is_masked(page)


def test_copying_puts_the_value_on_the_clipboard_alone(visitor: Visitor, service: Service) -> None:
    page = visitor.page(PROD, permissions=["clipboard-read", "clipboard-write"])
    cell_of(page).get_by_role("button", name="Copy").click()
    expect(page.locator("#announcer")).to_have_text("API_KEY was copied.")
    assert page.evaluate("navigator.clipboard.readText()") == HIDDEN
    is_masked(page)
    assert reasons(service) == [("copy", "API_KEY")]


def test_a_read_that_is_refused_says_why_where_it_was_asked_for(
    page: Page, visitor: Visitor, service: Service
) -> None:
    page.goto(PROD)
    service.execute("UPDATE secret_version SET envelope = :bad", {"bad": b"damaged"})
    cell_of(page).get_by_role("button", name="Reveal").click()
    expect(cell_of(page).get_by_role("alert")).to_contain_text("API_KEY: ")
    expect(cell_of(page).get_by_role("alert")).to_be_visible()
    is_masked(page)
    assert len(visitor.problems) == 1
    visitor.problems.clear()


#: What may come in place of a value, and what is said of it.
REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"status": 302, "headers": {"Location": "https://login.example/"}}, "session may have ended"),
    ({"status": 200, "content_type": "text/html", "body": "<h1>Sign in</h1>"}, "session may have ended"),
    ({"status": 401, "json": {"message": "A valid access assertion is required."}}, "session may have ended"),
    ({"status": 403, "json": {"message": "Your grants do not allow this."}}, "Ask an administrator"),
    ({"status": 404, "json": {"message": "Secret not found."}}, "Secret not found."),
    ({"status": 429, "json": {"message": "Too many requests."}}, "Too many requests."),
    ({"status": 403, "json": {"error": "signed out"}}, "session may have ended"),
    ({"status": 502, "content_type": "text/html", "body": "<h1>Bad gateway</h1>"}, "does not answer"),
]


def answering(answer: dict[str, Any]) -> Callable[[Route], None]:
    return lambda route: route.fulfill(**answer)


@PAGES
@pytest.mark.parametrize("name", ["Reveal", "Copy"])
def test_every_failure_to_read_is_seen(visitor: Visitor, path: str, name: str) -> None:
    page = visitor.page(path, permissions=["clipboard-read", "clipboard-write"])
    for answer, told in REFUSALS:
        page.route("**/api/v1/**", answering(answer))
        cell_of(page).get_by_role("button", name=name).click()
        notice = cell_of(page).get_by_role("alert")
        expect(notice).to_contain_text(told)
        expect(notice).to_be_in_viewport()
        is_masked(page)
        page.unroute("**/api/v1/**")
    page.route("**/api/v1/**", lambda route: route.abort())
    cell_of(page).get_by_role("button", name=name).click()
    expect(cell_of(page).get_by_role("alert")).to_contain_text("cannot be reached")
    page.unroute("**/api/v1/**")
    cell_of(page).get_by_role("button", name=name).click()
    expect(cell_of(page).get_by_role("alert")).to_have_count(0)
    visitor.problems.clear()


@PAGES
def test_where_nothing_can_be_copied_nothing_is_asked_for(
    visitor: Visitor, service: Service, path: str
) -> None:
    page = visitor.page()
    page.add_init_script("Object.defineProperty(Navigator.prototype, 'clipboard', {value: undefined})")
    page.goto(path)
    expect(cell_of(page).get_by_role("button", name="Copy")).to_be_disabled()
    expect(page.get_by_text("Nothing can be copied here")).to_be_visible()
    cell_of(page).get_by_role("button", name="Copy").click(force=True)
    page.wait_for_timeout(300)
    assert not [one for one in visitor.paths() if "reason=copy" in one]
    assert reasons(service) == []


def test_a_clipboard_that_refuses_is_told_of(visitor: Visitor) -> None:
    page = visitor.page()
    page.add_init_script("Clipboard.prototype.writeText = () => Promise.reject(new Error('no'))")
    page.goto(PROD)
    cell_of(page).get_by_role("button", name="Copy").click()
    expect(cell_of(page).get_by_role("alert")).to_contain_text(
        "does not let this page write to the clipboard"
    )
