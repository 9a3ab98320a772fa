"""New keys of a review go to other environments, too, each after a review of its own."""

from __future__ import annotations

import pytest
from pages import Browser, form_of, rows, words
from secrets_client import Vault

ENVIRONMENTS = "/projects/shop/environments"
PROD = f"{ENVIRONMENTS}/prod"


@pytest.fixture
def vaults(vault, admin) -> dict[str, Vault]:
    """The project's other environments, of which one has a key that is new in the first."""
    for slug in ("staging", "preview"):
        admin.post(ENVIRONMENTS, {"slug": slug, "name": slug.title()}, status=201)
    found = {slug: Vault(admin, f"{ENVIRONMENTS}/{slug}") for slug in ("dev", "staging", "preview")}
    found["staging"].batch(set={"NEW": "of staging"})
    return found


@pytest.fixture
def browser(vaults, service) -> Browser:
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


@pytest.mark.both_engines
def test_it_offers_only_what_the_caller_may_write_to(browser, service):
    service.grant("wendy@example.com", "reader", "shop")
    for slug in ("prod", "staging"):
        service.grant("wendy@example.com", "writer", f"shop/{slug}")
    assert boxes(review(Browser(service, "wendy@example.com"))) == ["Also add 1 new key to Staging"]


def test_each_environment_is_reviewed_by_itself_and_what_is_there_stays(browser, vaults, vault):
    page = apply(browser, review(browser), also=("staging", "dev"), reason="because")
    assert vault.value("NEW") == "value of NEW"
    assert "Prod is saved." in words(page)
    assert page.html.h1.text.strip() == "Copy 2 keys to Dev"
    assert rows(page) == ["+ NEW new v1", "+ OTHER new v1"]
    assert form_of(page, "/copy-apply")["reason"].value == "because"
    assert "NEW" not in vaults["dev"].values()
    page = apply(browser, page, "/copy-apply")
    assert vaults["dev"].values() == {"NEW": "value of NEW", "OTHER": "value of OTHER"}
    assert page.html.h1.text.strip() == "Copy 1 key to Staging"
    page = apply(browser, page, "/copy-apply", status=303)
    assert "Copied 1 key from Prod to Staging (revision 2)." in words(page)
    assert vaults["staging"].values() == {"NEW": "of staging", "OTHER": "value of OTHER"}
    assert not vaults["preview"].values()


def test_a_protected_environment_asks_for_a_reason_in_its_review(browser, admin, vaults):
    admin.patch(f"{ENVIRONMENTS}/dev", {"protected": True}, status=200)
    page = apply(browser, review(browser), also=("dev", "preview"))
    page = form_of(page, "/copy-apply").submit("existing", status=422)
    assert "reason" in words(page).lower()
    page = apply(browser, page, "/copy-apply", reason="wanted")
    assert vaults["dev"].values().keys() == {"NEW", "OTHER"}
    assert page.html.h1.text.strip() == "Copy 2 keys to Preview"


def test_the_choice_outlasts_a_reveal_and_a_conflict(browser, vault):
    form = form_of(review(browser), "/edit-apply")
    form["also.dev"].checked = True
    page = browser.post(f"{PROD}/edit-reveal", {**dict(form.submit_fields()), "reveal": "NEW"})
    assert form_of(page, "/edit-apply")["also.dev"].checked
    vault.set(API_KEY="theirs")
    page = form_of(page, "/edit-apply").submit(status=412)
    page = browser.post(f"{PROD}/edit-review", dict(form_of(page, "/edit-back").submit_fields()))
    assert form_of(page, "/edit-apply")["also.dev"].checked
    assert not form_of(page, "/edit-apply")["also.preview"].checked


def test_nothing_is_added_where_the_write_was_refused(browser, vault, vaults):
    page = review(browser)
    form = form_of(page, "/edit-apply")
    form["also.dev"].checked = True
    vault.set(API_KEY="theirs")
    form.submit(status=412)
    assert not vaults["dev"].values()


