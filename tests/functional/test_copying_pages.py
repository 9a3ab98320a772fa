"""Comparing two environments and copying keys from one to the other, by pages without JavaScript."""

from __future__ import annotations

import json

import pytest
from pages import Browser, form_of, press, rows, words
from secrets_client import Vault
from service import ADMIN
from statements import recorded

PROJECT = "/projects/shop"
PROD, DEV = (f"{PROJECT}/environments/{slug}" for slug in ("prod", "dev"))
COMPARE = f"{PROJECT}/compare?from=dev&to=prod"
HIDDEN = "s3cr3t-of-the-house"


@pytest.fixture
def dev(vault) -> Vault:
    return Vault(vault.client, DEV)


@pytest.fixture
def browser(vault, dev, service) -> Browser:
    dev.batch(set={"NEW_A": HIDDEN, "NEW_B": "b", "DIFFERS": "of dev", "EQUAL": "same"})
    vault.batch(set={"DIFFERS": "of prod", "EQUAL": "same", "ONLY_PROD": "x"})
    return Browser(service)


def tick(page, *keys):
    """The form of a page with the boxes of these keys ticked."""
    form = form_of(page, "/copy" if page.request.path == PROJECT else "/copy-review")
    for key in keys:
        form[f"key.{key}"].checked = True
    return form


def follow(answer, browser):
    """Repeats the form at the address that it is sent on to, as browsers do."""
    assert answer.status_int == 307
    return browser.post(answer.location, answer.request.POST.mixed())


def review(browser, *keys):
    """The review of a copy from dev to prod."""
    return tick(browser.open(COMPARE), *keys).submit()


def copy(page, status=303, **fields):
    form = form_of(page, "/copy-apply")
    for name, text in fields.items():
        form[name] = text
    answer = form.submit("existing", status=status)
    return answer.follow() if status == 303 else answer


def test_a_comparison_tells_of_each_key_what_the_sides_have(browser):
    page = browser.open(f"{COMPARE}&show=all")
    assert rows(page) == [
        "NEW_A v1 · just now only in Dev missing",
        "NEW_B v1 · just now only in Dev missing",
        "ONLY_PROD missing only in Prod v1 · just now",
        "DIFFERS v1 · just now differs v1 · just now",
        "EQUAL v1 · just now same v1 · just now",
    ]
    assert HIDDEN not in page.text
    assert words(page, "nav.seg") == ("Not the same 4 Differs 1 Only in Dev 2 Only in Prod 1 Same 1 All 5")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", ["NEW_A", "NEW_B", "ONLY_PROD", "DIFFERS"]),
        ("&show=differs", ["DIFFERS"]),
        ("&show=here", ["NEW_A", "NEW_B"]),
        ("&show=there", ["ONLY_PROD"]),
        ("&show=same", ["EQUAL"]),
        ("&show=unreadable", []),
        ("&keys=DIFFERS,NEW_B", ["NEW_B", "DIFFERS", "NEW_A", "ONLY_PROD"]),
    ],
)
def test_a_filter_of_a_comparison_shows_the_keys_that_it_is_for(browser, query, expected):
    page = browser.open(f"{COMPARE}{query}")
    assert [row.th.text for row in page.html.select("tbody tr")] == expected


@pytest.mark.both_engines
def test_only_what_the_second_lacks_or_has_otherwise_can_be_copied(browser, dev, service):
    page = browser.open(f"{COMPARE}&show=all")
    assert {box["name"] for box in page.html.select(".pick input")} == {
        "key.NEW_A",
        "key.NEW_B",
        "key.DIFFERS",
    }
    service.grant("rita@example.com", "reader", "shop")
    assert not Browser(service, "rita@example.com").open(COMPARE).html.select(".pick input, .dock")
    service.execute("UPDATE secret_version SET envelope = :bad", {"bad": b"damaged"})
    dev.batch(set={"DIFFERS": "readable"})
    page = browser.open(f"{COMPARE}&show=all")
    assert {box["name"] for box in page.html.select(".pick input")} == {"key.DIFFERS"}
    assert "DIFFERS v2 · just now cannot be compared unreadable" in rows(page)


def test_the_two_are_swapped_by_a_link_and_one_is_not_compared_with_itself(browser):
    page = browser.open(COMPARE)
    page = browser.open(page.html.find("a", {"aria-label": "Swap the two environments"})["href"])
    assert [one["value"] for one in page.html.select("select option[selected]")] == ["prod", "dev"]
    page = browser.open(f"{PROJECT}/compare?from=dev&to=dev")
    assert "choose two environments" in words(page)


