"""The editor without JavaScript: what its buttons do, and that nothing typed is lost by any of them."""

from __future__ import annotations

import gzip
import re

import pytest
from pages import Browser, form_of, submit, words
from secrets_client import Vault, detail, tamper
from statements import recorded

from secretsvc.secrets.ui.value_warnings import doubts

PROD = "/projects/shop/environments/prod"
#: The snapshot, the lock, the environment, values, their versions, the records, two of the editor, the shell.
REVEALING_ALL = 8


@pytest.fixture
def browser(vault, service) -> Browser:
    vault.batch(set={"A": "one", "B": "two", "C": "three"}, descriptions={"B": "bee"})
    return Browser(service)


@pytest.fixture
def reader(browser, service) -> Browser:
    service.grant("rita@example.com", "reader", "shop/prod")
    return Browser(service, "rita@example.com")


def push(page, button, value, status=200, **fields):
    """Presses a button of the editor with something typed."""
    form = page.forms["edits"]
    for name, text in fields.items():
        form[name.replace("__", ".")] = text
    answer = form.submit(button, value=value, status=status)
    return answer.follow() if status == 303 else answer


def row_of(page, key):
    return page.html.find("a", class_="key", string=key).find_parent("tr")


def fields_of(page):
    """What stands in the fields of the editor, without those that are empty."""
    return {name: text for name, text in page.forms["edits"].submit_fields() if text and name != "csrf"}


def test_a_row_has_one_value_which_is_not_in_the_page(browser):
    page = browser.open(PROD)
    assert page.html.find("textarea", {"name": "value.A"})["placeholder"] == "••••••••"
    assert fields_of(page) == {"rev": "1", "mode": "merge"}
    for value in ("one", "two", "three"):
        assert f">{value}<" not in page.text
    # A reset by Back is the browser's: it keeps what is typed in fields that do not forbid it.
    assert not page.html.select("textarea[autocomplete=off], input.nk[autocomplete=off]")


def test_a_revealed_value_stands_in_its_row_and_the_rest_stays_typed(browser, vault, service):
    page = push(browser.open(PROD), "reveal", "A", value__B="typed", delete__C=True)
    assert page.headers["Cache-Control"].startswith("no-store")
    field = page.html.find("textarea", {"name": "value.A"})
    assert field["class"] == ["w", "open"]
    assert field.text.strip() == "one"
    assert [(row["reason"], detail(row)) for row in service.audit("secret.reveal")] == [
        ("reveal", {"key": "A", "version": 1})
    ]
    assert fields_of(page)["value.B"].strip() == "typed"
    # What was only looked at is not a change.
    review = page.forms["edits"].submit()
    assert [row.select_one(".key").text for row in review.html.select("table.diff tbody tr")] == ["B", "C"]
    changed = push(page, "", "", value__A="mine")
    assert "A" in [row.select_one(".key").text for row in changed.html.select("table.diff tbody tr")]


def test_a_revealed_value_is_masked_again_by_its_button(browser):
    page = push(browser.open(PROD), "reveal", "A", value__B="typed")
    page = push(page, "mask", "A")
    assert {name for name in fields_of(page) if name.startswith("value.")} == {"value.B"}
    assert page.html.find("textarea", {"name": "value.A"})["class"] == ["w"]


def test_a_value_is_revealed_beside_what_was_typed_for_it(browser):
    page = push(browser.open(PROD), "reveal", "A", value__A="mine")
    assert fields_of(page)["value.A"].strip() == "mine"
    assert row_of(page, "A").select_one(".beside").text == "one"


def test_a_copy_is_a_reveal_with_its_own_reason_and_the_focus(browser, service):
    page = push(browser.open(PROD), "copy", "A")
    assert page.html.find("textarea", {"name": "value.A"}).has_attr("autofocus")
    assert [row["reason"] for row in service.audit("secret.reveal")] == ["copy"]


@pytest.mark.both_engines
def test_all_values_are_revealed_with_a_record_for_each_but_what_cannot_be_read(browser, service):
    tamper(service, "C")
    page = push(browser.open(PROD), "reveal-all", "1")
    assert [detail(row)["key"] for row in service.audit("secret.reveal")] == ["A", "B"]
    assert [one["name"] for one in page.html.select("textarea.open")] == ["value.A", "value.B"]


