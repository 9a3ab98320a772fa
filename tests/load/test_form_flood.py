"""A writer who sends forms of the largest size in a loop holds nobody else up."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any
from urllib.parse import urlencode

import pytest
from extent import amount
from pages import form_token
from processes import Deployment
from service import ADMIN, HEADER
from tokens import TestIssuer
from waiting import least_seconds, slowness

PROD = "/projects/shop/environments/prod"
ROWS, LOOPS = 9_900, 2
SECONDS = amount(10.0, 600.0)
#: Seconds of the usual machine.
BOUND = 1.0


class Browser:
    """One connection of the administrator's to a process's pages."""

    def __init__(self, deployment: Deployment) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", deployment.processes[0].port, timeout=60)
        self.token = deployment.issuer.sign(ADMIN)

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        headers = {HEADER: self.token, "Content-Type": "application/x-www-form-urlencoded"}
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read().decode()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()


@pytest.fixture
def deployment(sqlite_databases: Any, issuer: TestIssuer, tmp_path: Path) -> Iterator[Deployment]:
    """One process over SQLite, whose one lock all writers share."""
    url = sqlite_databases.create()
    with Deployment(tmp_path, url, issuer) as made:
        made.start(1)
        client = made.client()
        client.expect(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
        client.expect(201, "POST", "/projects/shop/environments", {"slug": "prod", "name": "Prod"})
        client.expect(200, "POST", f"{PROD}/secrets:batch", {"mode": "merge", "set": {"KEY": "value"}})
        client.close()
        yield made


@pytest.fixture
def form(deployment: Deployment) -> str:
    """The editor's form with a row for each of 9,900 secrets that cannot be."""
    with Browser(deployment) as browser:
        _, page = browser.ask("GET", PROD)
    return urlencode({"csrf": form_token(page), **{f"new.{row}.key": "-" for row in range(ROWS)}})


def test_a_form_of_many_rows_is_refused_within_a_second(deployment: Deployment, form: str) -> None:
    with Browser(deployment) as browser:
        for action in ("edit-review", "edit-apply", "edit-back"):
            answers: list[tuple[int, str]] = []
            ask = partial(browser.ask, "POST", f"{PROD}/{action}", form)
            bound = BOUND * slowness()
            took = least_seconds(lambda: answers.append(ask()), bound)  # noqa: B023 - it is over by then
            status, page = answers[-1]
            print(f"\n{action}: {status}, {len(page)} characters, {took:.2f} s")
            assert status == (200 if action == "edit-back" else 413)
            assert len(page) < 1_000_000
            assert took < bound


@pytest.mark.long
def test_a_loop_of_such_forms_holds_no_other_caller_up(deployment: Deployment, form: str) -> None:
    ends, sent = time.monotonic() + SECONDS, []

    def flood() -> None:
        with Browser(deployment) as browser:
            while time.monotonic() < ends:
                sent.append(browser.ask("POST", f"{PROD}/edit-review", form)[0])

    threads = [threading.Thread(target=flood) for _ in range(LOOPS)]
    for thread in threads:
        thread.start()
    client, times = deployment.client(), []
    while time.monotonic() < ends:
        began = time.monotonic()
        client.expect(200, "GET", f"{PROD}/secrets/KEY")
        times.append(time.monotonic() - began)
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    client.close()
    usual = quantiles(times, n=10)[-1]
    print(f"\n{len(sent)} forms, {len(times)} reveals, nine tenths within {usual:.2f} s of {max(times):.2f}")
    assert {*sent} == {413}
    assert len(sent) >= LOOPS
    # Whoever is held up is so by every form. A pause of the machine holds up one or two.
    assert usual < BOUND * slowness()