def test_without_names_staging_is_compared_with_production(browser, admin):
    for slug in ("staging", "production", "newest"):
        admin.post(f"{PROJECT}/environments", {"slug": slug, "name": slug}, 201)
    chosen = "select option[selected]"
    for query, expected in (("", ["staging", "production"]), ("?from=production", ["production", "newest"]),
                            ("?to=staging", ["production", "staging"])):  # fmt: skip
        page = browser.open(f"{PROJECT}/compare{query}")
        assert [one["value"] for one in page.html.select(chosen)] == expected


@pytest.mark.parametrize(("slug", "status"), [("absent", 404), ("dev", 404), ("%00", 422)])
def test_an_environment_that_is_not_in_sight_is_not_found_to_compare(browser, service, slug, status):
    service.grant("rita@example.com", "reader", "shop/prod")
    rita = Browser(service, "rita@example.com")
    for query in (f"from={slug}&to=prod", f"from=prod&to={slug}"):
        rita.open(f"{PROJECT}/compare?{query}", status)


@pytest.mark.both_engines
def test_a_comparison_takes_two_statements_beside_authentication_and_the_shell(browser, service):
    quiet = service.restarted(LAST_SEEN_RESOLUTION="3600000")
    browser = Browser(quiet)
    browser.open(COMPARE)
    with recorded(quiet.engine) as statements:
        browser.open(COMPARE)
    assert len(statements) == 4, statements


def test_three_keys_are_promoted_from_the_matrix_in_five_clicks(browser, vault):
    form = tick(browser.open(f"{PROJECT}?with=prod"), "NEW_A", "NEW_B", "DIFFERS")
    assert (form["from"].value, form["to"].value) == ("dev", "prod")
    page = follow(form.submit(), browser)
    assert page.request.path == f"{PROD}/copy-review"
    assert words(page, "h1") == "Copy 3 keys to Prod"
    assert rows(page) == ["+ NEW_A new v1", "+ NEW_B new v1", "~ DIFFERS new value v1 → v2"]
    assert HIDDEN not in page.text
    page = copy(page)
    assert page.request.path == PROD
    assert "Copied 3 keys from Dev to Prod (revision 2)." in words(page)
    assert [vault.value(key) for key in ("NEW_A", "NEW_B", "DIFFERS")] == [HIDDEN, "b", "of dev"]


def test_a_copy_is_recorded_with_its_reason_on_both_sides(browser, service):
    copy(review(browser, "NEW_A"), reason="OPS-1")
    (row,) = service.audit("secret.copy")
    assert row["reason"] == "OPS-1"
    (row,) = service.audit("secret.export")
    assert json.loads(row["detail"])["keys"] == ["NEW_A"]


def test_a_review_writes_nothing_and_records_nothing(browser, service, vault):
    page = review(browser, "NEW_A")
    assert "Nothing is written yet." in words(page)
    assert "NEW_A" not in vault.listed()
    assert not service.audit("secret.copy") + service.audit("secret.export")


def test_what_is_the_same_already_stays_and_what_the_source_lacks_is_left_out(browser, vault):
    form = tick(browser.open(PROJECT), "NEW_A", "EQUAL", "ONLY_PROD")
    form["from"], form["to"] = "dev", "prod"
    page = follow(form.submit(), browser)
    assert rows(page) == ["+ NEW_A new v1"]
    assert "1 key stays as it is" in words(page)
    assert "1 key is not in Dev, and left out: ONLY_PROD" in words(page)
    copy(page)
    assert vault.value("ONLY_PROD") == "x"


def test_where_nothing_is_left_to_copy_the_review_says_so(browser):
    for keys in (["EQUAL"], ["ONLY_PROD"]):
        form = tick(browser.open(PROJECT), *keys)
        form["from"], form["to"] = "dev", "prod"
        page = follow(form.submit(), browser)
        assert words(page, "h1") == "Nothing to copy"
        assert not page.html.select(".btn.main")


def test_what_is_there_can_be_left_alone(browser, vault):
    page = press(review(browser, "NEW_A", "DIFFERS"), "/copy-apply", "existing", "overwrite", 303)
    assert vault.value("DIFFERS") == "of dev"
    vault.batch(set={"DIFFERS": "of prod"})
    page = review(browser, "NEW_B", "DIFFERS")
    form = form_of(page, "/copy-apply")
    page = browser.post(f"{PROD}/copy-review", dict(form.submit_fields()) | {"existing": "skip"})
    assert rows(page) == ["+ NEW_B new v1"]
    copy(page)
    assert (vault.value("NEW_B"), vault.value("DIFFERS")) == ("b", "of prod")