def test_a_value_that_looks_like_another_is_told_of_where_it_is_shown(browser, vault):
    vault.set(A="\u202eevil")
    told = "characters stand in another order than you see"
    row = browser.open(PROD).html.find("textarea", {"name": "value.A"}).find_parent("tr")
    assert told not in " ".join(row.text.split())
    page = push(browser.open(PROD), "reveal-all", "1")
    rows = [page.html.find("textarea", {"name": f"value.{key}"}).find_parent("tr") for key in "AB"]
    assert [told in " ".join(row.text.split()) for row in rows] == [True, False]


@pytest.mark.both_engines
def test_all_values_are_recorded_by_as_many_statements_as_one(browser, vault, service):
    form = browser.open(PROD)
    with recorded(service.engine) as few:
        push(form, "reveal-all", "1")
    vault.batch(set={f"MORE_{number}": "x" for number in range(40)})
    with recorded(service.engine) as many:
        push(form, "reveal-all", "1")
    rows = service.audit("secret.reveal")[3:]
    assert {(detail(row)["key"], detail(row)["version"]) for row in rows} == {
        *((key, 1) for key in ("A", "B", "C")),
        *((f"MORE_{number}", 1) for number in range(40)),
    }
    assert {(row["key"], row["given"]) for row in rows} >= {("A", 1), ("MORE_39", 1)}
    assert len(many) == len(few) == REVEALING_ALL


def test_a_reveal_that_fails_says_why_and_keeps_what_was_typed(browser, vault):
    form = browser.open(PROD)
    vault.batch(delete=["A"])
    page = push(form, "reveal", "A", status=404, value__B="typed")
    assert "Secret not found." in page.html.find(role="alert").text
    assert fields_of(page)["value.B"].strip() == "typed"


def test_a_random_value_stands_in_its_row(browser):
    made = set()
    for _ in range(2):
        page = push(browser.open(PROD), "generate", "1", new__1__key="TOKEN", value__B="typed")
        made.add(fields_of(page)["new.1.value"].strip())
        assert fields_of(page)["value.B"].strip() == "typed"
    assert len(made) == 2
    assert all(re.fullmatch("[A-Za-z0-9_-]{43}", one) for one in made)


def test_pasted_lines_become_staged_changes(browser, vault):
    page = push(browser.open(PROD), "stage", "1", paste="A=uno\nD=four\nB=\n", value__C="typed", mode="merge")
    staged = fields_of(page)
    assert (staged["value.A"].strip(), staged["empty.B"], staged["value.C"].strip()) == ("uno", "1", "typed")
    assert "D" in [text for name, text in staged.items() if name.endswith(".key")]
    submit(page.forms["edits"].submit(), "/edit-apply")
    assert vault.values() == {"A": "uno", "B": "", "C": "typed", "D": "four"}


def test_pasted_lines_may_mean_that_the_rest_is_deleted(browser, vault):
    page = push(browser.open(PROD), "stage", "1", paste='{"A": "one"}', mode="replace")
    submit(page.forms["edits"].submit(), "/edit-apply")
    assert vault.values() == {"A": "one"}


def test_lines_that_cannot_be_read_are_named_and_stay(browser):
    page = push(browser.open(PROD), "stage", "1", 422, paste="A=1\nnonsense\n", value__C="typed")
    alert = page.html.find(role="alert")
    assert alert.a["href"] == "#content"
    assert "Line 2" in alert.text
    assert fields_of(page)["paste"].strip() == "A=1\nnonsense"
    assert fields_of(page)["value.C"].strip() == "typed"


def test_picked_keys_are_deleted_after_a_review_or_taken_to_the_page_that_copies(browser, vault):
    page = push(browser.open(PROD), "remove", "picked", pick__A=True, pick__C=True)
    assert "2 deleted" in words(page)
    submit(page, "/edit-apply")
    assert vault.values() == {"B": "two"}
    answer = browser.open(PROD).forms["edits"]
    answer["pick.B"] = True
    sent = answer.submit("copy-to", value="picked", status=303)
    assert sent.headers["Location"] == "/projects/shop/compare?from=prod&keys=B"


