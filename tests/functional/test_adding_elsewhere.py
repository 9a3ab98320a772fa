"""New keys of a review go to other environments, too, each after a review of its own."""

from __future__ import annotations

import pytest
from pages import Browser, form_of, rows, words
from vault import Vault

ENVIRONMENTS = "/projects/shop/environments"
PROD = f"{ENVIRONMENTS}/prod"


@pytest.fixture
def places(vault, admin) -> dict[str, Vault]:
    """The project's other environments, of which one has a key that is new in the first."""
    for slug in ("staging", "preview"):
        admin.post(ENVIRONMENTS, {"slug": slug, "name": slug.title()}, status=201)
    found = {slug: Vault(admin, f"{ENVIRONMENTS}/{slug}") for slug in ("dev", "staging", "preview")}
    found["staging"].batch(set={"NEW": "of staging"})
    return found


@pytest.fixture
def browser(places, service) -> Browser:
    return Browser(service)


def review(browser):
    """The review of two new keys and one that is there."""
    form = browser.open(PROD).forms["edits"]
    for number, key in enumerate(("NEW", "OTHER"), 1):
        form[f"new.{number}.key"], form[f"new.{number}.value"] = key, f"value of {key}"
    return form.submit()


def apply(browser, page, action="/edit-apply", *, reason=None, status=307, also=()):
    """Sends a review; what it leads on to is sent there again, as browsers do."""
    form = form_of(page, action)
    for slug in also:
        form[f"also.{slug}"].checked = True
    if reason:
        form["reason"] = reason
    answer = form.submit("existing" if action == "/copy-apply" else None, status=status)
    if status == 303:
        return answer.follow()
    assert "value" not in answer.location
    return browser.post(answer.location, answer.request.POST.mixed())


def boxes(page):
    return [words(page, f"label:has([name='{box['name']}']) b") for box in page.html.select(".choice input")]


def test_a_review_offers_to_add_new_keys_to_the_three_environments_that_lack_most(browser, admin, vault):
    first, second, third = (
        "Also add 2 new keys to Dev",
        "Also add 2 new keys to Preview",
        "Also add 1 new key to Staging",
    )
    assert boxes(review(browser)) == [first, second, third]
    admin.post(ENVIRONMENTS, {"slug": "a", "name": "A"}, status=201)
    assert boxes(review(browser)) == [first, second, "Also add 2 new keys to A"]
    vault.set(OLD="x")
    form = browser.open(PROD).forms["edits"]
    form["value.OLD"] = "another"
    assert boxes(form.submit()) == []


def test_it_offers_only_what_the_caller_may_write_to(browser, service):
    service.grant("wendy@example.com", "reader", "shop")
    for slug in ("prod", "staging"):
        service.grant("wendy@example.com", "writer", f"shop/{slug}")
    assert boxes(review(Browser(service, "wendy@example.com"))) == ["Also add 1 new key to Staging"]


def test_each_place_is_reviewed_by_itself_and_what_is_there_stays(browser, places, vault):
    page = apply(browser, review(browser), also=("staging", "dev"), reason="because")
    assert vault.value("NEW") == "value of NEW"
    assert "Prod is saved." in words(page)
    assert page.html.h1.text.strip() == "Copy 2 keys to Dev"
    assert rows(page) == ["+ NEW new v1", "+ OTHER new v1"]
    assert form_of(page, "/copy-apply")["reason"].value == "because"
    assert "NEW" not in places["dev"].values()
    page = apply(browser, page, "/copy-apply")
    assert places["dev"].values() == {"NEW": "value of NEW", "OTHER": "value of OTHER"}
    assert page.html.h1.text.strip() == "Copy 1 key to Staging"
    page = apply(browser, page, "/copy-apply", status=303)
    assert "Copied 1 key from Prod to Staging (revision 2)." in words(page)
    assert places["staging"].values() == {"NEW": "of staging", "OTHER": "value of OTHER"}
    assert not places["preview"].values()


def test_a_protected_place_asks_for_a_reason_in_its_review(browser, admin, places):
    admin.patch(f"{ENVIRONMENTS}/dev", {"protected": True}, status=200)
    page = apply(browser, review(browser), also=("dev", "preview"))
    page = form_of(page, "/copy-apply").submit("existing", status=422)
    assert "reason" in words(page).lower()
    page = apply(browser, page, "/copy-apply", reason="wanted")
    assert places["dev"].values().keys() == {"NEW", "OTHER"}
    assert page.html.h1.text.strip() == "Copy 2 keys to Preview"


def test_the_choice_outlasts_a_reveal_and_a_conflict(browser, vault):
    form = form_of(review(browser), "/edit-apply")
    form["also.dev"].checked = True
    page = browser.post(f"{PROD}/edit-reveal", {**dict(form.submit_fields()), "reveal": "NEW"})
    assert form_of(page, "/edit-apply")["also.dev"].checked
    vault.set(API_KEY="theirs")
    page = form_of(page, "/edit-apply").submit(status=412)
    page = browser.post(f"{PROD}/edit-review", dict(form_of(page, "/edit-again").submit_fields()))
    assert form_of(page, "/edit-apply")["also.dev"].checked
    assert not form_of(page, "/edit-apply")["also.preview"].checked


def test_nothing_is_added_where_the_write_was_refused(browser, vault, places):
    page = review(browser)
    form = form_of(page, "/edit-apply")
    form["also.dev"].checked = True
    vault.set(API_KEY="theirs")
    form.submit(status=412)
    assert not places["dev"].values()
