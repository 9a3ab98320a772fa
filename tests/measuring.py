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

PROTOTYPE = Path(__file__).parent / "data" / "prototype.json"
SIZES = {1440: 900, 1024: 768, 390: 844}
SCHEMES = ("light", "dark")
#: Of every page: what is measured of an element is its left edge, its width, its height.
SHELL = {
    "sidebar": (".side", "xwh"),
    "brand": (".brand .mark", "xwh"),
    "search": ("#find", "xwh"),
    "entry": (".nav a", "xwh"),
    "title": ("main h1", "x"),
}
HEAD = {"head": (".head", "xw"), "main action": (".acts .btn.main, .acts .btn", "h")}
TOOLS = {"tools": (".tools", "xwh"), "filter": (".tools .find input", "xwh"), "segment": (".seg a", "xh")}
TABS = {"tabs": (".tabs", "xwh"), "tab": (".tabs a", "xh")}


def columns(table: str, *names: str) -> dict[str, tuple[str, str]]:
    """The heads of a table's first columns."""
    return {
        f"column {name or number}": (f"{table} thead th:nth-child({number})", "xw")
        for number, name in enumerate(names, 1)
    }


#: By the prototype's page: the path of ours, and its elements beside the shell's.
PAGES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "01-home": (
        "/",
        HEAD
        | columns("table.still", "project", "environments", "change")
        | {
            "attention": (".lines", "xw"),
            "its action": (".lines .btn.s", "h"),
            "aside": ("main aside", "xw"),
            "activity": (".feed li", "xw"),
            "chip": (".chip", "h"),
        },
    ),
    "02-matrix": (
        "/projects/webshop",
        HEAD
        | TOOLS
        | columns("table.matrix", "", "key", "first", "second", "third", "fourth", "more")
        | {
            "row": ("table.matrix tbody tr:not(.group)", "h"),
            "group": ("table.matrix tr.group", "h"),
            "cell": ("a.cell", "h"),
            "tick": (".matrix .pick input", "wh"),
        },
    ),
    "03b-editor-clean": (
        "/projects/webshop/environments/production",
        HEAD
        | TABS
        | TOOLS
        | columns("table.editor", "", "key", "value", "changed", "more")
        | {
            "value": ("tr.old .well", "xw"),
            "reveal": ("tr.old .ib", "wh"),
            "author": (".by .ava, .by.ava", "wh"),
        },
    ),
    "05-secret": (
        "/projects/webshop/environments/production/secrets/DATABASE_URL",
        HEAD
        | {
            "way": (".crumbs", "xw"),
            "value": ("section.card", "xw"),
            "timeline": ("ol.line", "xw"),
            "version": ("ol.line li .knot", "wh"),
            "aside": ("main aside", "xw"),
            "facts": (".facts", "xw"),
        },
    ),
    "06-compare": (
        "/projects/webshop/compare?from=staging&to=production",
        {"head": HEAD["head"]}
        | columns("table.compare", "", "key", "from", "to")
        | {
            "segment": TOOLS["segment"],
            "row": ("table.compare tbody tr", "h"),
            "cell": (".compare .cell", "h"),
            "tick": (".compare .pick input", "wh"),
        },
    ),
    "07-access": (
        "/projects/webshop/access",
        HEAD
        | TOOLS
        | columns("table.access", "who")
        | {
            "row": ("table.access tbody tr", "h"),
            "who": (".access .ava", "wh"),
            "role": (".access .pill", "h"),
            "more": (".access .ib", "wh"),
        },
    ),
    "07-access-grant": (
        "/projects/webshop/access?grant",
        {
            "panel": (".panel", "xwh"),
            "panel head": (".panel > header", "xw"),
            "who": (".panel .body .field input", "xwh"),
            "choice": (".panel .choice", "xw"),
            "chip": (".panel .chip", "h"),
            "give": (".panel footer .btn.main", "xh"),
            "foot": (".panel > footer", "xw"),
        },
    ),
    "08-identity": (
        "/identities/{wendy}",
        HEAD
        | {
            "way": (".crumbs", "xw"),
            "face": (".ava.big", "xwh"),
            "roles": ("table.perms", "xw"),
            "role": ("table.perms .pill", "h"),
            "aside": ("main aside", "xw"),
            "facts": (".facts", "xw"),
        },
    ),
    "09-audit": (
        "/audit",
        HEAD
        | {
            "question": (".seg a", "xh"),
            "chip": (".chips .chip", "h"),
            "chart": ("svg.chart", "xwh"),
            "day": (".day", "xw"),
            "record": (".log summary", "xwh"),
            "time": (".log summary time", "x"),
            "sentence": (".log .what", "x"),
        },
    ),
    "10-operations": (
        "/admin/keyring",
        {"head": HEAD["head"]}
        | {
            "rotation": ("section.card", "xw"),
            "ring": ("table.still", "xw"),
            "line": (".lines > li", "xw"),
            "row": ("table.still tbody tr", "h"),
            "aside": ("main aside", "xw"),
            "progress": ("progress", "xwh"),
        },
    ),
    "11-history": (
        "/projects/webshop/environments/production/history",
        {"head": HEAD["head"]}
        | TABS
        | {
            "revisions": (".revs", "xw"),
            "revision": (".revs .rev", "x"),
            "changes": ("table.diff", "xw"),
            "sign": ("table.diff .sign", "wh"),
            "restore": ("form.card", "xw"),
        },
    ),
    "12-404": (
        "/projects/absent",
        {
            "column": (".lost", "xw"),
            "number": (".lost .code", "xh"),
            "heading": (".lost h1", "xw"),
            "reason": (".lost .quiet", "xw"),
            "search": (".hero input", "xwh"),
            "home": (".lost .btn.main", "xh"),
            "request": (".lost .help", "xw"),
        },
    ),
    "01c-search": (
        "/search?q=DATABASE",
        {
            "head": HEAD["head"],
            "search": (".hero input", "xwh"),
            "segment": (".seg a", "xh"),
            "section": ("main .sect", "xw"),
            "line": ("main .lines > li", "xw"),
            "key": ("main .lines .key", "x"),
            "chip": (".chip", "h"),
        },
    ),
}
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
                    if scheme == "light":
                        measured.setdefault(name, {})[str(width)] = boxes(page, name)
        browser.close()
    PROTOTYPE.write_text(json.dumps(measured, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
