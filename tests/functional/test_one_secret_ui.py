"""What is done on the page of one secret: nothing is lost, each step is told and undone in a click or two."""

from __future__ import annotations

import pytest
from pages import Browser, form_of, submit, words
from secrets_client import Vault, detail, digests, records, state

PROD = "/projects/shop/environments/prod"
PAGE = f"{PROD}/secrets/A"


@pytest.fixture
def browser(vault, service) -> Browser:
    vault.batch(set={"A": "one", "B": "two"}, descriptions={"A": "ay"})
    return Browser(service)


def review(page, status=200, **fields):
    """Fills in the form for a new value, and sends it."""
    return submit(page, "A/write-review", status, **{f"{name}.A": text for name, text in fields.items()})


def typed(page):
    return form_of(page, "A/write-review")["value.A"].value


def timeline(page):
    return [item.get_text(" ", strip=True) for item in page.html.select("#history .say")]


def test_a_new_value_is_reviewed_before_it_is_written(browser, vault, service):
    page = review(browser.open(PAGE), value="uno\r\nline")
    assert vault.rev == 1
    page = submit(page, "A/write-apply", reason="because")
    assert page.request.path == PAGE
    assert vault.value("A") == "uno\nline"
    assert vault.listed()["A"]["description"] == "ay"
    assert service.audit("secret.batch")[-1]["reason"] == "because"


def test_a_form_with_nothing_typed_writes_nothing(browser, service):
    page = browser.open(PAGE)
    before, known = state(service), service.audit()
    assert review(page, 303).request.path == PAGE
    assert (state(service), service.audit()) == (before, known)


def test_a_description_is_changed_without_a_version_and_the_value_stays(browser, vault, service):
    before = vault.listed()["A"]
    page = submit(browser.open(f"{PAGE}?describe"), "A/describe", description=" new ", reason="because")
    assert words(page, ".head p").startswith("new. Version 1,")
    assert vault.values() == {"A": "one", "B": "two"}
    assert vault.listed()["A"] == before | {"description": "new"}
    assert [one["version"] for one in vault.versions("A")] == [1]
    row = service.audit("secret.batch")[-1]
    said = {"rev": 2, "changes": [], "described": ["A"], **digests(service, A="new")}
    assert (row["reason"], detail(row)) == ("because", said)
    submit(browser.open(f"{PAGE}?describe"), "A/describe", description="")
    assert vault.listed()["A"]["description"] is None


def test_an_empty_value_is_asked_for_by_itself(browser, vault):
    submit(review(browser.open(PAGE), empty=True), "A/write-apply")
    assert vault.value("A") == ""
    assert vault.listed()["A"]["description"] == "ay"


def test_an_empty_value_beside_a_typed_one_is_refused_and_both_stay(browser, vault):
    page = review(browser.open(PAGE), 422, empty=True, value="typed")
    assert "as well" in words(page, "[role=alert]")
    assert page.html.select_one("[role=alert] a")["href"] == "#nv"
    field = page.html.find(id="nv")
    assert field["aria-invalid"] == "true"
    assert "as well" in page.html.find(id=field["aria-describedby"]).text
    assert field.find_parent("details").has_attr("open")
    assert typed(page).strip() == "typed"
    assert form_of(page, "A/write-review")["empty.A"].checked
    assert vault.rev == 1


def test_a_stale_value_is_told_and_not_lost(browser, vault):
    page = browser.open(PAGE)
    vault.set(A="theirs")
    page = review(page, 412, value="mine\r\n")
    assert vault.value("A") == "theirs"
    again = submit(page, "A/write-back", 200)
    assert typed(again).splitlines() == ["mine"]
    submit(review(again), "A/write-apply", reason="mine all the same")
    assert vault.value("A") == "mine\n"


def test_a_refused_value_still_belongs_to_the_revision_that_it_was_typed_at(browser, vault):
    page = review(browser.open(PAGE), 422, value="mine", empty=True)
    vault.set(A="theirs")
    review(page, 412, empty=False)
    assert vault.value("A") == "theirs"


each_panel = pytest.mark.parametrize(
    ("panel", "action", "fields"),
    [
        ("?rename", "A/rename", {"to": "C"}),
        ("?rollback=1", "A/rollback", {}),
        ("?describe", "A/describe", {"description": "mine"}),
        ("?delete", "A/delete", {}),
    ],
)


@each_panel
def test_a_stale_panel_is_told_and_can_be_repeated(browser, vault, panel, action, fields):
    vault.set(A="uno")
    page = browser.open(PAGE + panel)
    vault.set(A="theirs")
    page = submit(page, action, 412, reason="why", **fields)
    assert "not at the expected revision" in words(page, "[role=dialog] [role=alert]")
    assert vault.value("A") == "theirs"
    assert "Version 3," in words(page, ".head p")
    assert {name: form_of(page, action)[name].value for name in fields} == fields
    assert form_of(page, action)["reason"].value == "why"
    submit(page, action)
    assert vault.rev == 4


