"""The pages of grants and of who asked in vain, without JavaScript."""

from __future__ import annotations

import pytest
from pages import Browser, submit


@pytest.fixture
def browser(admin, service) -> Browser:
    return Browser(service)


def test_smoke(browser, service):
    service.grant("ada@example.com", "reader", "shop/prod")
    team = service.group("team", "ada@example.com")
    service.grant(team, "writer", "shop", group=True, expires_at=5)
    ada = service.identity_id("ada@example.com")
    for path in ("/whoami", "/identities", f"/identities/{ada}", "/groups", f"/groups/{team}", "/grants", "/access/unknown-identities", "/projects/shop/access", "/projects/shop/environments/prod/access"):
        page = browser.open(path)
        print(path, page.html.find("main").get_text(" ", strip=True))
        pass
    print(browser.open("/groups").html.find(id="name"))
    assert 0
