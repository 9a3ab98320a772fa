"""Edits, imports and text: reviewed as a dry run, applied at the revision they were drawn from."""

from __future__ import annotations

import json

import pytest
from pages import Browser, form_of, submit, words

PROD = "/projects/shop/environments/prod"
GONE = "deleted, can be rolled back"


@pytest.fixture
def browser(vault, service) -> Browser:
    vault.batch(set={"A": "1", "B": "2", "C": "3"}, descriptions={"B": "bee"})
    return Browser(service)


def edits(page, **fields):
    form = page.forms["edits"]
    for name, value in fields.items():
        form[name.replace("__", ".")] = value
    return form


def plan(page):
    """What the review page says it would do."""
    rows = page.html.select("table.diff tbody tr:not(.grow-row)")
    return {row.select_one(".key").text: row.find_all("td")[1].text for row in rows}


def sides(page):
    """The values that a review shows, by key, the old and the new one."""
    rows = page.html.select("table.diff tr.grow-row")
    keys = [row.find_previous_sibling("tr").select_one(".key").text for row in rows]
    return {
        key: [side.find(["pre", "p"]).text for side in row.select(".vals > div")]
        for key, row in zip(keys, rows, strict=True)
    }


@pytest.mark.both_engines
def test_many_rows_are_edited_at_once_after_a_review(browser, vault, service):
    form = edits(browser.open(PROD), value__A="one\r\ntwo", delete__C=True)
    form["new.1.key"], form["new.1.value"], form["new.1.description"] = "D", "4", "dee"
    page = form.submit()
    assert plan(page) == {
        "A": "new value",
        "C": "deleted, can be rolled back",
        "D": "new, with a description",
    }
    assert "1 new, 1 changed, 1 deleted" in words(page)
    assert vault.rev == 1
    page = submit(page, "/edit-apply", reason="because")
    assert "Saved 3 changes to Prod (revision 2)." in words(page)
    assert vault.rev == 2
    assert vault.values() == {"A": "one\ntwo", "B": "2", "D": "4"}
    row = service.audit("secret.batch")[-1]
    assert (row["reason"], row["outcome"]) == ("because", "success")


def test_the_review_shows_no_value_and_writes_none(browser, service):
    page = edits(browser.open(PROD), value__A="typed-by-hand").submit()
    shown = page.html.main
    for area in shown.find_all("textarea"):
        area.extract()
    assert "typed-by-hand" not in shown.text
    assert [row["action"] for row in service.audit()][-1] == "secret.batch"
    assert len(service.audit("secret.batch")) == 1


def test_a_form_that_changes_nothing_leads_back(browser):
    page = edits(browser.open(PROD)).submit().follow()
    assert "No changes to save." in page.text


def conflict(page):
    """What each side did to a key, and what would become of it."""
    rows = [
        [" ".join(cell.text.split()) for cell in row.find_all(["th", "td"])]
        for row in page.html.select("tbody tr")
    ]
    return {key.removesuffix(" both"): cells for key, *cells in rows}


def test_a_stale_revision_shows_mine_and_theirs_and_loses_nothing(browser, vault):
    page = edits(browser.open(PROD), value__A="mine", value__B="also mine").submit()
    vault.set(A="theirs")
    vault.batch(delete=["C"])
    page = submit(page, "/edit-apply", 412, reason="why")
    assert "changed Prod while you were typing" in words(page, "h1")
    assert "You began at revision 1; it is at 3" in words(page)
    assert "1 key was changed by both of you." in words(page)
    assert conflict(page) == {
        "A": ["new value", "new value, v2", "Which value of A yours theirs"],
        "B": ["new value", "–", "yours"],
        "C": ["–", "deleted", "theirs, already written"],
    }
    assert page.html.select_one(".btn.main").text == "Review again, based on 3"
    assert vault.values() == {"A": "theirs", "B": "2"}
    page = again(browser, page, "edit-review")
    assert "which is still the latest" in words(page)
    assert form_of(page, "/edit-apply")["reason"].value == "why"
    submit(page, "/edit-apply")
    assert vault.values() == {"A": "mine", "B": "also mine"}


def again(browser, page, name, **choices):
    """What the page of a conflict leads to by one of its buttons."""
    fields = dict(form_of(page, "/edit-back").submit_fields())
    fields |= {f"keep.{key}": choice for key, choice in choices.items()}
    return browser.post(f"{PROD}/{name}", fields)


def test_of_what_both_changed_theirs_can_be_kept(browser, vault):
    page = edits(browser.open(PROD), value__A="mine", value__B="also mine").submit()
    vault.set(A="theirs")
    page = again(browser, submit(page, "/edit-apply", 412), "edit-review", A="theirs")
    assert plan(page) == {"B": "new value"}
    submit(page, "/edit-apply")
    assert vault.values() == {"A": "theirs", "B": "also mine", "C": "3"}


