"""What a key typed into an editor of 500 rows costs the browser: the CPU time of the page's thread, traced.

It is counted from the key until what was typed is painted: scripts, styles, layout, painting. The goal: under
30 ms at each key, the first one of a page included, on which the styles of the staged row and of the dock
change.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
from typing import Any

from bench import databases, service_over
from playwright.sync_api import Browser, Page, sync_playwright
from secrets_client import Vault
from server import served
from service import ADMIN, Service, arrange

GOAL_MS = 30.0
ROWS = 500
ENVIRONMENT = "/projects/shop/environments/prod"
#: A value in the middle, and the first row for a new key.
FIELDS = ("Value of KEY_250", "Key 1 to add")
#: The assertion's cookie, as the access proxy names it.
COOKIE = "Proxy_Authorization"
TRACED = ["devtools.timeline", "disabled-by-default-devtools.timeline"]
QUIET_MS = 1000


def cost(browser: Browser, page: Page, key: str) -> float:
    """How many milliseconds the thread of the page works for a key, up to the frame that shows it."""
    browser.start_tracing(page=page, categories=TRACED)
    page.keyboard.press(key)
    page.wait_for_timeout(QUIET_MS)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    pressed = next(one for one in events if _is_keydown(one))
    own = [one for one in events if (one["pid"], one["tid"]) == (pressed["pid"], pressed["tid"])]
    painted = min(one["ts"] for one in own if one["name"] == "Paint" and one["ts"] > pressed["ts"])
    tasks = [one for one in own if one["name"] == "RunTask" and one["ts"] <= painted]
    return sum(one["tdur"] for one in tasks if one["ts"] + one["dur"] > pressed["ts"]) / 1000


def _is_keydown(event: dict[str, Any]) -> bool:
    return event["name"] == "EventDispatch" and event["args"].get("data", {}).get("type") == "keydown"


def measure(browser: Browser, service: Service, port: int, rounds: int) -> bool:
    """Prints the first key and the others of each field, of new pages; says whether all meet the goal."""
    origin, found = f"http://127.0.0.1:{port}", dict[tuple[str, str], list[float]]()
    for _ in range(rounds):
        for field in FIELDS:
            context = browser.new_context(base_url=origin)
            context.add_cookies([{"name": COOKIE, "value": service.issuer.sign(ADMIN), "url": origin}])
            page = context.new_page()
            page.goto(ENVIRONMENT, wait_until="networkidle")
            page.get_by_label(field, exact=True).click()
            page.wait_for_timeout(QUIET_MS)
            for number, key in enumerate("ABCD"):
                which = "the first key" if number == 0 else "further keys"
                found.setdefault((field, which), []).append(cost(browser, page, key))
            context.close()
    for (field, which), times in found.items():
        print(
            f"{field:18} {which:14} median {statistics.median(times):5.1f} ms, at most {max(times):5.1f} ms"
        )
    return all(statistics.median(times) < GOAL_MS for times in found.values())


def main() -> None:
    """Fills an environment, serves it, types."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    executable = shutil.which("chromium") or sys.exit(
        "Chromium is missing; on Debian: apt-get install chromium"
    )
    # Chromium refuses its own sandbox to root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with databases("sqlite") as made, service_over(made) as service, sync_playwright() as playwright:
        Vault(arrange(service, "shop", "prod")).batch(
            set={f"KEY_{number:03}": "x" * 40 for number in range(ROWS)}, descriptions={"KEY_000": "One"}
        )
        with served(service.app) as port:
            browser = playwright.chromium.launch(executable_path=executable, args=arguments)
            is_met = measure(browser, service, port, rounds)
            browser.close()
    sys.exit(0 if is_met else "a key costs more than the goal")


if __name__ == "__main__":
    main()
