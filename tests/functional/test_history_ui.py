"""The history of an environment: its revisions, what differs between two, the way back, and deleted keys."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pages import Browser, form_of, rows, submit, words
from secrets_client import Vault, records, state, tamper
from statements import recorded

from secretsvc.secrets.queries import revision_changes
from secretsvc.secrets.ui.history import month

PROD = "/projects/shop/environments/prod"
PAGE = f"{PROD}/history"
HIDDEN = "s3cr3t-of-the-house"


@pytest.fixture
def browser(vault, service) -> Browser:
    vault.batch(set={"A": f"{HIDDEN}-1", "B": "b", "C": "c"}, reason="the first")
    vault.batch(set={"A": f"{HIDDEN}-2", "D": "d"}, delete=["B"])
    vault.rollback("A", 1, reason="it broke")
    return Browser(service)


def listed(page):
    return [" ".join(one.get_text(" ").split()) for one in page.html.select(".rev")]


def test_revisions_are_told_as_sentences_with_what_they_changed(browser):
    assert listed(browser.open(PAGE)) == [
        "3 root@example.com rolled back A it broke just now · current ~1",
        "2 root@example.com added 1 key, changed 1, deleted 1 just now +1 ~1 −1",
        "1 root@example.com added 3 keys the first just now +3",
    ]


@pytest.mark.parametrize(
    ("then", "told"),
    [((2026, 6, 30), "June"), ((2026, 12, 1), "December"), ((2025, 12, 31), "December 2025")],
)
def test_the_first_revision_is_told_by_its_month_with_the_year_if_that_is_over(then, told):
    began, now = (int(datetime(*day, tzinfo=UTC).timestamp() * 1000) for day in (then, (2026, 12, 31)))
    assert month(began, now) == told


def test_the_page_says_since_when_there_are_revisions(browser):
    about = browser.open(PAGE).html.select_one(".head p")
    assert about.time.text == f"{datetime.fromisoformat(about.time['datetime']):%B}"
    assert " ".join(about.text.split()).startswith(f"3 revisions since {about.time.text}.")


def test_each_kind_of_write_has_its_verb(browser, vault, admin):
    dev = Vault(admin, "/projects/shop/environments/dev")
    dev.set(X="x", Y="y")
    vault.load("I=1\nJ=2\n")
    vault.post("copy", {"from": {"project": "shop", "environment": "dev"}})
    vault.rename("X", "Z")
    submit(browser.open(f"{PROD}/secrets/Z?describe"), "Z/describe", description="new")
    vault.post("restore", {"to_rev": 1})
    told = [one.partition("root@example.com ")[2].partition(" just")[0] for one in listed(browser.open(PAGE))]
    assert told[:5] == [
        "went back to an older revision, 6 keys",
        "changed descriptions",
        "renamed X",
        "copied 2 keys",
        "imported 2 keys",
    ]


def test_a_step_far_from_the_revisions_beside_it_is_told_whatever_was_written_in_between(
    browser, vault, monkeypatch
):
    for number in range(30):
        vault.set(A=str(number))
    monkeypatch.setattr(revision_changes, "MAX_CHANGES", 25)
    page = browser.open(f"{PAGE}?rev=2&with=1")
    assert rows(page) == ["+ D added in 2 v1", "~ A changed in 2 v1 → v2", "− B deleted in 2 v1"]
    assert len(listed(page)) == 20
    assert "More was written in between" in words(browser.open(f"{PAGE}?rev=2"))


def test_what_differs_since_a_revision_is_told_without_values(browser, service):
    page = browser.open(f"{PAGE}?rev=1")
    assert words(page, "#df") == "From revision 1 to now (3)"
    assert rows(page) == ["+ D added in 2 v1", "~ A changed in 2 and 3 v1 → v3", "− B deleted in 2 v1"]
    assert page.html.select_one(".rev[aria-current]").text.startswith("1")
    assert HIDDEN not in page.text
    assert {row["action"] for row in records(service)} == {"secret.batch", "secret.rollback"}


def test_the_newest_revision_shows_its_own_step_and_two_others_what_lies_between(browser):
    for query, chosen, card in (("", "2", 1), ("?rev=3", "3", 0)):
        page = browser.open(PAGE + query)
        assert words(page, "#df") == "From revision 2 to now (3)"
        assert rows(page) == ["~ A changed in 3 v2 → v3"]
        assert words(page, ".rev[aria-current]").startswith(chosen)
        assert len(page.html.select("form.card")) == card
    form = next(one for one in browser.open(f"{PAGE}?rev=2").forms.values() if "with" in one.fields)
    form["with"] = "1"
    page = form.submit()
    assert words(page, "#df") == "From revision 1 to 2"
    assert rows(page) == ["+ D added in 2 v1", "~ A changed in 2 v1 → v2", "− B deleted in 2 v1"]
    assert rows(browser.open(f"{PAGE}?rev=0&with=1")) == [
        "+ A added in 1 v1",
        "+ B added in 1 v1",
        "+ C added in 1 v1",
    ]


def test_what_came_and_went_in_between_is_no_difference(browser, vault):
    vault.set(E="e")
    vault.batch(delete=["E"])
    page = browser.open(f"{PAGE}?rev=3")
    assert "No key or value differs" in words(page)
    assert "Nothing is written yet" in words(page)


@pytest.mark.parametrize(("query", "status"), [("rev=4", 404), ("rev=1&with=4", 404), ("rev=x", 422)])
def test_a_revision_that_is_not_there_has_no_page(browser, query, status):
    browser.open(f"{PAGE}?{query}", status)
    browser.open(f"{PROD}/restore?rev=4", 404)


@pytest.mark.both_engines
def test_an_environment_without_revisions_says_so(admin, service):
    assert "Nothing was ever written here." in words(Browser(service).open(PAGE))


@pytest.mark.slow
def test_a_long_history_stands_on_several_pages(browser, vault):
    for number in range(22):
        vault.set(A=str(number))
    page = browser.open(PAGE)
    assert [len(listed(page)), listed(page)[-1].split()[0]] == [20, "6"]
    page = page.click("Older revisions")
    assert [one.split()[0] for one in listed(page)] == ["5", "4", "3", "2", "1"]
    assert "Older revisions" not in words(page)
    # A revision of an older page is compared with now all the same.
    page = page.click("added 3 keys")
    assert rows(page)[1] == "~ A changed in 24 revisions, last 25 v1 → v25"


def test_a_restore_is_a_dry_run_first_and_says_what_it_did(browser, vault, service):
    page = browser.open(f"{PAGE}?rev=1")
    before = state(service), service.audit()
    page = form_of(page, "/restore").submit()
    # A has its old value already.
    assert rows(page) == ["+ B comes back v3", "− D deleted, can be rolled back v1"]
    assert (state(service), service.audit()) == before
    assert "Restore 2 keys" in words(page)
    page = submit(page, "/restore", reason="all was well")
    assert words(page, "[role=status]") == "Restored Prod to revision 1 (now revision 4)."
    assert vault.values() == {"A": f"{HIDDEN}-1", "B": "b", "C": "c"}
    assert service.audit("secret.restore")[0]["reason"] == "all was well"
    # What is said holds no longer than what it tells of.
    vault.set(A="later")
    assert "Restored Prod" not in words(browser.open(page.request.path_qs))


def test_a_restore_that_changes_nothing_is_not_offered(browser, vault):
    vault.set(C="other")
    vault.rollback("C", 1)
    page = browser.open(f"{PROD}/restore?rev=3")
    assert "There is nothing to restore." in words(page)
    assert not [form for form in page.forms.values() if form.method == "POST"]


def test_a_stale_restore_is_told_and_reviewed_anew(browser, vault):
    page = browser.open(f"{PROD}/restore?rev=1")
    vault.set(C="other")
    page = submit(page, "/restore", 412, reason="why")
    assert "not at the expected revision" in words(page, "[role=alert]")
    assert rows(page)[1] == "~ C gets its old value v2 → v3"
    assert form_of(page, "/restore")["reason"].value == "why"
    submit(page, "/restore")
    assert vault.value("C") == "c"


def test_a_restore_that_is_sent_twice_restores_once(browser, vault):
    page = browser.open(f"{PROD}/restore?rev=1")
    submit(page, "/restore")
    rev = vault.rev
    page = submit(page, "/restore")
    assert page.request.path == f"{PROD}/history"
    assert "No changes to save." in words(page, "[role=status]")
    assert vault.rev == rev


def test_a_restore_of_what_cannot_be_read_says_so_and_offers_nothing(browser, service):
    tamper(service, "B")
    page = browser.open(f"{PROD}/restore?rev=1")
    assert "Prod cannot be restored to revision 1." in words(page, "[role=alert]")
    assert not [form for form in page.forms.values() if form.method == "POST"]


def test_a_protected_environment_asks_for_a_reason_to_restore(browser, vault):
    vault.client.patch(PROD, {"protected": True})
    page = browser.open(f"{PROD}/restore?rev=1")
    assert page.html.find(id="reason").has_attr("required")
    page = submit(page, "/restore", 422)
    assert "Required: the environment is protected." in words(page)
    submit(page, "/restore", reason="why")
    assert vault.rev == 4


def test_a_deleted_key_is_brought_back_with_one_click(browser, vault):
    page = browser.open(f"{PROD}/deleted")
    assert rows(page) == ["B just now root@example.com 1 Undo"]
    page = undo(page, "B").follow()
    assert words(page, "[role=status]") == "Rolled back B to version 1 (now version 3)."
    assert vault.value("B") == "b"
    assert "No key of Prod is deleted." in words(browser.open(f"{PROD}/deleted"))


def undo(page, key, **fields):
    """Presses the button of a row."""
    (button,) = page.html.select(f"button[formaction$='/{key}/rollback']")
    form = next(one for one in page.forms.values() if "to_version" in one.fields)
    for name, text in fields.items():
        form[name] = text
    sent = dict(form.submit_fields()) | {"to_version": button["value"]}
    return page.test_app.post(button["formaction"], sent)


@pytest.mark.both_engines
def test_in_a_protected_environment_a_deleted_key_comes_back_with_a_reason(browser, vault, service):
    vault.client.patch(PROD, {"protected": True})
    undo(browser.open(f"{PROD}/deleted"), "B", reason="needed after all")
    assert vault.value("B") == "b"
    assert service.audit("secret.rollback")[-1]["reason"] == "needed after all"


def test_many_deleted_keys_stand_on_several_pages(browser, vault):
    keys = [f"K{number:03}" for number in range(60)]
    vault.batch(set=dict.fromkeys(keys, "x"))
    vault.batch(delete=keys, reason="spring cleaning")
    page = browser.open(f"{PROD}/deleted")
    assert len(rows(page)) == 50
    assert "spring cleaning" in rows(page)[-1]
    assert [row.split()[0] for row in rows(page.click("More deleted keys"))] == keys[49:]


def test_a_reader_sees_the_history_and_changes_nothing(browser, service):
    service.grant("rita@example.com", "reader", "shop/prod")
    reader = Browser(service, "rita@example.com")
    assert "Restore" not in words(reader.open(f"{PAGE}?rev=1"))
    assert "Undo" not in rows(reader.open(f"{PROD}/deleted"))[0]
    reader.open(f"{PROD}/restore?rev=1", 403)
    Browser(service, "nobody@example.com").open(PAGE, 404)


@pytest.mark.both_engines
@pytest.mark.parametrize("count", [1, 300])
def test_the_pages_take_as_many_statements_for_many_keys_as_for_one(make_service, service, vault, count):
    quiet = service.restarted(LAST_SEEN_RESOLUTION="3600000")
    vault.batch(set={f"K{number}": "x" for number in range(count)})
    vault.batch(set={f"K{number}": "y" for number in range(count)})
    vault.batch(delete=["K0"])
    browser = Browser(quiet)
    for path, most in (("history", 4), ("history?rev=1", 4), ("deleted", 4), ("restore?rev=1", 7)):
        browser.open(f"{PROD}/{path}")
        with recorded(quiet.engine) as statements:
            browser.open(f"{PROD}/{path}")
        assert len(statements) <= most, statements
