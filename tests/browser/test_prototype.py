"""The pages beside the prototype that they were drawn by: tokens, rows and columns within two pixels.

`tests/measuring.py` says what is measured, and measures the prototype anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from chromium import Visitor, visit
from measuring import PAGES, PROTOTYPE, SCHEMES, SIZES, boxes, tokens
from playwright.sync_api import Browser, Page, Route

PROTOTYPES: dict[str, Any] = json.loads(PROTOTYPE.read_text("utf-8"))
#: CSS pixels.
TOLERANCE = 2
AUTOMATIC = "the columns of this table are as wide as their content, which is another"
ROTATING = "the demo is between two rotations, so nothing moves"
#: What differs by page and element, at any width, and why.
DIFFERS = {
    ("01-home", "column project"): AUTOMATIC,
    ("01-home", "column environments"): AUTOMATIC,
    ("01-home", "column change"): AUTOMATIC,
    ("06-compare", "column key"): AUTOMATIC,
    ("06-compare", "column from"): AUTOMATIC,
    ("06-compare", "column to"): AUTOMATIC,
    ("07-access", "row"): "at 1024 pixels the prototype's longer names take a third line",
    ("10-operations", "rotation"): ROTATING,
    ("10-operations", "progress"): ROTATING,
}
#: Where a table becomes cards, and its heads are hidden.
CARDS = 760


def different(name: str, width: int, found: dict[str, Any]) -> dict[str, Any]:
    """What lies further from the prototype than it may, with both boxes."""
    drawn = PROTOTYPES[name][str(width)]
    return {
        element: (found[element], box)
        for element, box in drawn.items()
        if not near(found[element], box)
        and (name, element) not in DIFFERS
        and not (width < CARDS and element.startswith("column "))
    }


def near(found: dict[str, float] | None, drawn: dict[str, float] | None) -> bool:
    """Whether two boxes are the same within the tolerance."""
    if found is None or drawn is None:
        return found is drawn
    return all(abs(found[side] - drawn[side]) <= TOLERANCE for side in drawn)


def with_its_font(route: Route) -> None:
    """The stylesheet, but that text waits for the font: where it comes late, the system's stays."""
    answer = route.fetch()
    sheet = answer.text().replace("font-display: optional", "font-display: block")
    route.fulfill(response=answer, body=sheet)


@pytest.fixture(scope="module")
def shown(browser: Browser, demonstration: tuple[int, dict[str, str]]) -> Iterator[Visitor]:
    """The administrator's browser before the demo, for all pages after each other."""
    port, ids = demonstration
    with visit(browser, None, port, **ids) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def tab(shown: Visitor) -> Page:
    """One tab for them all: a tab of its own takes several times as long as a page."""
    page = shown.page()
    page.route("**/secretsvc.css*", with_its_font)
    return page


@pytest.fixture
def sized(shown: Visitor, tab: Page, width: int) -> Iterator[Page]:
    """That tab in a window so wide, in which nothing may go wrong."""
    tab.set_viewport_size({"width": width, "height": SIZES[width]})
    yield tab
    shown.judge()


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_rows_and_columns_of_its_prototype(
    shown: Visitor, sized: Page, name: str, width: int
) -> None:
    shown.go(sized, PAGES[name][0])
    sized.evaluate("document.fonts.ready")
    assert different(name, width, boxes(sized, name)) == {}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", SIZES)
def test_the_tokens_are_those_of_the_prototype(sized: Page, width: int, scheme: str) -> None:
    sized.emulate_media(color_scheme=scheme)
    sized.goto("/")
    assert tokens(sized) == PROTOTYPES["tokens"][f"{width} {scheme}"]


def test_a_column_that_moved_is_seen(demo: Visitor) -> None:
    page = demo.page("/", viewport={"width": 1440, "height": 900})
    assert "project" not in different("01-home", 1440, boxes(page, "01-home"))
    page.locator("main").evaluate("(one) => { one.className = 'panel' }")
    assert "title" in different("01-home", 1440, boxes(page, "01-home"))
