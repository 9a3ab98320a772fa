"""Edits, imports and text: reviewed as a dry run, applied at the revision they were drawn from."""

from __future__ import annotations

import json

import pytest
from pages import Browser, form_of, submit

PROD = "/projects/shop/environments/prod"


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
    return {row.th.text: row.td.text for row in page.html.find_all("table")[-1].tbody.find_all("tr")}


def test_many_rows_are_edited_at_once_after_a_review(browser, vault, service):
    form = edits(browser.open(PROD), value__A="one\r\ntwo", delete__C=True)
    form["new.0.key"], form["new.0.value"], form["new.0.description"] = "D", "4", "dee"
    page = form.submit()
    assert plan(page) == {"A": "changed", "C": "deleted", "D": "new"}
    assert "This deletes:" in page.text
    assert vault.rev == 1
    page = submit(page, "/edit-apply", reason="because")
    assert "Written." in page.text
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


def test_a_description_changes_alone_and_can_be_cleared(browser, vault):
    page = edits(browser.open(PROD), description__A="ay", description__B="").submit()
    assert plan(page) == {"A": "description only", "B": "description only"}
    assert vault.rev == 1
    submit(page, "/edit-apply")
    assert vault.rev == 2
    assert {one["version"] for one in vault.listed().values()} == {1}
    assert {key: one["description"] for key, one in vault.listed().items()} == {
        "A": "ay",
        "B": None,
        "C": None,
    }
    assert vault.values() == {"A": "1", "B": "2", "C": "3"}


@pytest.mark.engine_neutral
def test_a_form_that_changes_nothing_leads_back(browser):
    page = edits(browser.open(PROD)).submit().follow()
    assert "Nothing had to be changed." in page.text


def test_a_stale_revision_shows_mine_and_theirs_and_loses_nothing(browser, vault):
    page = edits(browser.open(PROD), value__A="mine", value__B="also mine").submit()
    vault.set(A="theirs")
    vault.batch(delete=["C"])
    page = submit(page, "/edit-apply", 412, reason="why")
    theirs, mine = page.html.find_all("table")
    assert {row.th.text: row.td.text for row in theirs.tbody.find_all("tr")} == {
        "A": "written",
        "C": "deleted",
    }
    assert [[cell.text for cell in row.find_all(["th", "td"])] for row in mine.tbody.find_all("tr")] == [
        ["A", "changed", "yes: yours would take its place"],
        ["B", "changed", "no"],
    ]
    assert page.html.find(id="reason")["value"] == "why"
    assert vault.values() == {"A": "theirs", "B": "2"}
    again = submit(page, "/edit-apply")
    assert "Written." in again.text
    assert vault.values() == {"A": "mine", "B": "also mine"}


def test_a_stale_review_is_told_at_once_and_goes_back_to_the_editor_with_what_was_typed(browser, vault):
    form = edits(browser.open(PROD), value__A="\r\nmine ", description__B="new", delete__C=True)
    form["new.1.key"] = "E"
    vault.set(A="theirs")
    page = form.submit(status=412)
    fields = dict(form_of(page, "/edit-apply").submit_fields())
    page = browser.post(f"{PROD}/edit-again", fields)
    retyped = page.forms["edits"]
    assert retyped["value.A"].value.splitlines() == ["", "mine "]
    assert retyped["description.B"].value == "new"
    assert retyped["delete.C"].checked
    assert retyped["new.1.key"].value == "E"
    assert plan(retyped.submit()) == {"A": "changed", "B": "description only", "C": "deleted", "E": "new"}


@pytest.mark.parametrize(
    ("fields", "status", "issue"),
    [
        ({"new.0.key": "no key", "new.0.value": "x"}, 422, "new.0.key"),
        ({"new.0.value": "x"}, 422, "new.0.key"),
        ({"new.0.key": "D", "new.1.key": "D"}, 422, "new.1.key"),
        ({"value.A": "x", "delete.A": True}, 422, "set.A"),
        ({"new.0.key": "BIG", "new.0.value": "x" * 65537}, 413, None),
        ({"description.A": "d" * 1025}, 422, "descriptions.A"),
        ({"rev": "x"}, 422, "rev"),
        ({"rev": "٣"}, 422, "rev"),
    ],
)
def test_a_refused_edit_comes_back_as_it_was_typed(browser, vault, fields, status, issue):
    form = browser.open(PROD).forms["edits"]
    for name, value in fields.items():
        form[name] = value
    page = form.submit(status=status)
    alert = page.html.find(role="alert")
    assert issue is None or alert.code.text == issue
    redrawn = page.forms["edits"]
    for name, value in fields.items():
        assert redrawn[name].checked if value is True else redrawn[name].value == value
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


@pytest.mark.engine_neutral
def test_a_page_names_a_hundred_problems_and_how_many_more_there_are(browser):
    token = browser.open(PROD).html.find("input", {"name": "csrf"})["value"]
    bad = {f"value.-{number}": "x" for number in range(130)}
    page = browser.post(f"{PROD}/edit-review", {"csrf": token, **bad}, status=422)
    told = page.html.find(role="alert").find_all("li")
    assert len(told) == 101
    assert told[-1].text.strip() == "30 more are not shown."


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
            {"A": "changed", "D": "new"},
        ),
        ("replace", "json", '{"A": "x"}', {"A": "x"}, {"A": "changed", "B": "deleted", "C": "deleted"}),
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


def test_the_whole_environment_is_edited_as_text_and_only_what_differs_is_written(browser, vault, service):
    page = browser.open(f"{PROD}/text")
    assert page.html.find(id="content") is None
    page = submit(page, "/text", 200)
    assert page.html.find(id="content").text.strip() == "A=1\nB=2\nC=3"
    assert [row["reason"] for row in service.audit("secret.export")] == ["reveal"]
    page = submit(page, "/text-review", 200, content="A=1\r\nB=two\r\nNEW=4\r\n")
    assert plan(page) == {"B": "changed", "C": "deleted", "NEW": "new"}
    submit(page, "/text-apply")
    assert vault.values() == {"A": "1", "B": "two", "NEW": "4"}
    detail = json.loads(service.audit("secret.import")[-1]["detail"])
    assert [change["key"] for change in detail["changes"]] == ["B", "C", "NEW"]


def test_text_that_cannot_be_read_or_is_stale_stays(browser, vault):
    page = submit(browser.open(f"{PROD}/text"), "/text", 200)
    page = submit(page, "/text-review", 422, content="A=1\nB\n")
    assert page.html.find(id="content").text.strip() == "A=1\nB"
    vault.set(A="theirs")
    page = submit(page, "/text-review", 412, content="A=mine\nB=2\nC=3\n")
    assert "Somebody was quicker" in page.text
    submit(page, "/text-apply")
    assert vault.values() == {"A": "mine", "B": "2", "C": "3"}


def test_who_only_reads_can_neither_review_nor_apply(browser, service):
    service.grant("rita@example.com", "reader", "shop/prod")
    reader = Browser(service, "rita@example.com")
    token = reader.open(PROD).html.find("input", {"name": "csrf"})["value"]
    for name in ("edit-review", "edit-apply", "import-review", "import-apply", "text-apply"):
        reader.post(f"{PROD}/{name}", {"csrf": token, "value.A": "x"}, status=403)
    assert [row["action"] for row in service.denials()] == ["authz.environment.writer"] * 5
