"""The pages beside the prototype that they were drawn by: tokens, rows and columns within two pixels.

`tests/measuring.py` says what is measured, and measures the prototype anew.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from chromium import Visitor
from measuring import PAGES, PROTOTYPE, SCHEMES, SIZES, boxes, tokens

PROTOTYPES: dict[str, Any] = json.loads(PROTOTYPE.read_text("utf-8"))
#: CSS pixels.
TOLERANCE = 2
#: What differs by page and element, at any width, and why.
DIFFERS: dict[tuple[str, str], str] = {}


def different(name: str, width: int, found: dict[str, Any]) -> dict[str, Any]:
    """What lies further from the prototype than it may, with both boxes."""
    drawn = PROTOTYPES[name][str(width)]
    return {
        element: (found[element], box)
        for element, box in drawn.items()
        if (name, element) not in DIFFERS and not near(found[element], box)
    }


def near(found: dict[str, float] | None, drawn: dict[str, float] | None) -> bool:
    """Whether two boxes are the same within the tolerance."""
    if found is None or drawn is None:
        return found is drawn
    return all(abs(found[side] - drawn[side]) <= TOLERANCE for side in drawn)


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_rows_and_columns_of_its_prototype(demo: Visitor, name: str, width: int) -> None:
    page = demo.page(PAGES[name][0], viewport={"width": width, "height": SIZES[width]})
    page.evaluate("document.fonts.ready")
    assert different(name, width, boxes(page, name)) == {}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", SIZES)
def test_the_tokens_are_those_of_the_prototype(demo: Visitor, width: int, scheme: str) -> None:
    page = demo.page("/", viewport={"width": width, "height": SIZES[width]}, color_scheme=scheme)
    assert tokens(page) == PROTOTYPES["tokens"][f"{width} {scheme}"]


def test_a_column_that_moved_is_seen(demo: Visitor) -> None:
    page = demo.page("/", viewport={"width": 1440, "height": 900})
    assert "project" not in different("01-home", 1440, boxes(page, "01-home"))
    page.locator("main").evaluate("(one) => { one.className = 'panel' }")
    assert "title" in different("01-home", 1440, boxes(page, "01-home"))