def sent_again(browser, page, action, **also):
    """The answer to a form that was sent twice, as by a double click without scripts: the second one's."""
    form = form_of(page, action)
    for slug in also:
        form[f"also.{slug}"].checked = True
    button = "existing" if action == "/copy-apply" else None
    for _ in range(2):
        answer = form.submit(button, status="*")
    return answer


@pytest.mark.both_engines
def test_an_environment_that_has_the_keys_meanwhile_is_passed_over_for_the_next(browser, vaults):
    page = apply_but(browser, vaults, also=("dev", "preview"))
    assert page.html.h1.text.strip() == "Copy 2 keys to Preview"
    page = apply(browser, page, "/copy-apply", status=303)
    assert "Copied 2 keys from Prod to Preview (revision 1)." in words(page)


def apply_but(browser, vaults, also):
    """The review that follows where somebody else adds the keys to the first environment meanwhile."""
    page = review(browser)
    vaults["dev"].batch(set={"NEW": "theirs", "OTHER": "theirs"})
    form = form_of(page, "/edit-apply")
    for slug in also:
        form[f"also.{slug}"].checked = True
    answer = form.submit(status=307)
    while answer.status_int == 307:
        answer = browser.post(answer.location, form.submit_fields(), status="*")
    return answer


@pytest.mark.both_engines
def test_where_the_last_environment_has_the_keys_meanwhile_its_review_says_so(browser, vaults):
    page = apply_but(browser, vaults, also=("dev",))
    assert page.html.h1.text.strip() == "Nothing to copy"
    assert "Prod is saved. Dev has its new keys already." in words(page)


def test_a_double_click_on_apply_leads_on_to_the_places_that_were_ticked(browser, vault):
    page = review(browser)
    answer = sent_again(browser, page, "/edit-apply", dev=True)
    assert answer.location.endswith("/dev/copy-review")
    assert vault.listed()["NEW"]["version"] == 1


def test_a_double_click_on_copy_leads_on_and_ends_where_it_was_the_last(browser, vaults):
    page = apply(browser, review(browser), also=("dev", "preview"))
    answer = sent_again(browser, page, "/copy-apply")
    assert answer.location.endswith("/preview/copy-review")
    page = browser.post(answer.location, answer.request.POST.mixed())
    answer = sent_again(browser, page, "/copy-apply")
    assert answer.status_int == 303
    assert "No changes to save." in words(answer.follow())
    assert vaults["preview"].values() == {"NEW": "value of NEW", "OTHER": "value of OTHER"}


def test_what_is_there_is_never_replaced_in_a_review_that_leads_on(browser, vaults):
    page = apply(browser, review(browser), also=("staging", "preview"))
    page = apply(browser, page, "/copy-apply")
    assert page.html.h1.text.strip() == "Copy 1 key to Staging"
    assert [one["value"] for one in page.html.select("button[name=existing]")] == ["skip"]


def reviewed_import(browser, content):
    """The form of the review of a text that is imported."""
    form = form_of(browser.open(f"{PROD}/import"), "/import-review")
    form["content"] = content
    return form_of(form.submit(), "/import-apply")


@pytest.mark.slow
def test_however_many_keys_are_new_one_field_has_them(browser, vaults):
    form = reviewed_import(browser, "".join(f"KEY_{number}=x\n" for number in range(300)))
    assert len(form.fields) < 20
    form["also.dev"].checked = True
    answer = form.submit(status=307)
    fields = answer.request.POST.mixed()
    page = browser.post(answer.location, fields, content_type="multipart/form-data")
    apply(browser, page, "/copy-apply", status=303)
    assert len(vaults["dev"].values()) == 300


@pytest.mark.slow
def test_what_fits_as_a_file_fits_in_its_review_which_offers_no_more_than_does(vaults, make_service):
    browser = Browser(make_service(BODY_MAX_BYTES="20000"))
    # Urlencoded it would be three times as long.
    form = reviewed_import(browser, "".join(f"KEY_{number}='{'ä' * 20}'\n" for number in range(250)))
    assert not any(name and name.startswith("also.") for name in form.fields)
    assert "Saved 250 changes" in words(form.submit(status=303).follow())
    assert "also.dev" in reviewed_import(browser, "OTHER=x").fields
