"""Every link of the audit log's page leads to something, whatever the filters."""

from __future__ import annotations

from itertools import combinations
from urllib.parse import parse_qs, urlsplit

import pytest
from pages import Browser
from secrets_client import Vault

from secretsvc.auditlog.ui.url import FILTERS, AuditUrl

VALUES = {
    "actor": "root@example.com",
    "project": "shop",
    "environment": "prod",
    "key": "TOKEN",
    "action": "secret.batch",
    "outcome": "success",
    "since": "2001-09-09T01:46:45",
    "until": "2099-01-01T00:00",
    "request_id": "absent",
}
#: The filters that depend on each other, as a page can have them, and those that do not.
SCOPES = [("project", "environment", "key"), ("project", "environment"), ("project",), ("environment",), ()]
OTHERS = [name for name in VALUES if name not in SCOPES[0]]
#: Filters that are refused, alone or with others.
REFUSED = [
    {"key": "TOKEN"},
    {"key": "TOKEN", "project": "shop"},
    {"key": "TOKEN", "environment": "prod"},
    {"key": "not a key", "project": "shop", "environment": "prod"},
    {"project": "absent", "environment": "prod", "key": "TOKEN"},
    {"project": "shop", "environment": "absent", "actor": "root@example.com"},
    {"project": "Not A Slug", "outcome": "denied"},
    {"since": "yesterday", "until": "tomorrow"},
    {"outcome": "maybe"},
    {"show": "everything"},
    {"cursor": "x"},
    {"nonsense": "1", "actor": "root@example.com"},
]


@pytest.fixture
def browser(service, vault):
    vault.set(TOKEN="x")
    return Browser(service)


def links(page):
    """The links of the filters, the questions and the exports."""
    found = page.html.select("main .chips a, main .tools a, main .acts a")
    return {link["href"] for link in found}


def assert_every_link_leads_somewhere(browser, found, known):
    for href in sorted(found - known):
        browser.open(href)
    known |= found


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", range(len(SCOPES)), ids=lambda number: "-".join(SCOPES[number]) or "nowhere"
)
def test_every_link_of_a_page_leads_somewhere(browser, number):
    known = set()
    for others in ((), OTHERS):
        page = browser.open("/audit", params={name: VALUES[name] for name in (*SCOPES[number], *others)})
        assert_every_link_leads_somewhere(browser, links(page), known)


def test_no_combination_of_filters_has_a_url_with_a_key_and_without_its_place():
    for number in range(len(VALUES) + 1):
        for names in combinations(VALUES, number):
            url = AuditUrl({name: VALUES[name] for name in names})
            found = [chip.without for chip in url.chips] + [segment[1] for segment in url.segments(None)]
            for href in (*found, url.download("csv"), url.download("jsonl")):
                asked = parse_qs(urlsplit(href).query)
                assert "key" not in asked or {"project", "environment"} <= asked.keys()
                assert asked.keys() <= {*names, "outcome", "action", "show"}


@pytest.mark.parametrize("query", REFUSED, ids=lambda query: "-".join(query))
def test_every_link_of_a_refused_page_leads_somewhere(browser, query):
    page = browser.get("/audit", params=query, expect_errors=True)
    assert page.status_int in (404, 422)
    assert_every_link_leads_somewhere(browser, links(page), set())


@pytest.mark.parametrize("name", ["project", "environment"])
def test_a_place_that_is_taken_away_takes_the_key_with_it(browser, name):
    asked = {"project": "shop", "environment": "prod", "key": "TOKEN", "actor": "root@example.com"}
    page = browser.open("/audit", params=asked)
    [chip] = [one for one in page.html.select("a.chip.set") if FILTERS[name] in one["aria-label"]]
    page = browser.open(chip["href"])
    left = [one["aria-label"] for one in page.html.select("a.chip.set")]
    assert len(left) == 2
    assert not [one for one in left if "Key" in one or FILTERS[name] in one]


def test_a_key_that_is_taken_away_leaves_its_place(browser, vault: Vault):
    page = browser.open("/audit", params={"project": "shop", "environment": "prod", "key": "TOKEN"})
    [chip] = [one for one in page.html.select("a.chip.set") if "filter Key" in one["aria-label"]]
    assert chip["href"] == "/audit?project=shop&environment=prod"