@each_panel
def test_a_panel_that_is_sent_twice_acts_once_and_leads_where_the_first_led(
    browser, vault, panel, action, fields
):
    vault.set(A="uno")
    page = browser.open(PAGE + panel)
    first, second = (submit(page, action, **fields) for _ in range(2))
    assert second.request.path == first.request.path
    assert words(second, "[role=status]") == "No changes to save."
    assert vault.rev == 3


@pytest.mark.parametrize(("to", "status"), [("B", 409), ("no key", 422), ("A", 422)])
def test_a_refused_name_stays_in_its_panel(browser, to, status):
    page = submit(browser.open(f"{PAGE}?rename"), "A/rename", status, to=to)
    assert page.html.select_one("[role=dialog] [role=alert]")
    assert page.html.find(id="to")["value"] == to
    assert page.html.select_one(".app").has_attr("inert")


@pytest.mark.parametrize("version", ["", "x", "9" * 17, "-1", "²", "٣"])
def test_a_version_that_is_none_is_refused(browser, vault, version):
    vault.set(A="2")
    submit(browser.open(f"{PAGE}?rollback=1"), "/rollback", 422, to_version=version)
    assert vault.rev == 2


def test_a_version_is_rolled_back_to_in_two_clicks_and_the_page_says_so(browser, vault):
    vault.set(A="uno")
    page = browser.open(PAGE).click("Roll back", index=0)
    page = submit(page, "A/rollback", reason="it broke")
    assert vault.value("A") == "one"
    assert words(page, "[role=status]") == "Rolled back A to version 1 (now version 3)."
    assert timeline(page)[0].startswith("root@example.com rolled back to version 1")
    assert "it broke" in timeline(page)[0]
    # What is said holds no longer than what it tells of.
    vault.set(A="later")
    assert "Rolled back A" not in browser.open(page.request.path_qs).text


def test_a_renamed_secret_says_where_its_history_is(browser, vault):
    vault.set(A="uno")
    page = submit(browser.open(f"{PAGE}?rename"), "A/rename", to="C")
    assert page.request.path == f"{PROD}/secrets/C"
    assert words(page, "[role=status]") == "Renamed A to C: its history stays under the old name."
    assert timeline(page)[0].startswith("root@example.com renamed it from A")
    old = page.click("^A$", index=0)
    assert old.request.path == PAGE
    assert timeline(old)[0].startswith("root@example.com renamed it to C")
    assert vault.values() == {"B": "two", "C": "uno"}


def test_a_deleted_secret_is_brought_back_with_one_click(browser, vault):
    vault.set(A="uno")
    page = submit(browser.open(f"{PAGE}?delete"), "A/delete", reason="unused")
    assert page.request.path == PROD
    assert "Deleted A from Prod." in words(page, "[role=status]")
    page = browser.open(PAGE)
    note = words(page, ".note.bad")
    assert note.startswith("Deleted A from Prod just now by root@example.com, “unused”.")
    assert "A/write-review" not in page.text
    page = submit(page, "A/rollback")
    assert vault.value("A") == "uno"
    assert vault.listed()["A"]["description"] == "ay"
    assert words(page, "[role=status]") == "Rolled back A to version 2 (now version 4)."


def test_a_deletion_is_undone_with_one_click_where_it_is_told(browser, vault):
    page = submit(browser.open(f"{PAGE}?delete"), "A/delete")
    submit(page, "/undo")
    assert vault.values() == {"A": "one", "B": "two"}


def test_what_others_did_to_a_key_is_told_by_its_kind(browser, vault, admin):
    dev = Vault(admin, "/projects/shop/environments/dev")
    dev.set(D="x")
    vault.load("A=imported\n")
    vault.post("restore", {"to_rev": 1})
    vault.post("copy", {"from": {"project": "shop", "environment": "dev"}, "keys": ["D"]})
    told = [item.partition("root@example.com ")[2] for item in timeline(browser.open(PAGE))]
    assert [item.partition(" just")[0] for item in told] == [
        "restored version 1",
        "imported it",
        "created it",
    ]
    assert "copied it from Dev" in timeline(browser.open(f"{PROD}/secrets/D"))[0]


@pytest.mark.slow
def test_a_long_history_stands_on_several_pages(browser, vault):
    for number in range(55):
        vault.set(A=str(number))
    page = browser.open(PAGE)
    assert len(timeline(page)) == 50
    page = page.click("Older versions")
    assert len(timeline(page)) == 6
    assert "Older versions" not in page.text


def test_a_reader_is_offered_nothing_that_writes(browser, service):
    service.grant("rita@example.com", "reader", "shop/prod")
    page = Browser(service, "rita@example.com").open(PAGE)
    assert {form.action.rpartition("/")[2] for form in page.forms.values()} - {""} == {"search", "reveal"}
    assert "Changing it needs the writer role here." in words(page)
    assert "Rename…" not in page.text


def test_each_write_of_the_page_leaves_one_record(browser, service):
    submit(browser.open(f"{PAGE}?rename"), "A/rename", to="C")
    submit(browser.open(f"{PROD}/secrets/C?delete"), "C/delete")
    submit(browser.open(f"{PROD}/secrets/C"), "C/rollback")
    assert [row["action"] for row in records(service)] == [
        "secret.batch",
        "secret.rename",
        "secret.batch",
        "secret.rollback",
    ]
