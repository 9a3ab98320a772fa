"""What holds for every page: accessible, no wider than its window, within reach of the keyboard.

Each page is visited by a browser in which nothing may go wrong either: no error in the console, no violation
of the policy, no failed request, none to another host. It is loaded twice, wide and narrow: that takes longer
than all that is asked of it then. So all wide pages follow each other in one tab, and all narrow ones: a tab
of its own takes six times as long as a page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from accessible import COLOURS, violations
from chromium import Visitor, visit
from layout import SHIFTS
from playwright.sync_api import Browser, Page, expect
from sample_data import DOCS, PATHS, PROD, SENT
from server import served
from service import Service

from secretsvc.devproxy.page import render

ADDRESSES = [*PATHS, DOCS, *SENT]
EVERY_WIDE_PAGE = pytest.mark.parametrize("loaded", ADDRESSES, indirect=True)
EVERY_NARROW_PAGE = pytest.mark.parametrize("narrow", ADDRESSES, indirect=True)
#: What a browser has that nobody has given a size.
INITIAL = {"width": 1280, "height": 720}
NARROW = {"width": 320, "height": 640}
#: A line of some kilobytes a second.
SLOW = {"offline": False, "latency": 20, "downloadThroughput": 20_000, "uploadThroughput": 20_000}
#: As browsers score it: what is seen moves by a pixel or two at most.
STILL = 0.005
#: What a window of 1440 by 900 shows at 200 %.
HALF = {"width": 720, "height": 450}
SIZES = ({"width": 1440, "height": 900}, {"width": 390, "height": 844}, NARROW)
#: Which of axe's rules are asked under a scheme: dark is the same page in other colours.
SCHEMES: dict[str, dict[str, Any]] = {"light": {}, "dark": COLOURS}
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


class Loaded(NamedTuple):
    """A page in a window of the usual size, and how far its parts moved while it loaded."""

    page: Page
    moved: float


@pytest.fixture(scope="module")
def wide_tab(tourist: Visitor) -> Page:
    """A tab in a window of the usual size, to which every page comes as to somebody's first visit."""
    tab = tourist.page(viewport=INITIAL)
    line = tab.context.new_cdp_session(tab)
    line.send("Network.enable")
    line.send("Network.setCacheDisabled", {"cacheDisabled": True})
    return tab


@pytest.fixture(scope="module")
def narrow_tab(tourist: Visitor) -> Page:
    return tourist.page(viewport=NARROW)


@pytest.fixture(scope="module")
def loaded(request: pytest.FixtureRequest, tourist: Visitor, wide_tab: Page) -> Iterator[Loaded]:
    wide_tab.set_viewport_size(INITIAL)
    wide_tab.emulate_media(color_scheme="light")
    tourist.go(wide_tab, request.param)
    wide_tab.wait_for_load_state("networkidle")
    yield Loaded(wide_tab, sum(wide_tab.evaluate(SHIFTS)))
    tourist.judge()


@pytest.fixture
def wide(loaded: Loaded) -> Page:
    """That page, however the test before has left it."""
    loaded.page.set_viewport_size(INITIAL)
    loaded.page.emulate_media(color_scheme="light")
    return loaded.page


@pytest.fixture(scope="module")
def narrow(request: pytest.FixtureRequest, tourist: Visitor, narrow_tab: Page) -> Iterator[Page]:
    """A page that was loaded in a narrow window."""
    narrow_tab.set_viewport_size(NARROW)
    narrow_tab.emulate_media(forced_colors="none")
    tourist.go(narrow_tab, request.param)
    yield narrow_tab
    tourist.judge()


def check_with_axe(page: Page) -> None:
    for size in SIZES:
        page.set_viewport_size(size)
        for scheme, rules in SCHEMES.items():
            page.emulate_media(color_scheme=scheme)
            assert violations(page, **rules) == [], (size, scheme)


@EVERY_WIDE_PAGE
def test_axe_finds_no_violation_be_it_light_or_dark_wide_or_narrow(wide: Page) -> None:
    check_with_axe(wide)


@pytest.mark.parametrize(
    ("who", "path", "heading"),
    [
        ("rita@example.com", PATHS[2], "Shop"),
        ("rita@example.com", f"{PROD}/access", "needs the admin role"),
        ("new@example.com", "/", "Home"),
        ("new@example.com", PATHS[2], "nothing here that you may see"),
    ],
)
def test_axe_finds_no_violation_on_what_others_see(
    browser: Browser, organisation: tuple[Service, int, dict[str, str]], who: str, path: str, heading: str
) -> None:
    service, port, _ = organisation
    visitor = Visitor(browser, f"http://127.0.0.1:{port}", service.issuer.sign(who))
    page = visitor.page(path)
    expect(page.locator("h1")).to_contain_text(heading)
    check_with_axe(page)
    page.context.close()
    visitor.judge()


def test_axe_finds_no_violation_on_the_first_steps(browser: Browser, service: Service) -> None:
    with served(service.app) as port, visit(browser, service, port) as visitor:
        page = visitor.page("/")
        expect(page.locator("h1")).to_have_text("Set up secretsvc")
        check_with_axe(page)


def test_the_dark_scheme_changes_colours_alone(here: Path) -> None:
    sheets = [path.read_text("utf-8") for path in (here / "secretsvc").rglob("*.css")]
    blocks = re.findall(r"@media [^{]*prefers-color-scheme[^{]*\{\s*([^{]*\{[^}]*)\}\s*\}", "\n".join(sheets))
    assert len(blocks) == sum(sheet.count("prefers-color-scheme") for sheet in sheets) > 0
    for block in blocks:
        selector, _, declarations = block.partition("{")
        assert selector.strip() == ":root"
        names = [one.partition(":")[0].strip() for one in declarations.split(";") if one.strip()]
        assert [name for name in names if not name.startswith("--")] == []


@EVERY_WIDE_PAGE
def test_nothing_moves_while_a_page_loads(loaded: Loaded) -> None:
    assert loaded.moved < STILL


def test_nothing_moves_though_a_page_comes_in_pieces(onlooker: Visitor) -> None:
    page = onlooker.page("/whoami")
    page.wait_for_load_state("networkidle")
    line = page.context.new_cdp_session(page)
    line.send("Network.emulateNetworkConditions", SLOW)
    page.goto("/grants", wait_until="networkidle")
    assert sum(page.evaluate(SHIFTS)) < STILL


@EVERY_NARROW_PAGE
def test_a_narrow_page_does_not_scroll_sideways(narrow: Page) -> None:
    narrow.set_viewport_size(NARROW)
    narrow.emulate_media(forced_colors="none")
    assert narrow.evaluate("document.scrollingElement.scrollWidth") <= NARROW["width"]


@EVERY_NARROW_PAGE
def test_a_page_at_twice_its_size_and_in_forced_colours_is_whole(narrow: Page) -> None:
    narrow.set_viewport_size(HALF)
    narrow.emulate_media(forced_colors="active")
    assert narrow.evaluate("document.scrollingElement.scrollWidth") <= HALF["width"]
    assert violations(narrow) == []


@EVERY_WIDE_PAGE
def test_the_tab_key_reaches_everything_and_shows_where_it_is(wide: Page) -> None:
    page = wide
    # Where a problem has taken the focus, from the top again.
    page.evaluate(FROM_THE_TOP)
    expected = page.evaluate(TAB_STOPS)
    reached: list[Any] = []
    unseen = []
    for _ in range(2 * len(expected) + 40):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        # After the last one the focus leaves the page, or is with the first again.
        if focused is None or (len(reached) > 1 and focused == reached[0]):
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
