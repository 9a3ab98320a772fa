"""Values with CR LF, CR and NUL on the pages, as a browser without JavaScript sends them back."""

from __future__ import annotations

import json

import pytest
from pages import Browser, form_of, words
from secrets_client import Vault

from secretsvc.kernel.text_areas import as_sent

PROJECT = "/projects/shop"
PROD = f"{PROJECT}/environments/prod"
ODD = {"CR": "a\rb", "CRLF": "a\r\nb\r\n", "MIXED": "a\r\nb\nc\r", "NUL": "a\0b\ufffd\r\n"}


@pytest.fixture
def browser(vault, service):
    vault.batch(set=ODD)
    return Browser(service)


def send(form, *args, **options):
    """Sends a form with its text areas as a browser has them."""
    for fields in form.fields.values():
        for field in fields:
            if field.tag == "textarea":
                field.value = as_sent(field.value).replace("\n", "\r\n")
    return form.submit(*args, **options)


def keys(page):
    return [key.text for key in page.html.select("table.diff .key")]


@pytest.mark.slow
@pytest.mark.both_engines
def test_all_values_revealed_and_reviewed_are_no_change(browser, vault):
    page = send(browser.open(PROD).forms["edits"], "reveal-all", value="1")
    assert send(page.forms["edits"]).status_int == 303
    assert vault.rev == 1


def test_values_revealed_and_marked_by_nobody_are_no_change(browser, vault):
    # As a script sends them, which fills in the fields itself.
    form = browser.open(PROD).forms["edits"]
    for key, value in ODD.items():
        form[f"value.{key}"] = value
    assert send(form).status_int == 303
    assert vault.rev == 1


def test_nul_that_cannot_be_told_from_its_sign_is_told_of(browser, vault):
    form = browser.open(PROD).forms["edits"]
    form["value.NUL"] = as_sent(ODD["NUL"]) + "!"
    page = send(form)
    assert "NUL becomes U+FFFD" in words(page)
    send(form_of(page, "/edit-apply"))
    assert vault.value("NUL") == "a\ufffdb\ufffd\r\n!"


def test_a_review_shows_both_values_with_their_own_line_ends(browser):
    form = browser.open(PROD).forms["edits"]
    form["value.CRLF"] = "a\nB\n"
    form = form_of(send(form), "/edit-apply")
    form.action = f"{PROD}/edit-reveal"
    page = send(form, "reveal", value="CRLF")
    assert [part.text for part in page.html.select(".vals del, .vals ins")] == ["b", "B"]


def test_a_pasted_value_with_the_text_of_another_one_is_a_change(browser, vault):
    form = browser.open(PROD).forms["edits"]
    form["paste"] = json.dumps({"CRLF": "a\rb\r", "NEW": "\r\n\0"})
    page = send(form, "stage", value="1")
    page = send(page.forms["edits"])
    assert keys(page) == ["NEW", "CRLF"]
    send(form_of(page, "/edit-apply"))
    assert vault.value("CRLF") == "a\rb\r"
    assert vault.value("NEW") == "\r\n\0"


def test_a_pasted_value_that_was_edited_since_is_what_was_typed(browser, vault):
    form = browser.open(PROD).forms["edits"]
    form["paste"] = json.dumps({"NEW": "a\r\nb"})
    form = send(form, "stage", value="1").forms["edits"]
    [name] = [
        name for name in form.fields if name and name.startswith("new.") and form[name].value == "a\r\nb"
    ]
    form[name] = "a\nb!"
    send(form_of(send(form), "/edit-apply"))
    assert vault.value("NEW") == "a\nb!"


def stage(browser, pasted, form=None):
    """Return the editor's form after a paste; with a form, after a paste into that."""
    form = form or browser.open(PROD).forms["edits"]
    form["paste"] = pasted
    return send(form, "stage", value="1").forms["edits"]


PASTED = [
    ("a\r\nb", "a\nb"),
    ("a\r\nb", "x\ny"),
    ("a\rb", "\na\n"),
    ("a\nb", "a\rb"),
    ("a\0b", "a\ufffdb"),
    ("a\0b", "\ufffd"),
]


@pytest.mark.parametrize(("stored", "pasted"), PASTED)
def test_a_pasted_value_is_written_as_the_paste_names_it(browser, vault, stored, pasted):
    vault.set(CRLF=stored)
    page = send(stage(browser, json.dumps({"CRLF": pasted})))
    assert keys(page) == ["CRLF"]
    form = form_of(page, "/edit-apply")
    form.action = f"{PROD}/edit-back"
    page = send(send(form).forms["edits"])
    send(form_of(page, "/edit-apply"))
    assert vault.value("CRLF") == pasted


