"""`python -m demo.screenshots docs/images`: the README's pictures, of the demo in a database of its own."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import waitress
from playwright.sync_api import Browser, sync_playwright

from demo.caller import Caller
from demo.deployment import demo_in
from demo.people import ADMIN, WRITERS

SIZE = {"width": 1200, "height": 800}


def pictures_of(app: Any) -> dict[str, str]:
    """What to show: the file's name and the page's path."""
    people = Caller(app, ADMIN).get("/identities?limit=100")["items"]
    ids = {one["subject"]: one["id"] for one in people}
    return {
        "editor": "/projects/webshop/environments/production",
        "matrix": "/projects/webshop",
        "permissions": f"/identities/{ids[WRITERS[0]]}",
    }


def take(browser: Browser, address: str, path: str, file: Path) -> None:
    """Takes a picture of what a visitor first sees of a page, and says so."""
    page = browser.new_page(viewport=SIZE, color_scheme="light")
    answer = page.goto(address + path)
    if answer is None or not answer.ok:
        sys.exit(f"{path} cannot be shown")
    page.screenshot(path=file)
    page.close()
    print(f"{file} shows {path}")


def main() -> None:
    """Fills, serves, takes the pictures."""
    executable = shutil.which("chromium") or sys.exit(
        "Chromium is missing; on Debian: apt-get install chromium"
    )
    # Chromium refuses its own sandbox to root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with TemporaryDirectory() as directory, sync_playwright() as playwright:
        app = demo_in(Path(directory))
        server = waitress.create_server(app, listen="127.0.0.1:0")
        threading.Thread(target=server.run, daemon=True).start()
        address = f"http://127.0.0.1:{server.effective_port}"
        browser = playwright.chromium.launch(executable_path=executable, args=arguments)
        for name, path in pictures_of(app).items():
            take(browser, address, path, Path(sys.argv[1]) / f"{name}.png")
        browser.close()


main()