def test_what_is_sent_twice_is_no_conflict(browser, vault):
    page = edits(browser.open(PROD), value__A="mine", delete__C=True).submit()
    submit(page, "/edit-apply")
    assert "No changes to save." in words(submit(page, "/edit-apply"))
    assert vault.rev == 2


@pytest.mark.both_engines
def test_a_stale_review_is_told_at_once_and_goes_back_to_the_editor_with_what_was_typed(browser, vault):
    form = edits(browser.open(PROD), value__A="\r\nmine ", empty__B=True, delete__C=True)
    form["new.1.key"] = "E"
    vault.set(A="theirs")
    page = again(browser, form.submit(status=412), "edit-back")
    retyped = page.forms["edits"]
    assert retyped["value.A"].value.splitlines() == ["", "mine "]
    assert retyped["empty.B"].checked
    assert retyped["delete.C"].checked
    assert retyped["new.1.key"].value == "E"
    assert plan(retyped.submit()) == {
        "A": "new value",
        "B": "new value, empty",
        "C": "deleted, can be rolled back",
        "E": "new, empty",
    }


@pytest.mark.parametrize(
    ("fields", "status", "issue"),
    [
        (
            {"new.1.key": "no key", "new.1.value": "x"},
            422,
            ("new.1.key", "New secret, row 1: Use A-Z, a-z, 0-9 and _, not starting with a digit."),
        ),
        ({"new.2.value": "x"}, 422, ("new.2.key", "New secret, row 2: Use A-Z")),
        ({"new.1.key": "D", "new.2.key": "D"}, 422, ("new.2.key", "New secret, row 2: Given twice.")),
        (
            {"value.A": "x", "delete.A": True},
            422,
            ("value.A", "A: It is both changed and marked for deletion. Undo one."),
        ),
        ({"value.A": "x", "empty.A": True}, 422, ("value.A", "A: A value was typed as well")),
        ({"new.1.key": "BIG", "new.1.value": "x" * 65537}, 413, None),
        ({"new.1.key": "D", "new.1.description": "d" * 1025}, 422, ("new.1.description", "D")),
        ({"rev": "x"}, 422, ("rev", "Rev")),
        ({"rev": "٣"}, 422, ("rev", "Rev")),
    ],
)
def test_a_refused_edit_comes_back_as_it_was_typed(browser, vault, fields, status, issue):
    form = browser.open(PROD).forms["edits"]
    for name, value in fields.items():
        form[name] = value
    page = form.submit(status=status)
    alert = page.html.find(role="alert")
    if issue is not None:
        field, text = issue
        assert text in alert.a.text
        assert alert.a["href"] == f"#{field}"
        assert alert.a.has_attr("autofocus")
        assert page.html.find(id=field) is not None or field == "rev"
    rerendered = page.forms["edits"]
    for name, value in fields.items():
        assert rerendered[name].checked if value is True else rerendered[name].value == value
    assert vault.rev == 1


def test_more_new_rows_than_an_environment_holds_are_refused_and_the_first_ones_kept(vault, service):
    small = Browser(service.restarted(ENV_MAX_SECRETS="5"))
    token = small.open(PROD).html.find("input", {"name": "csrf"})["value"]
    rows = {f"new.{row}.key": f"K{row}" for row in range(6)}
    for action in ("edit-review", "edit-apply"):
        page = small.post(f"{PROD}/{action}", {"csrf": token, **rows}, status=413)
        told = page.html.find(role="alert").text
        assert "An environment holds at most 5 secrets." in told
        assert "kept the first 5" in told
        assert [page.forms["edits"][f"new.{row}.key"].value for row in range(5)] == list(rows.values())[:5]
        assert "new.5.key" not in page.forms["edits"].fields
    assert vault.values() == {}
    rows.popitem()
    page = small.post(f"{PROD}/edit-review", {"csrf": token, **rows}, status=200)
    assert len(plan(page)) == 5


def test_a_page_names_a_hundred_problems_and_how_many_more_there_are(browser):
    token = browser.open(PROD).html.find("input", {"name": "csrf"})["value"]
    bad = {f"value.-{number}": "x" for number in range(130)}
    page = browser.post(f"{PROD}/edit-review", {"csrf": token, **bad}, status=422)
    told = page.html.find(role="alert").find_all("li")
    assert len(told) == 101
    assert told[-1].text.strip() == "30 more are left out."


@pytest.mark.both_engines
def test_an_environment_that_was_deleted_meanwhile_is_not_found(browser, admin):
    form = edits(browser.open(PROD), value__A="x")
    admin.delete(PROD)
    assert form.submit(status=404).content_type == "text/html"


