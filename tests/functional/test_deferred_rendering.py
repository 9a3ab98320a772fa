"""Pages are drawn when the database is let go of: drawing keeps no writer waiting, and reads nothing."""

from __future__ import annotations

import pytest
from pages import Browser, form_of, submit
from pyramid.events import BeforeRender
from secrets_client import Vault, block_audit, block_commit, tamper
from statements import recorded

from secretsvc.db.engine import write_transaction

PROD = "/projects/shop/environments/prod"
EDITOR, SECRET, IMPORT = PROD, f"{PROD}/secrets/A", f"{PROD}/import"


@pytest.fixture
def browser(vault: Vault, service) -> Browser:
    vault.set(A="1", B="2")
    return Browser(service)


@pytest.fixture
def drawings(service, browser):
    """The templates that are drawn from now on, at a moment when anybody else may write."""
    names = []

    def probe(event):
        if not event["renderer_name"].endswith(".pt"):
            return
        # SQLite's one lock, by another connection: it would wait for the request's own until that is over.
        with write_transaction(service.engine) as other:
            other.exec_driver_sql("DELETE FROM denial_tally")
        assert service.engine.pool.checkedout() == 0
        names.append(event["renderer_name"].rpartition("/")[2])

    registry = service.app.registry
    registry.registerHandler(probe, (BeforeRender,))
    yield names
    registry.unregisterHandler(probe, (BeforeRender,))


def post(browser, action, status, page=EDITOR, **fields):
    form = {"csrf": browser.open(page).html.find("input", {"name": "csrf"})["value"], **fields}
    return browser.post(f"{PROD}/{action}", form, status=status)


FORMS = {
    "a value": ("secrets/A/reveal", 200, {"reason": "reveal"}, "revealed.pt"),
    "the text": ("text", 200, {}, "text.pt"),
    "a review of edits": ("edit-review", 200, {"value.A": "x"}, "review.pt"),
    "a review of an import": (
        "import-review",
        200,
        {"format": "env", "mode": "merge", "content": "C="},
        "review.pt",
    ),
    "a review of a text": ("text-review", 200, {"content": "C=\n"}, "review.pt"),
    "a draft again": ("edit-back", 200, {"value.A": "x"}, "editor.pt"),
    "a refused edit": ("edit-review", 422, {"new.0.key": "-"}, "editor.pt"),
    "a refused import": (
        "import-apply",
        422,
        {"format": "env", "mode": "merge", "content": "x"},
        "import.pt",
    ),
    "a stale edit": ("edit-apply", 412, {"value.A": "x", "rev": "0"}, "conflict.pt"),
    "a refused write": ("secrets/A/write-apply", 413, {"value.A": "x" * 65_537}, "secret.pt"),
    "an absent secret": ("secrets/NONE/reveal", 404, {"reason": "reveal"}, "error.pt"),
    "a form of somebody else": ("edit-apply", 403, {"csrf": "x"}, "error.pt"),
    "a refused deletion": ("delete", 422, {"confirm": "x"}, "settings.pt"),
}


@pytest.mark.both_engines
@pytest.mark.parametrize("form", FORMS)
def test_a_form_that_answers_with_a_page_has_let_go_of_the_lock_before(browser, drawings, form):
    action, status, fields, template = FORMS[form]
    post(browser, action, status, **fields)
    assert drawings[-1] == template


def test_what_a_page_shows_and_what_a_template_asks_needs_no_database(browser, drawings, service):
    with recorded(service.engine) as statements:
        seen = []
        registry = service.app.registry
        handler = lambda event: seen.append(len(statements))  # noqa: E731 - to be unregistered
        registry.registerHandler(handler, (BeforeRender,))
        for path in ("/", "/projects", EDITOR, SECRET, f"{PROD}/settings", "/audit", "/whoami", "/grants"):
            browser.get(path, status="*")
            # The probe deletes once for each template.
            assert len(statements) <= seen[-1] + 1, path
        registry.unregisterHandler(handler, (BeforeRender,))


def test_a_value_is_not_drawn_before_its_record_is_kept(browser, drawings, service):
    page = browser.open(SECRET)
    form = form_of(page, "/reveal")
    block_commit(service)
    drawings.clear()
    form.submit(status=500)
    assert drawings == ["error.pt"]
    assert service.audit("secret.reveal") == []


def test_a_value_whose_record_is_refused_is_not_drawn(browser, drawings, service):
    form = form_of(browser.open(SECRET), "/reveal")
    block_audit(service)
    drawings.clear()
    assert ">1<" not in form.submit(status=500).text
    assert drawings == ["error.pt"]


def test_a_damaged_value_is_an_error_page_like_any_other(browser, drawings, service):
    form = form_of(browser.open(SECRET), "/reveal")
    tamper(service, "A")
    form.submit(status=500)
    assert drawings[-1] == "error.pt"


@pytest.mark.parametrize("service_settings", [{"RATE_LIMIT": "1/day"}])
def test_an_error_page_keeps_its_headers(make_service, service_settings):
    browser = Browser(make_service(**service_settings))
    browser.open("/")
    page = browser.open("/", 429)
    assert int(page.headers["Retry-After"]) > 0
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src")


@pytest.mark.both_engines
def test_a_dry_run_takes_no_lock(service, vault):
    """Neither over the API nor by a form: somebody else's transaction that writes does not hold it up."""
    vault.set(A="1")
    browser = Browser(service)
    page = browser.open(EDITOR)
    with write_transaction(service.engine) as other:
        other.exec_driver_sql("UPDATE environment SET name = 'Held'")
        assert vault.load("C=1", dry_run=True).json["changes"] == [{"key": "C", "kind": "added"}]
        form = page.forms["edits"]
        form["value.A"] = "x"
        assert "Review 1 change" in form.submit().text
    with service.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT name FROM environment").scalars().first() == "Held"


def test_a_page_that_is_drawn_again_after_a_refusal_only_reads(service, vault):
    vault.set(A="1")
    browser = Browser(service)
    page = browser.open(EDITOR)
    form = page.forms["edits"]
    form["new.1.key"] = "-"
    with recorded(service.engine) as statements:
        assert form.submit(status=422)
    assert not [one for one in statements if one.startswith(("INSERT", "UPDATE")) and "identity" not in one]
    assert submit(page, "/edit-review", 200, **{"value.A": "x", "new.1.key": ""})
