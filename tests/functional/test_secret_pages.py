"""The pages of secrets without JavaScript: the matrix, the editor, a single secret."""

from __future__ import annotations

import json

import pytest
from pages import Browser, submit
from statements import recorded

from secretsvc.secrets.rules.importing import read_env

PROD = "/projects/shop/environments/prod"
HIDDEN = "s3cr3t-of-the-house"


@pytest.fixture
def browser(vault, service) -> Browser:
    vault.batch(set={"API_KEY": HIDDEN, "DB_URL": "x" * 40}, descriptions={"API_KEY": "For <b>all</b>"})
    return Browser(service)


@pytest.fixture
def reader(browser, service) -> Browser:
    service.grant("rita@example.com", "reader", "shop/prod")
    return Browser(service, "rita@example.com")


def write(page, status=303, *, key="API_KEY", **fields):
    """Fills in the form of a secret's page that writes it, and sends it; a redirection is followed."""
    names = {name: name if name == "reason" else f"{name}.{key}" for name in fields}
    return submit(page, "/write-apply", status, **{names[name]: text for name, text in fields.items()})


def test_no_page_holds_a_value_before_it_is_asked_for(browser):
    for path in ("/projects/shop", PROD, f"{PROD}/secrets/API_KEY", f"{PROD}/text", f"{PROD}/import"):
        page = browser.open(path)
        assert HIDDEN not in page.text
        assert "no-store" in page.headers["Cache-Control"]


def test_a_mask_has_one_length_whatever_it_hides(browser):
    page = browser.open(PROD)
    assert len({mask.text for mask in page.html.find_all(class_="mask")}) == 1


def test_one_reveal_is_one_request_and_one_record(browser, service):
    page = browser.open(PROD)
    form = page.forms["reveal"]
    path = page.html.find("button", {"aria-label": "Reveal API_KEY"})["formaction"]
    shown = browser.post(path, dict(form.submit_fields()))
    assert shown.html.find("textarea", {"aria-label": "The value of API_KEY"}).text.strip() == HIDDEN
    assert shown.headers["Refresh"] == f"30;url={PROD}/secrets/API_KEY"
    assert "no-store" in shown.headers["Cache-Control"]
    (row,) = service.audit("secret.reveal")
    assert (row["reason"], json.loads(row["detail"])) == ("reveal", {"key": "API_KEY", "version": 1})


def test_a_value_is_shown_as_it_is(browser, vault):
    value = "\n<script>alert(1)</script> ${1+1}\r\n</textarea>&amp;"
    vault.set(API_KEY=value)
    page = submit(browser.open(f"{PROD}/secrets/API_KEY"), "/reveal", 200)
    # A browser takes the first line feed of a text area for none.
    assert page.html.find("textarea", class_="shown").text[1:] == value


@pytest.mark.parametrize(("format", "read"), [("env", read_env), ("json", json.loads)])
def test_an_export_is_a_file_and_a_record(reader, service, format, read):
    answer = reader.open(PROD).forms["export"].submit("format", value=format)
    assert read(answer.text) == {"API_KEY": HIDDEN, "DB_URL": "x" * 40}
    assert answer.headers["Content-Disposition"] == f'attachment; filename="shop-prod.{format}"'
    assert "no-store" in answer.headers["Cache-Control"]
    assert [row["reason"] for row in service.audit("secret.export")] == ["export"]


def test_the_editor_tells_who_changed_what_and_when(browser, vault):
    vault.set(DB_URL="y")
    row = browser.open(PROD).html.find("tr", {"data-key": "DB_URL"})
    assert row.find("td", class_="number").text == "2"
    assert "by root@example.com" in row.text
    assert row.find("time")["datetime"].endswith("+00:00")


def test_a_reader_sees_the_editor_with_its_fields_disabled(reader):
    page = reader.open(PROD)
    assert "needs the writer role" in page.text
    assert all(area.has_attr("disabled") for area in page.html.find_all("textarea"))
    assert "Edit as text" not in page.text
    for path in ("import", "text"):
        reader.open(f"{PROD}/{path}", 403)


def test_an_unreadable_row_stands_in_the_editor_and_on_its_own_page(browser, service):
    service.execute("UPDATE secret_version SET envelope = :bad", {"bad": b"damaged"})
    assert "unreadable: DECRYPT_FAILED" in browser.open(PROD).text
    page = browser.open(f"{PROD}/secrets/API_KEY")
    assert "cannot be read" in page.html.find(class_="problem").text
    assert "/reveal" not in {form.action.rpartition("/")[2] for form in page.forms.values()}


def test_a_secret_is_written_rolled_back_renamed_and_deleted_by_forms(browser, vault):
    path = f"{PROD}/secrets/API_KEY"
    page = write(browser.open(path), value="new\r\nline", description="Now", reason="why")
    assert "Written." in page.text
    assert vault.value("API_KEY") == "new\nline"
    page = submit(page, "/rollback")
    assert vault.value("API_KEY") == HIDDEN
    assert [row.th.text for row in page.html.tbody.find_all("tr")] == ["3", "2", "1"]
    page = submit(page, "/rename", to="API_TOKEN")
    assert page.request.path == f"{PROD}/secrets/API_TOKEN"
    page = submit(page, "/delete")
    assert page.request.path == PROD
    assert [*vault.listed()] == ["DB_URL"]
    page = browser.open(f"{PROD}/secrets/API_TOKEN")
    assert "was deleted" in page.text
    submit(page, "/rollback")
    assert vault.value("API_TOKEN") == HIDDEN


@pytest.mark.parametrize(
    ("form", "fields", "status"),
    [
        ("/rename", {"to": "DB_URL"}, 409),
        ("/rename", {"to": "no key"}, 422),
        ("/rename", {"to": "API_KEY"}, 422),
        ("/write-apply", {"value.API_KEY": "typed", "description.API_KEY": "d" * 1025}, 422),
        ("/write-apply", {"value.API_KEY": "v" * 65537}, 413),
    ],
)
def test_a_refused_form_of_a_secret_keeps_what_was_typed(browser, form, fields, status):
    page = submit(browser.open(f"{PROD}/secrets/API_KEY"), form, status, **fields)
    assert page.html.find(role="alert")
    for name, text in fields.items():
        field = page.html.find(attrs={"name": name})
        assert (field.get("value") or field.text.strip()) == text


@pytest.mark.parametrize("version", ["", "x", "9" * 17, "-1", "²", "٣"])
def test_a_version_that_is_none_is_refused(browser, vault, version):
    vault.set(API_KEY="2")
    page = browser.open(f"{PROD}/secrets/API_KEY")
    submit(page, "/rollback", 422, to_version=version)


def test_a_page_of_one_environment_opens_under_its_alias_and_leads_on_canonically(browser):
    page = browser.open("/p/shop/e/prod")
    assert page.html.find("th", {"scope": "row"}).a["href"] == f"{PROD}/secrets/API_KEY"


@pytest.mark.parametrize("count", [1, 300])
def test_pages_take_as_many_statements_for_many_secrets_as_for_one(make_service, service, vault, count):
    quiet = service.restarted(LAST_SEEN_RESOLUTION="3600000")
    vault.batch(set={f"K{number}": "x" for number in range(count)})
    browser = Browser(quiet)
    for path, most in ((PROD, 4), ("/projects/shop", 5), (f"{PROD}/secrets/K0", 6)):
        browser.open(path)
        with recorded(quiet.engine) as statements:
            browser.open(path)
        assert len(statements) <= most, statements
