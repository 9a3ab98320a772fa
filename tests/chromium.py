"""The system's Chromium, and pages in it that remember whatever went wrong on them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    WebError,
    expect,
    sync_playwright,
)
from programs import need
from sample_data import DOCS, SENT, Sent
from service import ADMIN, Service
from waiting import PATIENCE

from secretsvc.meta.viewer import SCRIPT as VIEWER

COOKIE = "Proxy_Authorization"
# What a busy machine may take to show something, in milliseconds.
expect.set_options(timeout=1000 * PATIENCE)
#: Told to the console, where all else that goes wrong is told too.
TELL_VIOLATIONS = """document.addEventListener("securitypolicyviolation", (event) =>
    console.error(`refused by the policy: ${event.violatedDirective} ${event.blockedURI}`))"""
#: Sends a form to an address, with the token of the page.
SEND = """([action, fields]) => {
    const form = document.createElement("form");
    Object.assign(form, { action, method: "post" });
    const token = document.querySelector("[name=csrf]").value;
    for (const [name, value] of Object.entries({ csrf: token, ...fields })) {
        const field = document.createElement("input");
        Object.assign(field, { type: "hidden", name, value });
        form.append(field);
    }
    document.body.append(form);
    form.submit();
}"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window; skips the test where there is none."""
    # That of Debian which can have no windows takes less than half of the processor for the same pages.
    executable = need("chromium", "chromium-headless-shell")
    # Chromium refuses its own sandbox to root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, args=arguments, timeout=3000 * PATIENCE
        )
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """The administrator's browser, signed in; `pages` that it opens note their problems in `problems`.

    The assertion comes as the access proxy's cookie: a browser sends no header of a proxy's.
    """

    def __init__(self, browser: Browser, origin: str, token: str | None, **ids: str) -> None:
        self.browser, self.origin, self.ids = browser, origin, ids
        self.cookies = [{"name": COOKIE, "value": token, "url": origin}] if token else []
        self.problems: list[str] = []
        self.contexts: list[BrowserContext] = []
        self.requests: list[Request] = []
        #: What may fail to load, beside a page's own address.
        self.loaded = {VIEWER}

    def page(self, path: str | None = None, **options: Any) -> Page:
        """A page with a context of its own, at a path if one is given, in which ids go by name.

        For the name of a form of `SENT` it is the page that the form leads to; the API's page comes without
        its viewer. `options` are the context's.
        """
        context = self.browser.new_context(base_url=self.origin, **options)
        self.contexts.append(context)
        context.set_default_timeout(1000 * PATIENCE)
        context.add_cookies(self.cookies)
        context.add_init_script(TELL_VIOLATIONS)
        context.on("console", self._console)
        context.on("weberror", self._error)
        context.on("request", self._request)
        context.on("requestfailed", self._failed)
        page = context.new_page()
        if path is not None:
            self.go(page, path)
        return page

    def go(self, page: Page, path: str) -> None:
        """Leads a page on to where `page` leads a new one."""
        if path == DOCS:
            page.context.route(VIEWER, lambda route: route.abort())
        if path in SENT:
            self._send(page, SENT[path])
        else:
            page.goto(path.format(**self.ids))

    def _send(self, page: Page, form: Sent) -> None:
        page.goto(form.page.format(**self.ids))
        action = form.action.format(**self.ids)
        # Some are refused, on purpose.
        self.loaded.add(f"{self.origin}{action}")
        with page.expect_navigation():
            page.evaluate(SEND, [action, form.fields])

    def paths(self, *, method: str = "GET") -> list[str]:
        """What was requested so far, with its query."""
        urls = [urlsplit(one.url) for one in self.requests if one.method == method]
        return [f"{url.path}?{url.query}" if url.query else url.path for url in urls]

    def judge(self) -> None:
        """Nothing has gone wrong since this was asked last."""
        problems, self.problems = self.problems, []
        assert problems == [], problems

    def _error(self, error: WebError) -> None:
        # Of pages that follow each other quickly the browser leaves out the transition, and says so.
        if not str(error.error).startswith("Transition was "):
            self.problems.append(f"error: {error.error}")

    def _console(self, message: ConsoleMessage) -> None:
        # An error page's own status is no problem of the page.
        url = message.location["url"]
        own = message.page is not None and url in {message.page.url, *self.loaded}
        expected = own and message.text.startswith("Failed to load resource")
        if message.type == "error" and not expected:
            self.problems.append(f"error: {message.text}")

    def _request(self, request: Request) -> None:
        self.requests.append(request)
        if not request.url.startswith((f"{self.origin}/", "blob:", "data:", VIEWER)):
            self.problems.append(f"another host: {request.url}")

    def _failed(self, request: Request) -> None:
        # A download answers a navigation, and a navigation that is left for another is no failure either.
        if request.failure != "net::ERR_ABORTED" and request.url != VIEWER:
            self.problems.append(f"failed: {request.url} {request.failure}")


@contextmanager
def visit(browser: Browser, service: Service | None, port: int, **ids: str) -> Iterator[Visitor]:
    """The administrator's browser, in which nothing may go wrong; without a service, a proxy's."""
    token = service.issuer.sign(ADMIN) if service is not None else None
    visitor = Visitor(browser, f"http://127.0.0.1:{port}", token, **ids)
    yield visitor
    for context in visitor.contexts:
        context.close()
    visitor.judge()
