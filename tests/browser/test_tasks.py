"""What people come for takes few clicks, with scripts and without.

A click is counted, typing is not; each task starts where somebody who has it in mind is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from chromium import Visitor, visit
from playwright.sync_api import Browser, Locator, Page, expect
from sample_data import furnish
from server import served
from service import Service

from secretsvc.kernel.clock import now_ms

SHOP = "/projects/shop"
PROD = f"{SHOP}/environments/prod"
DEV = f"{SHOP}/environments/dev"
DAY_MS = 86_400_000

WITH_AND_WITHOUT = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])


class Hand:
    """Somebody with a mouse, whose clicks are counted."""

    def __init__(self, page: Page) -> None:
        self.page, self.clicks = page, 0

    def click(self, target: Locator) -> None:
        """One click."""
        self.clicks += 1
        target.click()

    def press(self, name: str) -> None:
        """A click on the button or link of a name in the page itself, or in the panel that covers it."""
        panel = self.page.locator("[role=dialog]:not(dialog)")
        inside = panel if panel.count() else self.page.locator("main")
        found = inside.get_by_role("button", name=name).or_(inside.get_by_role("link", name=name))
        self.click(found.filter(visible=True).first)


@pytest.fixture
def shop(browser: Browser, service: Service) -> Iterator[tuple[Visitor, Service, dict[str, str]]]:
    """The administrator's browser before a furnished shop that a test may change."""
    ids = furnish(service)
    with served(service.app) as port, visit(browser, service, port, **ids) as visitor:
        yield visitor, service, ids


def hand(visitor: Visitor, path: str, *, scripts: bool = True) -> Hand:
    return Hand(visitor.page(path, java_script_enabled=scripts, viewport={"width": 1440, "height": 900}))


def grants(service: Service) -> list[dict[str, object]]:
    """Every grant there is."""
    found: list[dict[str, object]] = service.user().get("/grants?limit=100").json["items"]
    return found


@WITH_AND_WITHOUT
def test_a_project_with_two_environments_and_sixty_keys_takes_six_clicks(shop, scripts: bool) -> None:
    visitor, *_ = shop
    one = hand(visitor, "/projects", scripts=scripts)
    one.press("New project")
    one.page.get_by_label("Name", exact=True).fill("Web site")
    one.page.get_by_label("Environments").fill("Staging\nProduction")
    one.press("Create")
    one.page.locator("main textarea").fill("".join(f"KEY_{number}=value {number}\n" for number in range(60)))
    one.press("Review")
    one.press("Apply 60 changes")
    expect(one.page.locator("main [role=status]").first).to_contain_text("60")
    assert one.clicks <= 6


@WITH_AND_WITHOUT
def test_to_edit_five_and_delete_two_takes_nine_clicks(shop, scripts: bool) -> None:
    visitor, service, _ = shop
    keys = [f"EDITED_{number}" for number in range(5)] + ["LEFT_1", "LEFT_2"]
    service.user().post(f"{PROD}/secrets:batch", {"mode": "merge", "set": dict.fromkeys(keys, "old")})
    one = hand(visitor, PROD, scripts=scripts)
    for key in keys[:5]:
        field = one.page.get_by_label(f"Value of {key}", exact=True)
        one.click(field)
        field.fill(f"new {key}")
    for key in keys[5:]:
        one.click(one.page.get_by_label(f"Select {key}", exact=True))
    one.press("Delete")
    one.press("Apply 7 changes")
    expect(one.page.locator("main [role=status]").first).to_contain_text("7 changes")
    assert one.clicks <= 9
    assert service.user().get(f"{PROD}/secrets/EDITED_3").json["value"] == "new EDITED_3"
    service.user().get(f"{PROD}/secrets/LEFT_1", status=404)


