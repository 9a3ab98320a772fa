"""What holds for every page: accessible, no wider than its window, within reach of the keyboard.

Each test visits by a browser in which nothing may go wrong either: no error in the console, no violation
of the policy, no failed request, none to another host.
"""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import Visitor
from furnished import PATHS
from playwright.sync_api import Page

EVERY_PAGE = pytest.mark.parametrize("path", PATHS)
NARROW = {"width": 320, "height": 640}
TAB_STOPS = """() => [...document.querySelectorAll(
    "a[href], button:enabled, input:enabled:not([type=hidden]), select:enabled, textarea:enabled, summary")]
    .filter((one) => one.checkVisibility({visibilityProperty: true}))
    .map((one) => one.outerHTML)"""
FOCUSED = """() => {
    const one = document.activeElement;
    return one === document.body ? null : [one.outerHTML, getComputedStyle(one).outlineStyle];
}"""


def violations(page: Page) -> list[Any]:
    """What axe finds, in so far as it is needed to find the place again."""
    found = Axe().run(page).response["violations"]
    return [(one["id"], node["html"], node["failureSummary"]) for one in found for node in one["nodes"]]


@EVERY_PAGE
def test_axe_finds_no_violation_be_it_light_or_dark(onlooker: Visitor, path: str) -> None:
    page = onlooker.page(path)
    page.wait_for_load_state("networkidle")
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    assert violations(page) == []


@EVERY_PAGE
def test_a_narrow_page_does_not_scroll_sideways(onlooker: Visitor, path: str) -> None:
    page = onlooker.page(path, viewport=NARROW)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= NARROW["width"]


@EVERY_PAGE
def test_the_tab_key_reaches_everything_and_shows_where_it_is(onlooker: Visitor, path: str) -> None:
    page = onlooker.page(path)
    expected = page.evaluate(TAB_STOPS)
    reached: list[str] = []
    outlines = set()
    for _ in range(2 * len(expected) + 40):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused is None:
            break
        # A field of a date has parts, each a stop of its own.
        if focused[0] not in reached[-1:]:
            reached.append(focused[0])
        outlines.add(focused[1])
    assert [one for one in reached if one in expected] == expected
    assert "none" not in outlines


def test_axe_sees_what_is_wrong(onlooker: Visitor) -> None:
    page = onlooker.page("/projects")
    page.evaluate("document.querySelector('label').remove()")
    assert "label" in {name for name, *_ in violations(page)}
