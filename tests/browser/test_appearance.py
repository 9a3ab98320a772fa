"""Light and dark, and pages that stand still while they load."""

from __future__ import annotations

import pytest
from chromium import Visitor
from layout import SHIFTS
from playwright.sync_api import Page, expect
from vault import CANONICAL as PROD
from vault import Vault

COLOURS = """() => ["backgroundColor", "color"].map((name) =>
    getComputedStyle(document.body)[name].match(/\\d+/g)
        .map(Number).reduce((sum, part) => sum + part) / 765)"""


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