@WITH_AND_WITHOUT
def test_to_promote_three_keys_takes_five_clicks(shop, scripts: bool) -> None:
    visitor, service, _ = shop
    values = {f"PROMOTED_{number}": "value" for number in range(3)}
    service.user().post(f"{DEV}/secrets:batch", {"mode": "merge", "set": values})
    one = hand(visitor, f"{SHOP}/compare?from=dev&to=prod", scripts=scripts)
    for key in values:
        one.click(one.page.get_by_label(f"Select {key}", exact=True))
    one.press("Copy")
    one.press("Copy 3 keys")
    expect(one.page.locator("main [role=status]").first).to_contain_text("3 keys")
    assert one.clicks <= 5
    assert service.user().get(f"{PROD}/secrets/PROMOTED_1").json["value"] == "value"


@WITH_AND_WITHOUT
def test_to_roll_one_back_takes_two_clicks(shop, scripts: bool) -> None:
    visitor, service, _ = shop
    one = hand(visitor, f"{PROD}/secrets/API_KEY", scripts=scripts)
    one.press("Roll back")
    if one.page.get_by_role("button", name="Roll back").count():
        one.press("Roll back")
    expect(one.page.locator("main [role=status]").first).to_contain_text("Rolled back API_KEY")
    assert one.clicks <= 2
    assert service.user().get(f"{PROD}/secrets/API_KEY").json["value"] == "one"


@WITH_AND_WITHOUT
def test_to_undo_a_deletion_takes_one_click(shop, scripts: bool) -> None:
    visitor, service, _ = shop
    one = hand(visitor, f"{PROD}/deleted", scripts=scripts)
    one.click(one.page.get_by_role("row", name=re.compile("GONE")).get_by_role("button"))
    expect(one.page.locator("main [role=status]").first).to_contain_text("GONE")
    assert one.clicks == 1
    assert service.user().get(f"{PROD}/secrets/GONE").json["value"] == "three"


@WITH_AND_WITHOUT
def test_to_extend_a_grant_by_a_week_takes_two_clicks(shop, scripts: bool) -> None:
    visitor, service, _ = shop
    ends = now_ms() + 2 * DAY_MS
    service.grant("ends@example.com", "writer", "shop/prod", expires_at=ends)
    one = hand(visitor, f"{PROD}/access", scripts=scripts)
    holder = one.page.get_by_role("row", name=re.compile("ends@example.com")).first
    one.click(holder.locator("summary"))
    one.press("Extend by a week")
    expect(one.page.locator("main [role=status]").first).to_be_visible()
    assert one.clicks <= 2
    assert ends + 7 * DAY_MS in [grant["expires_at"] for grant in grants(service)]


@WITH_AND_WITHOUT
def test_who_read_a_key_last_week_takes_two_clicks(shop, scripts: bool) -> None:
    visitor, service, _ = shop
    service.user("rita@example.com").get(f"{PROD}/secrets/API_KEY")
    one = hand(visitor, PROD, scripts=scripts)
    one.click(one.page.get_by_role("link", name="API_KEY", exact=True))
    reads = (
        one.page.locator("main section").filter(has=one.page.get_by_role("heading", name="Read lately")).first
    )
    expect(reads).to_contain_text("rita@example.com")
    assert one.clicks <= 2


@WITH_AND_WITHOUT
def test_why_somebody_cannot_write_takes_two_clicks(shop, scripts: bool) -> None:
    visitor, service, _ = shop
    service.grant("reads@example.com", "reader", "shop/prod")
    one = hand(visitor, f"{PROD}/access", scripts=scripts)
    holder = one.page.get_by_role("row", name=re.compile("reads@example.com")).first
    one.click(holder.locator("summary"))
    one.press("Why")
    expect(one.page.locator("#why")).to_contain_text("No grant lets reads@example.com write in Prod.")
    assert one.clicks <= 2


@WITH_AND_WITHOUT
def test_to_share_with_a_group_takes_four_clicks(shop, scripts: bool) -> None:
    visitor, service, _ = shop
    support = service.group("support", "sam@example.com")
    one = hand(visitor, f"{PROD}/access", scripts=scripts)
    one.press("Give access")
    one.page.get_by_label("Who", exact=True).fill("support")
    one.click(one.page.get_by_role("radio", name="Reader"))
    one.press("Give access")
    expect(one.page.locator("main [role=status]").first).to_be_visible()
    assert one.clicks <= 4
    assert [grant["role"] for grant in grants(service) if grant["group_id"] == str(support)] == ["reader"]