@pytest.mark.parametrize(
    ("mode", "format", "content", "expected", "kinds"),
    [
        (
            "merge",
            "env",
            'A=one\nD="4\\n"\n',
            {"A": "one", "B": "2", "C": "3", "D": "4\n"},
            {"A": "new value", "D": "new"},
        ),
        ("replace", "json", '{"A": "x"}', {"A": "x"}, {"A": "new value", "B": GONE, "C": GONE}),
    ],
)
def test_a_file_is_imported_by_paste_or_upload(browser, vault, mode, format, content, expected, kinds):
    for field in ("content", "file"):
        form = form_of(browser.open(f"{PROD}/import"), "/import-review")
        form["mode"], form["format"] = mode, format
        if field == "content":
            form["content"] = content
        else:
            form["file"] = ("x.env", content.encode())
        page = form.submit()
        assert plan(page) == kinds
    submit(page, "/import-apply", reason="moved")
    assert vault.values() == expected


def test_problems_of_an_import_are_told_by_line_and_the_text_stays(browser, vault):
    form = form_of(browser.open(f"{PROD}/import"), "/import-review")
    form["content"] = "A=1\nnonsense\nB=2\nB=3\n"
    page = form.submit(status=422)
    told = page.html.find(role="alert").text
    assert "Line 2" in told
    assert "Line 4" in told
    assert "nonsense" not in told
    assert page.html.find(id="content").text.strip() == "A=1\nnonsense\nB=2\nB=3"
    assert vault.rev == 1


def test_a_file_beside_what_was_typed_is_not_taken_for_it(browser, vault):
    form = form_of(browser.open(f"{PROD}/import"), "/import-review")
    form["content"], form["file"] = "TYPED=1", ("x.env", b"A=1")
    page = form.submit(status=422)
    assert "Give either a file or text" in page.html.find(role="alert").text
    assert page.html.find(id="content").text.strip() == "TYPED=1"
    assert plan(form_of(page, "/import-review").submit()) == {"TYPED": "new"}


def test_a_file_that_is_no_text_is_told_of(browser):
    form = form_of(browser.open(f"{PROD}/import"), "/import-review")
    form["file"] = ("latin.env", "A=é".encode("latin-1"))
    page = form.submit(status=400)
    assert page.html.h1.text == "The file is no text in UTF-8."
    assert "Go back in your browser: what you typed is still there." in words(page)


def test_the_whole_environment_is_edited_as_text_and_only_what_differs_is_written(browser, vault, service):
    page = browser.open(f"{PROD}/text")
    assert page.html.find(id="content") is None
    page = submit(page, "/text", 200)
    assert page.html.find(id="content").text.strip() == "A=1\nB=2\nC=3"
    assert [row["reason"] for row in service.audit("secret.export")] == ["reveal"]
    page = submit(page, "/text-review", 200, content="A=1\r\nB=two\r\nNEW=4\r\n")
    assert plan(page) == {"B": "new value", "C": GONE, "NEW": "new"}
    submit(page, "/text-apply")
    assert vault.values() == {"A": "1", "B": "two", "NEW": "4"}
    detail = json.loads(service.audit("secret.import")[-1]["detail"])
    assert [change["key"] for change in detail["changes"]] == ["B", "C", "NEW"]


@pytest.mark.slow
def test_text_that_cannot_be_read_or_is_stale_stays(browser, vault):
    page = submit(browser.open(f"{PROD}/text"), "/text", 200)
    page = submit(page, "/text-review", 422, content="A=1\nB\n")
    assert page.html.find(id="content").text.strip() == "A=1\nB"
    vault.set(A="theirs")
    page = submit(page, "/text-review", 412, content="A=mine\nB=2\nC=3\n")
    assert "while you were typing" in page.text
    fields = dict(form_of(page, "/text-back").submit_fields())
    submit(browser.post(f"{PROD}/text-review", fields), "/text-apply")
    assert vault.values() == {"A": "mine", "B": "2", "C": "3"}


def test_who_only_reads_can_neither_review_nor_apply(browser, service):
    service.grant("rita@example.com", "reader", "shop/prod")
    reader = Browser(service, "rita@example.com")
    token = reader.open(PROD).html.find("input", {"name": "csrf"})["value"]
    for name in ("edit-review", "edit-apply", "import-review", "import-apply", "text-apply"):
        reader.post(f"{PROD}/{name}", {"csrf": token, "value.A": "x"}, status=403)
    assert [row["action"] for row in service.denials()] == ["authz.environment.writer"] * 5


@pytest.mark.slow
def test_an_editor_of_as_many_keys_as_there_may_be_is_read_with_all_its_fields(browser, vault):
    page = browser.open(PROD)
    form = edits(page, value__A="typed")
    blank = [(f"{kind}.K{number}", "") for kind in ("value", "shown") for number in range(10_000)]
    page = browser.post(f"{PROD}/edit-review", [*form.submit_fields(), *blank])
    assert "Apply 1 change" in page.text
