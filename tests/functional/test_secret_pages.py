"""The pages of secrets without JavaScript: the matrix, the editor, a single secret."""

from __future__ import annotations

import json

import pytest
from pages import Browser
from statements import recorded

from secretsvc.secrets.formats.imports import read_env

PROD = "/projects/shop/environments/prod"
HIDDEN = "s3cr3t-of-the-house"


@pytest.fixture
def browser(vault, service) -> Browser:
    vault.batch(set={"API_KEY": HIDDEN, "DB_URL": "x" * 40}, descriptions={"API_KEY": "For <b>all</b>"})
    return Browser(service)


@pytest.fixture
def reader(browser, service) -> Browser:
    service.grant("rita@example.com", "reader", "shop/prod")
    return Browser(service, "rita@example.com")


def test_no_page_holds_a_value_before_it_is_asked_for(browser):
    for path in ("/projects/shop", PROD, f"{PROD}/secrets/API_KEY", f"{PROD}/text", f"{PROD}/import"):
        page = browser.open(path)
        assert HIDDEN not in page.text
        assert "no-store" in page.headers["Cache-Control"]


@pytest.mark.parametrize(("format", "read"), [("env", read_env), ("json", json.loads)])
def test_an_export_is_a_file_and_a_record(reader, service, format, read):
    answer = reader.open(PROD).forms["export"].submit("format", value=format)
    assert read(answer.text) == {"API_KEY": HIDDEN, "DB_URL": "x" * 40}
    assert answer.headers["Content-Disposition"] == f'attachment; filename="shop-prod.{format}"'
    assert "no-store" in answer.headers["Cache-Control"]
    assert [row["reason"] for row in service.audit("secret.export")] == ["export"]


def test_a_page_of_one_environment_opens_under_its_alias_and_leads_on_canonically(browser):
    page = browser.open("/p/shop/e/prod")
    assert page.html.select_one("#old .key")["href"] == f"{PROD}/secrets/API_KEY"


@pytest.mark.both_engines
@pytest.mark.parametrize("count", [1, 300])
def test_pages_take_as_many_statements_for_many_secrets_as_for_one(make_service, service, vault, count):
    quiet = service.restarted(LAST_SEEN_RESOLUTION="3600000")
    vault.batch(set={f"K{number}": "x" for number in range(count)})
    browser = Browser(quiet)
    for path, most in ((PROD, 5), ("/projects/shop", 5)):
        browser.open(path)
        with recorded(quiet.engine) as statements:
            browser.open(path)
        assert len(statements) <= most, statements