def test_a_protected_destination_wants_a_reason_and_loses_nothing(browser, admin, vault):
    admin.patch(PROD, {"protected": True})
    page = review(browser, "NEW_A", "DIFFERS")
    assert "Prod is protected." in words(page)
    assert page.html.find(id="reason").has_attr("required")
    page = copy(page, 422, reason=" ")
    assert page.html.find(id="reason")["aria-invalid"] == "true"
    assert rows(page) == ["+ NEW_A new v1", "~ DIFFERS new value v1 → v2"]
    copy(page, reason="OPS-2")
    assert vault.value("NEW_A") == HIDDEN


def test_a_late_change_is_told_and_keeps_the_selection_and_the_reason(browser, vault):
    page = review(browser, "NEW_A", "DIFFERS")
    vault.batch(set={"DIFFERS": "newer"})
    page = copy(page, 412, reason="OPS-3")
    assert words(page, "h1") == f"{ADMIN} changed Prod while you were reviewing"
    assert "You reviewed revision 1; it is at 2 now." in words(page)
    assert rows(page)[1] == f"~ DIFFERS Written by {ADMIN} meanwhile new value v2 → v3"
    assert vault.value("DIFFERS") == "newer"
    assert page.html.find(id="reason").text.strip() == "OPS-3"
    copy(page)
    assert (vault.value("NEW_A"), vault.value("DIFFERS")) == (HIDDEN, "of dev")


def test_what_is_copied_is_what_was_reviewed(browser, dev, vault):
    page = review(browser, "NEW_A")
    dev.batch(set={"NEW_A": "written after the review"})
    copy(page)
    assert vault.value("NEW_A") == HIDDEN


@pytest.mark.parametrize(
    ("fields", "problem"),
    [({"to": "dev"}, "To: Choose another environment"), ({}, "Keys: Select at least one key.")],
)
def test_a_selection_that_cannot_be_copied_is_drawn_again_with_its_ticks(browser, fields, problem):
    form = tick(browser.open(PROJECT), *(["NEW_A"] if fields else []))
    form["from"], form["to"] = "dev", fields.get("to", "prod")
    page = form.submit(status=422)
    assert problem in words(page)
    assert page.html.select_one('[name="key.NEW_A"]').has_attr("checked") == bool(fields)


def test_the_selection_can_be_changed_after_the_review(browser):
    page = review(browser, "NEW_A", "DIFFERS")
    page = browser.open(page.html.find("a", string="Change the selection")["href"])
    ticked = [box["name"] for box in page.html.select(".pick input[checked]")]
    assert ticked == ["key.NEW_A", "key.DIFFERS"]


def test_the_matrix_leads_to_the_comparison_with_its_ticks(browser):
    form = tick(browser.open(PROJECT), "NEW_A", "DIFFERS")
    form["from"], form["to"] = "dev", "prod"
    fields = dict(form.submit_fields())
    page = browser.post(f"{PROJECT}/compare", fields).follow()
    assert "keys=DIFFERS,NEW_A" in page.request.url
    assert len(page.html.select(".pick input[checked]")) == 2
    many = fields | {f"key.{'K' * 250}{number}": "1" for number in range(20)}
    assert "keys=" not in browser.post(f"{PROJECT}/compare", many).location


def test_whoever_may_not_write_there_or_read_here_copies_nothing(browser, service):
    service.grant("wanda@example.com", "writer", "shop/prod")
    service.grant("rita@example.com", "reader", "shop")
    for subject, status in (("wanda@example.com", 404), ("rita@example.com", 403)):
        other = Browser(service, subject)
        token = other.open(PROJECT).html.find("input", {"name": "csrf"})["value"]
        body = {"csrf": token, "from": "dev", "key.NEW_A": "1", "existing": "overwrite"}
        for name in ("copy-review", "copy-apply"):
            other.post(f"{PROD}/{name}", body, status=status)


@pytest.mark.parametrize(
    "done", ["copied", "copied.1.dev", "copied.x.dev.1", "copied.1.absent.1", "copied.%C2%B2.dev.1"]
)
def test_a_notice_that_no_form_of_ours_leads_to_is_not_shown(browser, done):
    assert "Copied" not in words(browser.open(f"{PROD}?done={done}"))