def test_a_pasted_value_in_env_syntax_is_written_as_it_is_imported(browser, vault):
    form = stage(browser, 'CRLF="a\\nb\\n"\nNUL="\ufffd\nb"')
    send(form_of(send(form), "/edit-apply"))
    assert (vault.value("CRLF"), vault.value("NUL")) == ("a\nb\n", "\ufffd\nb")


def test_a_pasted_value_that_is_there_exactly_is_no_change(browser, vault):
    assert send(stage(browser, json.dumps(ODD))).status_int == 303
    assert vault.rev == 1


def test_a_paste_over_a_revealed_value_is_a_change(browser, vault):
    form = send(browser.open(PROD).forms["edits"], "reveal-all", value="1").forms["edits"]
    send(form_of(send(stage(browser, json.dumps({"CRLF": "a\nb\n"}), form)), "/edit-apply"))
    assert vault.values() == {**ODD, "CRLF": "a\nb\n"}


def test_a_value_revealed_after_its_paste_was_cleared_is_no_change(browser, vault):
    form = stage(browser, json.dumps({"CRLF": "a\nb\n"}))
    form["value.CRLF"] = ""
    form = send(form, "reveal", value="CRLF").forms["edits"]
    assert "exact.value.CRLF" not in form.fields
    assert send(form).status_int == 303
    assert vault.rev == 1


def test_a_pasted_value_that_was_edited_since_keeps_the_stored_line_ends(browser, vault):
    form = stage(browser, json.dumps({"CRLF": "a\nb"}))
    form["value.CRLF"] = "a\nb!"
    page = send(form)
    assert "line ends stay CR LF" in words(page)
    send(form_of(page, "/edit-apply"))
    assert vault.value("CRLF") == "a\r\nb!"


@pytest.mark.slow
def test_a_review_shows_a_pasted_value_as_it_will_be_written(browser):
    page = send(stage(browser, json.dumps({"CRLF": "a\nb\n"})))
    assert "line ends become LF" in words(page)
    form = form_of(page, "/edit-apply")
    form.action = f"{PROD}/edit-reveal"
    page = send(form, "reveal", value="CRLF")
    assert [part.text for part in page.html.select(".vals del, .vals ins")] == ["\r\nb\r", "\nb"]


def test_a_pasted_key_that_somebody_adds_is_written_as_pasted(browser, vault):
    form = form_of(send(stage(browser, json.dumps({"NEW": "a\nb"}))), "/edit-apply")
    vault.set(NEW="a\r\nb")
    form = form_of(send(form, status=412), "/edit-back")
    assert form["keep.NEW"].value == "yours"
    page = browser.post(f"{PROD}/edit-back", form.submit_fields())
    send(form_of(send(page.forms["edits"]), "/edit-apply"))
    assert vault.value("NEW") == "a\nb"


def test_a_pasted_key_that_somebody_deletes_stays_as_pasted(browser, vault):
    form = stage(browser, json.dumps({"CRLF": "a\nb"}))
    vault.batch(delete=["CRLF"])
    form["rev"] = "2"
    form = send(form, "reveal", value="NUL").forms["edits"]
    assert json.loads(form["exact.new.of-CRLF.value"].value) == "a\nb"


@pytest.mark.parametrize(
    "exact", ["x", '"', '"\\ud800"', "[" * 9_999, '"' + "\\u0000" * 9, "null", '{"a": "b"}']
)
def test_a_field_that_no_page_has_sent_changes_nothing(browser, vault, exact):
    form = browser.open(PROD).forms["edits"]
    fields = {"csrf": form["csrf"].value, "rev": "1", "value.CRLF": "typed", "exact.value.CRLF": exact}
    page = browser.post(f"{PROD}/edit-review", fields)
    send(form_of(page, "/edit-apply"))
    assert vault.value("CRLF") == "typed"


def test_a_value_that_its_line_ends_make_too_large_is_refused_and_stays_typed(vault, service):
    vault.set(CRLF="a\r\nb")
    browser = Browser(service.restarted(SECRET_MAX_BYTES="7"))
    form = browser.open(PROD).forms["edits"]
    form["value.CRLF"] = "a\nb\nc\nd"
    page = send(form, status=413)
    assert "The value of CRLF is over 7 bytes." in words(page)
    assert page.forms["edits"]["value.CRLF"].value == "a\r\nb\r\nc\r\nd"


@pytest.mark.slow
def test_copying_and_restoring_by_the_pages_keep_every_character(browser, vault):
    page = browser.open(f"{PROJECT}/compare?from=prod&to=dev")
    form = form_of(page, "/copy-review")
    for key in ODD:
        form[f"key.{key}"].checked = True
    send(form_of(form.submit(), "/copy-apply"), "existing")
    assert Vault(vault.client, f"{PROJECT}/environments/dev").values() == ODD
    vault.set(**dict.fromkeys(ODD, "other"))
    page = form_of(browser.open(f"{PROD}/history?rev=1"), "/restore").submit()
    send(form_of(page, "/restore"))
    assert vault.values() == ODD
