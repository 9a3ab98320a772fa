"""What axe finds wrong with a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

#: An answer with all that axe has looked at takes longer than the look.
FOUND = """async (options) => (await axe.run(options)).violations.flatMap((one) =>
    one.nodes.map((node) => [one.id, node.html, node.failureSummary]))"""
#: The rules that a colour can break, of those that are asked by default.
COLOURS = {"runOnly": ["cat.color"], "rules": {"color-contrast-enhanced": {"enabled": False}}}


def violations(page: Page, **options: Any) -> list[Any]:
    """Each as far as it is needed to find its place again; `options` are axe's."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: list[Any] = page.evaluate(FOUND, {"resultTypes": ["violations"], **options})
    return found