def test_what_cannot_be_read_comes_first_with_cause_and_cure(browser, service):
    tamper(service, "C")
    page = browser.open(PROD)
    first = page.html.select_one("#old tr")
    assert first.select_one(".key").text == "C"
    assert "unreadable Damaged, or moved" in " ".join(first.get_text(" ").split())
    assert first.select_one("a[href$='#history']").text == "Roll back"
    assert not first.select("[name=reveal], [name=copy]")
    assert first.select_one("textarea")["placeholder"] == "Type a new value"


def test_who_only_reads_is_not_told_to_write_what_cannot_be_read(reader, service):
    tamper(service, "C")
    first = reader.open(PROD).html.select_one("#old tr")
    assert "tell somebody who may write here" in " ".join(first.get_text(" ").split())
    assert not first.select("a[href$='#history']:not(.menu-list a)")


def test_segments_and_the_filter_leave_rows_in_and_count(browser, service):
    tamper(service, "C")

    def shown(path):
        page = browser.open(path)
        return [row.select_one(".key").text for row in page.html.select("#old tr:not([hidden])")]

    labels = [" ".join(one.text.split()) for one in browser.open(PROD).html.select(".seg a")]
    assert labels == ["All 3", "Changed this week 3", "Without description 2", "Unreadable 1"]
    assert shown(f"{PROD}?show=without-description") == ["C", "A"]
    assert shown(f"{PROD}?show=unreadable") == ["C"]
    assert shown(f"{PROD}?q=b") == ["B"]
    assert "No key matches." in words(browser.open(f"{PROD}?q=zzz"))


def test_a_key_of_the_url_stands_in_a_row_for_a_new_secret(browser):
    page = browser.open(f"{PROD}?new=FRESH")
    assert fields_of(page)["new.1.key"] == "FRESH"
    assert page.html.find("textarea", {"name": "new.1.value"}).has_attr("autofocus")
    assert "new.1.key" not in fields_of(browser.open(f"{PROD}?new=no+key"))


def test_who_only_reads_finds_no_field_and_may_reveal(reader, service):
    page = reader.open(PROD)
    assert "read only" in page.html.h1.text
    assert "needs the writer role" in words(page)
    assert page.html.select("#edits textarea, #edits [type=checkbox], .dock, #paste") == []
    shown = push(page, "reveal", "A")
    assert row_of(shown, "A").select_one(".mask.open").text == "one"
    assert [row["reason"] for row in service.audit("secret.reveal")] == ["reveal"]
    for path in ("import", "text"):
        reader.open(f"{PROD}/{path}", 403)


def test_the_editor_tells_who_changed_what_and_when(browser, vault):
    vault.set(B="y")
    row = row_of(browser.open(PROD), "B")
    assert row.select_one(".num").text == "v2"
    assert row.select_one(".by")["title"] == "by root@example.com"
    assert row.find("time")["title"].endswith("UTC")


def test_what_was_saved_is_named_and_undone_by_one_button(browser, vault, service):
    page = push(browser.open(PROD), "", "", value__A="uno", new__1__key="D")
    page = submit(page, "/edit-apply")
    assert "Saved 2 changes to Prod (revision 2)." in words(page, "#notice")
    page = submit(page, "/undo")
    assert "Undid revision 2 of Prod (now revision 3)." in words(page, "#notice")
    assert vault.values() == {"A": "one", "B": "two", "C": "three"}
    assert service.audit("secret.restore")[-1]["reason"] == "Undo of revision 2"


def test_an_undo_that_is_sent_twice_undoes_once(browser, vault):
    page = submit(push(browser.open(PROD), "", "", delete__B=True), "/edit-apply")
    submit(page, "/undo")
    page = submit(page, "/undo")
    assert "No changes to save." in words(page, "[role=status]")
    assert (vault.value("B"), vault.rev) == ("two", 3)


