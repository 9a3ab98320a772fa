"""Light and dark, pages that stand still while they load, and pages on paper."""

from __future__ import annotations

import pytest
from chromium import Visitor
from layout import SHIFTS
from playwright.sync_api import Browser, Page, expect
from secrets_client import CANONICAL as PROD
from secrets_client import Vault
from service import Service

COLOURS = """() => ["backgroundColor", "color"].map((name) =>
    getComputedStyle(document.body)[name].match(/\\d+/g)
        .map(Number).reduce((sum, part) => sum + part) / 765)"""
#: What paper would not show of a page: parts that are unseen or cut, and how much wider than paper it is.
CUT = """(selector) => [
    [...document.querySelectorAll(selector)]
        .filter((one) => !one.checkVisibility({visibilityProperty: true})),
    [...document.querySelectorAll("main *")].filter((one) => getComputedStyle(one).overflowX !== "visible"
        && one.scrollWidth > one.clientWidth + 1 && !one.closest(".unseen")),
].map((found) => found.map((one) => one.outerHTML.slice(0, 90))).concat(
    [Math.max(0, document.documentElement.scrollWidth - innerWidth)])"""
#: How a control tells whether it can be used.
LOOK = """(one) => ["cursor", "borderTopStyle"].map((name) => getComputedStyle(one)[name])"""
LEFT = "(one) => one.getBoundingClientRect().left"
#: A sheet of A4 without its margins.
SHEET = {"width": 718, "height": 1046}


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_the_page_is_as_light_or_dark_as_it_is_asked_to_be(visitor: Visitor, scheme: str, dark: bool) -> None:
    ground, ink = visitor.page(PROD, color_scheme=scheme).evaluate(COLOURS)
    assert (ground < 0.2, ink > 0.8) == (dark, dark)
    assert abs(ground - ink) > 0.7


def test_five_hundred_secrets_load_without_a_layout_shift(visitor: Visitor, vault: Vault) -> None:
    vault.set(**{f"KEY_{number}": "value" for number in range(497)})
    page = visitor.page()
    page.goto(PROD, wait_until="networkidle")
    expect(page.locator("tr.old")).to_have_count(500)
    assert sum(page.evaluate(SHIFTS)) < 0.01


def test_a_layout_shift_would_be_seen(page: Page) -> None:
    page.goto(PROD)
    page.evaluate("document.querySelector('main').before(document.createElement('pre'))")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert sum(page.evaluate(SHIFTS)) > 0.01


def test_what_cannot_be_used_does_not_look_as_if_it_could(
    visitor: Visitor, vault: Vault, service: Service
) -> None:
    service.user().patch(PROD, {"protected": True})
    page = visitor.page(f"{PROD}/settings")
    for usable, disabled in (("#name", "#confirm"), (".btn.main", ".btn.bad")):
        looks = [page.locator(one).evaluate(LOOK) for one in (usable, disabled)]
        assert looks[1] == ["not-allowed", "dashed"] != looks[0]
        assert [page.locator(one).is_enabled() for one in (usable, disabled)] == [True, False]


def test_a_page_that_fits_its_window_does_not_scroll(visitor: Visitor) -> None:
    page = visitor.page("/groups", viewport={"width": 1440, "height": 900})
    assert page.evaluate("document.scrollingElement.scrollHeight") == 900


def test_the_tab_that_is_shown_is_in_sight_where_the_bar_is_cut(visitor: Visitor) -> None:
    page = visitor.page(f"{PROD}/settings", viewport={"width": 320, "height": 640})
    expect(page.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=0.95)
    expect(page.locator(".tabs a").first).not_to_be_in_viewport()
    assert page.evaluate("scrollY") == 0


def test_a_card_begins_its_heading_where_its_lines_begin(visitor: Visitor) -> None:
    page = visitor.page("/admin/keyring", viewport={"width": 390, "height": 844})
    heading, line = (page.locator(f".still tr {one}").first for one in ("th code", "td .pill"))
    assert heading.evaluate(LEFT) == pytest.approx(line.evaluate(LEFT), abs=1)


def test_who_only_reads_sees_the_lines_of_a_value(
    browser: Browser, visitor: Visitor, vault: Vault, service: Service
) -> None:
    vault.set(API_KEY="one\ntwo\nthree")
    service.grant("rita@example.com", "reader", "shop/prod")
    reader = Visitor(browser, visitor.origin, service.issuer.sign("rita@example.com"))
    page = reader.page(PROD)
    row = page.locator("tr.old").first
    row.get_by_role("button", name="Reveal").click()
    expect(row.locator(".mask.open")).to_have_text("one\ntwo\nthree", use_inner_text=True)
    page.context.close()
    reader.judge()


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/audit", ".log li > details > summary, .log dt, .log dd"),
        ("/projects/shop/access", "table.access tr, table.access th:not(:has(.unseen)), table.access td"),
        (f"{PROD}/access", "table.access tr"),
    ],
)
def test_a_print_is_complete(onlooker: Visitor, path: str, parts: str) -> None:
    page = onlooker.page(path, viewport=SHEET)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.locator(parts).count() > 3
    assert page.evaluate(CUT, parts) == [[], [], 0]
    ground, ink = page.evaluate(COLOURS)
    assert ground > 0.9 > 0.2 > ink
    for screen_only in (".side", ".skip"):
        expect(page.locator(screen_only)).to_be_hidden()
