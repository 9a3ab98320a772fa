"""What is measured of a page to hold it to its prototype: boxes of named elements, and the tokens.

`python tests/measuring.py FOLDER` measures the prototype's pages in a folder anew and writes what it
finds to tests/data/prototype.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.sync_api import Page, sync_playwright
from prototype import PAGES, SHELL

PROTOTYPE = Path(__file__).parent / "data" / "prototype.json"
SIZES = {1440: 900, 1024: 768, 390: 844}
SCHEMES = ("light", "dark")
BOX = """([selector]) => {
    const found = [...document.querySelectorAll(selector)].find((one) => one.checkVisibility());
    if (!found) return null;
    const { x, width, height } = found.getBoundingClientRect();
    return { x, w: width, h: height };
}"""
TOKENS = """() => {
    const style = getComputedStyle(document.documentElement);
    const names = ["ground", "sunk", "hover", "raised", "ink", "ink2", "ink3", "line", "line2", "edge",
        "accent", "accent-strong", "accent-ink", "accent-soft", "good", "good-soft", "warn", "warn-soft",
        "bad", "bad-soft", "r", "r2", "row", "bar"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}"""


def boxes(page: Page, name: str) -> dict[str, dict[str, float] | None]:
    """The boxes of a page's elements in CSS pixels; None where there is none that is seen."""
    found: dict[str, dict[str, float] | None] = {}
    for element, (selector, sides) in (SHELL | PAGES[name][1]).items():
        box: dict[str, float] | None = page.evaluate(BOX, [selector])
        found[element] = None if box is None else {side: round(box[side], 1) for side in sides}
    return found


def tokens(page: Page) -> dict[str, str]:
    """The tokens of the stylesheet as they are computed."""
    found: dict[str, str] = page.evaluate(TOKENS)
    return found


@contextmanager
def site(folder: str) -> Iterator[str]:
    """The address of the files of a folder: a page that is a file itself loads no font."""
    serve = partial(SimpleHTTPRequestHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def main() -> None:
    """Measures the prototype."""
    measured: dict[str, Any] = {}
    with sync_playwright() as playwright, site(sys.argv[1]) as address:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for scheme in SCHEMES:
            for width, height in SIZES.items():
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                for name in PAGES:
                    page.goto(f"{address}/{name}.html", wait_until="networkidle")
                    page.evaluate("document.fonts.ready")
                    measured.setdefault("tokens", {})[f"{width} {scheme}"] = tokens(page)
                    found = measured.setdefault(name, {}).setdefault(str(width), boxes(page, name))
                    # One measure does for both schemes.
                    assert found == boxes(page, name), (name, width, scheme)
        browser.close()
    PROTOTYPE.write_text(json.dumps(measured, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
