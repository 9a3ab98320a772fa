"""The pages beside the prototype that they were drawn by: tokens, rows and columns within two pixels.

`tests/prototype.py` says what is measured, `tests/measuring.py` measures the prototype anew. What differs
and is not measured stands in docs/decisions/0044-where-the-pages-differ-from-their-design.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from chromium import Visitor, visit
from databases import SqliteDatabases
from measuring import PROTOTYPE, SCHEMES, SIZES, boxes, tokens
from playwright.sync_api import Browser, Page, Route
from prototype import PAGES
from server import served
from service import Service
from tokens import TestIssuer

PROTOTYPES: dict[str, Any] = json.loads(PROTOTYPE.read_text("utf-8"))
#: CSS pixels.
TOLERANCE = 2
AUTOMATIC = "the columns of this table are as wide as their content, which is another"
ROTATING = "the demo is between two rotations, so nothing moves"
#: What differs by page and element, at any width or at that one, and why.
DIFFERS: dict[tuple[str, str] | tuple[str, str, int], str] = {
    ("01-home", "column project"): AUTOMATIC,
    ("01-home", "column environments"): AUTOMATIC,
    ("01-home", "column change"): AUTOMATIC,
    ("06-compare", "column key"): AUTOMATIC,
    ("06-compare", "column from"): AUTOMATIC,
    ("06-compare", "column to"): AUTOMATIC,
    ("02b-matrix-selected", "dock", 390): "a choice of the source stands on a line more",
    ("07-access", "row", 1024): "at 1024 pixels the prototype's longer names take a third line",
    ("12-412", "key", 390): "a heading of a card begins where its lines do",
    ("10-operations", "rotation"): ROTATING,
    ("10-operations", "progress"): ROTATING,
}
#: Where a table becomes cards, and its heads are hidden.
CARDS = 760
#: How many elements of each page are compared at least.
COMPARED = 12
#: Who may read in production and not write, and how the development proxy is told so.
READER = {"X-Dev-Identity": "sam.support@example.test"}


def tick(page: Page) -> None:
    """Selects two keys of the matrix."""
    for number in (0, 4):
        page.locator(".matrix .pick input").nth(number).check()


def stage(page: Page) -> None:
    """Types a new key, changes one, and deletes one."""
    page.locator("tr.new .nk").first.fill("FRAUD_API_KEY")
    page.locator("tr.new .w").first.fill("fake")
    page.locator("tr.old .w").nth(3).fill("fake")
    # What its label does, in a menu.
    page.locator("tr.old .rm").nth(4).evaluate("(one) => one.click()")


def review(page: Page) -> None:
    """Leads to the review of what was typed."""
    stage(page)
    with page.expect_navigation():
        page.locator(".dock .btn.main").last.click()


def fall_behind(page: Page) -> None:
    """Sends what was typed as of the revision before the last, which changed the same key."""
    page.locator("tr.old .w").first.fill("fake")
    page.locator("#edits [name=rev]").evaluate("(one) => { one.value = Number(one.value) - 1 }")
    with page.expect_navigation():
        page.locator(".dock.when-staged .btn.main").click()


#: What is done on a page before it looks as it is drawn.
STEPS: dict[str, Callable[[Page], None]] = {
    "02b-matrix-selected": tick,
    "03-editor": stage,
    "04-review": review,
    "12-412": fall_behind,
}


def different(name: str, width: int, found: dict[str, Any]) -> dict[str, Any]:
    """What lies further from the prototype than it may, with both boxes."""
    drawn = PROTOTYPES[name][str(width)]
    return {
        element: (found[element], box)
        for element, box in drawn.items()
        if not near(found[element], box) and is_compared(name, width, element)
    }


def is_compared(name: str, width: int, element: str) -> bool:
    """Whether an element must lie where the prototype has it."""
    differs = (name, element) in DIFFERS or (name, element, width) in DIFFERS
    return not differs and not (width < CARDS and element.startswith("column "))


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


@pytest.fixture
def first_run(
    browser: Browser, sqlite_databases: SqliteDatabases, issuer: TestIssuer
) -> Iterator[Callable[[int], Page]]:
    """Opens a service that has no project, in a window so wide."""
    url = sqlite_databases.create()
    service = Service(url, issuer)
    with served(service.app) as port, visit(browser, service, port) as visitor:

        def opened(width: int) -> Page:
            page = visitor.page(viewport={"width": width, "height": SIZES[width]})
            page.route("**/secretsvc.css*", with_its_font)
            page.goto("/")
            return page

        yield opened
    service.close()
    sqlite_databases.drop(url)


def compare(page: Page, name: str, width: int) -> None:
    """Asserts that a page lies as its prototype, light and dark."""
    page.evaluate("document.fonts.ready")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert different(name, width, boxes(page, name)) == {}, scheme


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", [name for name in PAGES if name not in ("01b-first-run", "12-403")])
def test_a_page_has_the_rows_and_columns_of_its_prototype(
    shown: Visitor, sized: Page, name: str, width: int
) -> None:
    shown.go(sized, PAGES[name][0])
    if name in STEPS:
        # What it leads to may be refused, as it is meant to be.
        shown.loaded.add(f"{sized.url}/edit-review")
        STEPS[name](sized)
    compare(sized, name, width)


@pytest.mark.parametrize("width", SIZES)
def test_a_refusal_has_the_rows_and_columns_of_its_prototype(shown: Visitor, sized: Page, width: int) -> None:
    sized.set_extra_http_headers(READER)
    try:
        shown.go(sized, PAGES["12-403"][0])
        compare(sized, "12-403", width)
    finally:
        sized.set_extra_http_headers({})


@pytest.mark.parametrize("width", SIZES)
def test_the_first_run_has_the_rows_and_columns_of_its_prototype(
    first_run: Callable[[int], Page], width: int
) -> None:
    compare(first_run(width), "01b-first-run", width)


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_twelve_elements_of_a_page_that_are_seen_are_compared(name: str, width: int) -> None:
    drawn = PROTOTYPES[name][str(width)]
    compared = [one for one, box in drawn.items() if box and is_compared(name, width, one)]
    assert len(compared) >= COMPARED, compared


def test_every_page_of_the_prototype_is_measured() -> None:
    assert {*PROTOTYPES} == {*PAGES, "tokens"}
    assert len(PAGES) == 19


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
