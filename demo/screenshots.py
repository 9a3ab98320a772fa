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

from demo.deployment import demo_in

#: What to show: the file's name and the page's path.
PICTURES = {
    "home": "/",
    "matrix": "/projects/webshop",
    "editor": "/projects/webshop/environments/production",
    "secret": "/projects/webshop/environments/production/secrets/DATABASE_URL",
    "access": "/projects/webshop/access",
    "audit": "/audit",
}
SIZE = {"width": 1200, "height": 800}
#: The same as others see it: the name of the file, a name above, and what the browser is told.
OTHERWISE: dict[str, tuple[str, dict[str, Any]]] = {
    "editor-at-200-percent": (
        "editor",
        {"viewport": {"width": 600, "height": 400}, "device_scale_factor": 2},
    ),
    "matrix-in-forced-colours": ("matrix", {"forced_colors": "active"}),
}


def take(browser: Browser, address: str, path: str, file: Path, **options: Any) -> None:
    """Takes a picture of what a visitor sees of a page, and says so; `options` are the context's."""
    page = browser.new_page(**{"viewport": SIZE, "color_scheme": "light", **options})
    page.goto(address + path, wait_until="networkidle")
    # A font that comes after the text is shown from the next page on.
    answer = page.reload(wait_until="networkidle")
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
        for name, path in PICTURES.items():
            take(browser, address, path, Path(sys.argv[1]) / f"{name}.png")
            take(browser, address, path, Path(sys.argv[1]) / f"{name}-dark.png", color_scheme="dark")
        for name, (of, options) in OTHERWISE.items():
            take(browser, address, PICTURES[of], Path(sys.argv[1]) / f"{name}.png", **options)
        browser.close()


main()