def test_a_deletion_is_named_and_undone_with_its_description(browser, vault):
    page = submit(push(browser.open(PROD), "", "", delete__B=True), "/edit-apply")
    assert "Deleted B from Prod." in words(page, "#notice")
    submit(page, "/undo")
    assert vault.value("B") == "two"
    assert vault.listed()["B"]["description"] == "bee"


def test_what_others_wrote_since_is_not_undone(browser, vault):
    page = submit(push(browser.open(PROD), "", "", delete__B=True), "/edit-apply")
    path = f"{PROD}?{page.request.query_string}"
    vault.set(A="theirs")
    assert browser.open(path).html.select_one("#notice form") is None
    assert "not at the expected revision" in submit(page, "/undo", 412).html.find(role="alert").text
    assert vault.value("A") == "theirs"


@pytest.mark.parametrize("query", ["saved=1&rev=99", "saved=x&rev=1", "saved=1&rev=0", "saved=1", "rev=1"])
def test_a_notice_of_what_cannot_have_been_is_not_shown(browser, query):
    assert browser.open(f"{PROD}?{query}").html.select_one("#notice") is None


def test_a_write_of_one_secret_is_named_on_its_page(browser):
    page = submit(browser.open(f"{PROD}/secrets/A"), "/write-review", 200, **{"value.A": "uno"})
    assert "Saved A in Prod (revision 2)." in words(submit(page, "/write-apply"))
    for query in ("written", "written.x", "written.1.2"):
        assert "Saved A" not in words(browser.open(f"{PROD}/secrets/A?done={query}"))


def test_a_review_shows_the_values_of_a_row_when_asked_and_records_it(browser, vault, service):
    page = push(browser.open(PROD), "", "", value__A="once", new__1__key="D", new__1__value="four")
    assert service.audit("secret.reveal") == []
    fields = dict(form_of(page, "/edit-apply").submit_fields())
    shown = browser.post(f"{PROD}/edit-reveal", fields | {"reveal": "A"})
    sides = [side.pre.get_text("|", strip=True) for side in shown.html.select(".vals > div")]
    assert sides == ["one", "on|c|e"]
    assert [detail(row)["key"] for row in service.audit("secret.reveal")] == ["A"]
    every = browser.post(f"{PROD}/edit-reveal", fields | {"reveal": "*"})
    assert len(every.html.select(".vals")) == 2
    submit(shown, "/edit-apply")
    assert vault.value("A") == "once"


def test_a_value_that_is_as_it_was_is_told_of_and_not_written(browser, vault):
    page = push(browser.open(PROD), "", "", value__A="one", value__B="zwei")
    assert "same as before, not written" in row_text(page, "A")
    assert "Review 1 change" in page.html.h1.text
    submit(page, "/edit-apply")
    assert vault.listed()["A"]["version"] == 1
    same = push(browser.open(PROD), "", "", 303, value__A="one")
    assert "No changes to save." in words(same)


def row_text(page, key):
    row = page.html.find("span", class_="key", string=key).find_parent("tr")
    return " ".join(row.get_text(" ").split())


def test_a_review_names_three_of_many_environments_without_a_new_key(browser, admin):
    for slug in ("a", "b", "c", "d"):
        admin.post("/projects/shop/environments", {"slug": slug, "name": slug.title()}, status=201)
        Vault(admin, f"/projects/shop/environments/{slug}").batch(set={"OTHER": "x"})
    page = push(browser.open(PROD), "", "", new__1__key="NEW", new__1__value="n")
    assert "Also missing in Dev, A, B and 2 more" in row_text(page, "NEW")


