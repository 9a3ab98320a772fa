"""What holds for every page: accessible, no wider than its window, within reach of the keyboard.

Each test visits by a browser in which nothing may go wrong either: no error in the console, no violation
of the policy, no failed request, none to another host.
"""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import Visitor
from furnished import DOCS, PATHS, SENT
from layout import SHIFTS
from playwright.sync_api import Browser, Page

from secretsvc.devproxy.page import render

EVERY_PAGE = pytest.mark.parametrize("path", [*PATHS, DOCS, *SENT])
NARROW = {"width": 320, "height": 640}
#: A line of some kilobytes a second.
SLOW = {"offline": False, "latency": 20, "downloadThroughput": 20_000, "uploadThroughput": 20_000}
#: As browsers score it: what is seen moves by a pixel or two at most.
STILL = 0.005
#: What a window of 1440 by 900 shows at 200 %.
HALF = {"width": 720, "height": 450}
SIZES = ({"width": 1440, "height": 900}, {"width": 390, "height": 844}, NARROW)
#: What can be used, and what has the focus: its place in the document, and how it starts.
TAB_STOPS = """() => {
    // Of radio buttons with one name, the chosen one is the stop, or the first.
    const isStop = (one) => {
        if (one.type !== "radio") return true;
        const group = [...document.querySelectorAll(`input[type=radio][name="${CSS.escape(one.name)}"]`)]
            .filter((other) => other.form === one.form);
        return one === (group.find((other) => other.checked) ?? group[0]);
    };
    return [...document.querySelectorAll("*")]
    .map((one, place) => [one, place])
    .filter(([one]) => isStop(one) && one.matches(`a[href], button:enabled, input:enabled:not([type=hidden]),
        select:enabled, textarea:enabled, summary`) && one.checkVisibility({visibilityProperty: true})
        && !one.closest("[inert]") && one.tabIndex >= 0)
    .map(([one, place]) => [place, one.outerHTML.slice(0, 80)]);
}"""
FOCUSED = """() => {
    const one = document.activeElement;
    return one === document.body ? null
        : [[...document.querySelectorAll("*")].indexOf(one), one.outerHTML.slice(0, 80)];
}"""
FROM_THE_TOP = """() => {
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute("tabindex");
}"""
OUTLINED = "() => getComputedStyle(document.activeElement).outlineStyle !== 'none'"


def violations(page: Page) -> list[Any]:
    """What axe finds, in so far as it is needed to find the place again."""
    found = Axe().run(page).response["violations"]
    return [(one["id"], node["html"], node["failureSummary"]) for one in found for node in one["nodes"]]


@EVERY_PAGE
def test_axe_finds_no_violation_be_it_light_or_dark_wide_or_narrow(onlooker: Visitor, path: str) -> None:
    page = onlooker.page(path)
    page.wait_for_load_state("networkidle")
    for size in SIZES:
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert violations(page) == [], (size, scheme)


@EVERY_PAGE
def test_nothing_moves_while_a_page_loads(onlooker: Visitor, path: str) -> None:
    page = onlooker.page(path)
    page.wait_for_load_state("networkidle")
    assert sum(page.evaluate(SHIFTS)) < STILL


def test_nothing_moves_though_a_page_comes_in_pieces(onlooker: Visitor) -> None:
    page = onlooker.page("/whoami")
    page.wait_for_load_state("networkidle")
    line = page.context.new_cdp_session(page)
    line.send("Network.emulateNetworkConditions", SLOW)
    page.goto("/grants", wait_until="networkidle")
    assert sum(page.evaluate(SHIFTS)) < STILL


@EVERY_PAGE
def test_a_page_at_twice_its_size_and_in_forced_colours_is_whole(onlooker: Visitor, path: str) -> None:
    page = onlooker.page(path, viewport=HALF, forced_colors="active")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= HALF["width"]
    assert violations(page) == []


@EVERY_PAGE
def test_a_narrow_page_does_not_scroll_sideways(onlooker: Visitor, path: str) -> None:
    page = onlooker.page(path, viewport=NARROW)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= NARROW["width"]


@EVERY_PAGE
def test_the_tab_key_reaches_everything_and_shows_where_it_is(onlooker: Visitor, path: str) -> None:
    page = onlooker.page(path)
    # Where a problem has taken the focus, from the top again.
    page.evaluate(FROM_THE_TOP)
    expected = page.evaluate(TAB_STOPS)
    reached: list[Any] = []
    unseen = []
    for _ in range(2 * len(expected) + 40):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is None:
            break
        # A field of a date has parts, each a stop of its own.
        if focused not in reached[-1:]:
            reached.append(focused)
            unseen += [] if page.evaluate(OUTLINED) else [focused]
    assert [one for one in reached if one in expected] == expected
    assert unseen == []


def test_axe_sees_what_is_wrong(onlooker: Visitor) -> None:
    page = onlooker.page("/projects?new")
    page.evaluate("document.querySelector('.panel label').remove()")
    assert "label" in {name for name, *_ in violations(page)}


def test_the_page_of_the_development_proxy_is_accessible_and_no_wider_than_its_window(
    browser: Browser,
) -> None:
    page = browser.new_context(viewport=NARROW).new_page()
    page.set_content(render("admin@example.test", ["a-person-with-a-long-name@example.test"], "No.").decode())
    assert page.evaluate("document.scrollingElement.scrollWidth") <= NARROW["width"]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert violations(page) == [], scheme
    page.context.close()
