"""Fixtures of the browser tests: a real Chromium against the real server, in this process.

They run on SQLite alone. What differs between the databases lies below the pages, and the functional
tests ask for every page and form on both.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Visitor, chromium, visit
from databases import SqliteDatabases
from playwright.sync_api import Browser, Page
from rotation import rotated
from sample_data import furnish, hand_out
from secrets_client import Vault
from server import served
from service import MASTER_KEY, Service
from tokens import TestIssuer

VALUES = {"API_KEY": "s3cr3t-of-the-house", "DB_URL": "postgresql://shop", "MAIL_FROM": "shop@example.com"}
#: The port of the demo, and ids by the names of people.
Demonstration = tuple[int, dict[str, str]]


@pytest.fixture
def databases(sqlite_databases: SqliteDatabases) -> SqliteDatabases:
    return sqlite_databases


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for the tests of a module: outside of them no event loop is left running."""
    with chromium() as started:
        yield started


@pytest.fixture
def visitor(browser: Browser, service: Service, vault: Vault) -> Iterator[Visitor]:
    """The administrator's browser, before a shop with three secrets."""
    vault.batch(set=VALUES, descriptions={"API_KEY": "For the payments"})
    with served(service.app) as port, visit(browser, service, port) as visitor:
        yield visitor


@pytest.fixture
def page(visitor: Visitor) -> Page:
    """A page of that browser."""
    return visitor.page()


@pytest.fixture(scope="module")
def organisation(
    sqlite_databases: SqliteDatabases, issuer: TestIssuer
) -> Iterator[tuple[Service, int, dict[str, str]]]:
    """A service with something on every page, its port and ids, for a module's tests that change nothing."""
    url = sqlite_databases.create()
    service = Service(url, issuer, SERVICE_TOKENS="on")
    ids = furnish(service)
    ids["made"] = hand_out(service, ids["robot"])
    # As it is while the master key is being changed, when there is most to say.
    turned = rotated(service)
    with served(turned.app) as port:
        yield turned, port, ids
    service.close()
    sqlite_databases.drop(url)


@pytest.fixture(scope="module")
def demonstration(here: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demonstration]:
    """The organisation of `make demo` behind the development proxy: its port, and ids by people's names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASTER_KEY", MASTER_KEY)
        patch.syspath_prepend(str(here))
        screens = importlib.import_module("demo.deployment")
        app = screens.demo_in(tmp_path_factory.mktemp("demo"))
        with served(app) as port:
            yield port, screens.people(app)


@pytest.fixture
def demo(browser: Browser, demonstration: Demonstration) -> Iterator[Visitor]:
    """The administrator's browser before the demo."""
    port, ids = demonstration
    with visit(browser, None, port, **ids) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def tourist(browser: Browser, organisation: tuple[Service, int, dict[str, str]]) -> Iterator[Visitor]:
    """The administrator's browser before that organisation, for all tests of a module after each other."""
    service, port, ids = organisation
    with visit(browser, service, port, **ids) as visitor:
        yield visitor


@pytest.fixture
def onlooker(browser: Browser, organisation: tuple[Service, int, dict[str, str]]) -> Iterator[Visitor]:
    """The administrator's browser before that organisation."""
    service, port, ids = organisation
    with visit(browser, service, port, **ids) as visitor:
        yield visitor