@pytest.mark.slow
@pytest.mark.both_engines
def test_a_review_names_the_other_environments_without_a_new_key(browser, admin, service, reader):
    for slug in ("preview", "empty"):
        admin.post("/projects/shop/environments", {"slug": slug, "name": slug.title()}, status=201)
    dev, preview = (Vault(admin, f"/projects/shop/environments/{slug}") for slug in ("dev", "preview"))
    dev.batch(set={"NEW": "x", "OTHER": "x"})
    preview.batch(set={"NEW": "x"})
    dev.batch(delete=["NEW"])
    typed = {"new__1__key": "NEW", "new__1__value": "n", "new__2__key": "OTHER", "new__2__value": "o"}
    page = push(browser.open(PROD), "", "", **typed, value__A="once")
    assert "Also missing in Dev and Empty" in row_text(page, "NEW")
    assert "Also missing in Preview and Empty" in row_text(page, "OTHER")
    assert "Also missing" not in row_text(page, "A")
    service.grant("rita@example.com", "writer", "shop/prod")
    assert "Also missing" not in words(push(reader.open(PROD), "", "", **typed)), "of what is not in sight"


def test_a_review_warns_of_values_that_look_like_mistakes(browser):
    page = push(browser.open(PROD), "", "", value__A="ends ", value__B="changeme", value__C="fine")
    assert "ends with a space" in row_text(page, "A")
    assert "looks like a placeholder" in row_text(page, "B")
    assert "Correct" not in row_text(page, "C")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("plain", []),
        ("two words\nand a line", []),
        ("-----BEGIN X-----\nabc\n-----END X-----\n", []),
        ("tail ", ["ends with a space"]),
        ("tail\n", ["ends with a line break"]),
        (" head", ["begins with a space"]),
        ("\n\nhead", ["begins with a line break"]),
        ("tok\u00a0en", ["has a space that is no plain space"]),
        ("\u202eevil", ["turns the direction of text"]),
        ("zero\u200bwidth", ["has invisible characters"]),
        ("nul\x00", ["has invisible characters"]),
        ("<your key>", ["looks like a placeholder"]),
        ("TODO", ["looks like a placeholder"]),
        ("Grüße 🎉", []),
    ],
)
def test_a_doubt_is_told_in_words(value, told):
    assert doubts(value) == told


@pytest.mark.both_engines
@pytest.mark.parametrize("count", [1, 300])
def test_the_editor_takes_three_statements_beside_those_of_each_page(service, vault, count):
    quiet = service.restarted(LAST_SEEN_RESOLUTION="3600000")
    vault.batch(set={f"K{number}": "x" for number in range(count)})
    browser = Browser(quiet)
    browser.open(PROD)
    with recorded(quiet.engine) as statements:
        browser.open(PROD)
    # The caller, the environment, its secrets, their authors, and the project for the shell.
    assert len(statements) == 5, statements


def many(vault, count=500):
    keys = [f"SERVICE_{number:03}_API_TOKEN" for number in range(count)]
    vault.batch(set=dict.fromkeys(keys, "x"), descriptions=dict.fromkeys(keys[::3], "What it is good for"))
    return keys


def test_an_editor_of_500_keys_is_small_enough_to_be_sent(service, vault):
    many(vault)
    body = Browser(service).open(PROD).body
    assert len(body) < 600_000
    assert len(gzip.compress(body, 6)) < 50_000


@pytest.mark.slow
def test_a_row_of_many_has_its_menu_drawn_when_asked_for_and_the_rest_stays_typed(service, vault):
    keys = many(vault, 101)
    page = Browser(service).open(PROD)
    assert page.html.select("#old details") == []
    page = push(page, "menu", keys[7], **{f"value__{keys[3]}": "typed"})
    (menu,) = page.html.select("#old details[open]")
    assert menu.summary["aria-label"] == f"Actions for {keys[7]}"
    assert fields_of(page)[f"value.{keys[3]}"].strip() == "typed"
    assert Browser(service).open(f"{PROD}?menu={keys[7]}").html.select_one("#old details[open]")


def test_who_wrote_is_called_by_name_where_there_is_one(service, admin, vault):
    service.grant("wendy@example.com", "writer", "shop/prod")
    wendy = service.identity_id("wendy@example.com")
    admin.patch(f"/identities/{wendy}", {"display_name": "Wendy Writer"})
    vault.set(OLD="x")
    Vault(service.user("wendy@example.com")).set(NEW="x")
    page = Browser(service).open(PROD)
    assert "by Wendy Writer" in words(page, ".head")
    assert [one.text for one in page.html.select("tr.old .ava")] == ["WW", "R"]
