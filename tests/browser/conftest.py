"""Fixtures of the browser tests: a real Chromium against the real server, in this process.

They run on SQLite alone. What differs between the databases lies below the pages, and the functional
tests ask for every page and form on both.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chromium import Visitor, chromium, visit
from databases import SqliteDatabases
from furnished import furnish
from playwright.sync_api import Browser, Page
from rotation import rotated
from server import served
from service import Service
from tokens import TestIssuer
from vault import Vault

VALUES = {"API_KEY": "s3cr3t-of-the-house", "DB_URL": "postgresql://shop", "MAIL_FROM": "shop@example.com"}


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
    service = Service(url, issuer)
    ids = furnish(service)
    # As it is while the master key is being changed, when there is most to say.
    turned = rotated(service)
    with served(turned.app) as port:
        yield turned, port, ids
    service.close()
    sqlite_databases.drop(url)


@pytest.fixture
def onlooker(browser: Browser, organisation: tuple[Service, int, dict[str, str]]) -> Iterator[Visitor]:
    """The administrator's browser before that organisation."""
    service, port, ids = organisation
    with visit(browser, service, port, **ids) as visitor:
        yield visitor
