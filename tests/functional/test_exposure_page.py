"""The page "What X has seen": it says of the whole only what it has looked at (contract 5.11)."""

from __future__ import annotations

import pytest
from pages import Browser, words
from secrets_client import Vault
from service import arrange

from secretsvc.exposure import ui

ADA = "ada@example.com"
WHOLE = ("No value has been seen", "Nothing of it is in force any more")


@pytest.fixture
def prod(service):
    """Root's vault of an environment that Ada reads."""
    vault = Vault(arrange(service, "shop", "prod"))
    service.grant(ADA, "reader", "shop")
    service.user(ADA).get("/whoami")
    return vault


def path_of(service):
    return f"/identities/{service.identity_id(ADA)}/exposure"


def counts(page):
    """The filters with their numbers, None without one."""
    return {one.find(string=True).strip(): one.b and one.b.text for one in page.html.select("nav.seg a")}


def test_of_one_page_it_tells_the_whole(service, prod):
    browser = Browser(service)
    assert "No value has been seen." in words(browser.open(path_of(service)))
    prod.set(A="1", B="1")
    Vault(service.user(ADA)).values()
    page = browser.open(path_of(service))
    assert "2 values are still in force." in words(page)
    assert counts(page) == {"Still in force": "2", "All": "2"}
    prod.set(A="2", B="2")
    page = browser.open(path_of(service))
    assert "Nothing of it is in force any more." in words(page)
    assert "No value that is still in force has been seen." in words(page)
    assert counts(page) == {"Still in force": "0", "All": "2"}


def test_of_one_of_several_pages_it_tells_that_page_alone(service, prod, monkeypatch):
    monkeypatch.setattr(ui, "LIMIT", "2")
    prod.set(A="1", B="1", C="1", D="1", E="1")
    Vault(service.user(ADA)).values()
    prod.set(A="2", B="2", C="2")
    prod.batch(delete=["E"])
    first = Browser(service).open(path_of(service))
    assert not any(claim in words(first) for claim in WHOLE)
    assert "Nothing on this page is in force any more." in words(first)
    assert "More values follow." in words(first)
    assert counts(first) == {"Still in force": None, "All": None}
    second = first.click("More values")
    assert "1 value on this page is still in force." in words(second)
    last = second.click("More values")
    assert not any(claim in words(last) for claim in WHOLE)
    assert "Nothing on this page is in force any more." in words(last)
    assert "More values" not in words(last)
    beyond = Browser(service).open(f"{path_of(service)}?cursor=shop/prod/Z/1")
    assert not any(claim in words(beyond) for claim in WHOLE)
    assert "No more values." in words(beyond)


@pytest.mark.slow
def test_values_in_force_behind_environments_without_any_are_on_the_first_page(service, prod):
    root = service.user()
    prod.set(OTHER="1", A="1")
    taken = {"from": {"project": "shop", "environment": "prod"}, "keys": ["OTHER"]}
    for number in range(21):
        root.post("/projects/shop/environments", {"slug": f"a{number:02}", "name": "A"}, 201)
        Vault(root, f"/projects/shop/environments/a{number:02}").post("copy", taken)
    Vault(service.user(ADA)).get("secrets/A")
    page = Browser(service).open(path_of(service))
    assert "1 value is still in force." in words(page)
    assert "More values" not in words(page)
