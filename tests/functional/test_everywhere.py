"""A key is renamed or deleted in all environments of its project, without JavaScript."""

from __future__ import annotations

import pytest
from pages import Browser, form_of, submit, words
from secrets_client import Vault
from statements import recorded

from secretsvc.secrets.write import write
from secretsvc.secrets.write.apply_plan import LostRace, apply_plan

PROJECT = "/projects/shop"
WANDA = "wanda@example.com"
BOTH = ("rename", "delete")


@pytest.fixture
def dev(vault) -> Vault:
    return Vault(vault.client, f"{PROJECT}/environments/dev")


@pytest.fixture
def browser(vault, dev, service) -> Browser:
    vault.batch(set={"DB_URL": "one", "OTHER": "x"})
    dev.batch(set={"DB_URL": "two", "TAKEN": "x"})
    return Browser(service)


def opened(browser, did, key="DB_URL"):
    return browser.open(f"{PROJECT}/{did}-everywhere?key={key}")


def carried_out(browser, did, status=303, **fields):
    """The page of a key's row in the matrix, filled in and sent."""
    path = browser.open(PROJECT).html.select_one(f"#key-DB_URL a[href*='{did}-everywhere']")["href"]
    return submit(browser.open(path), f"/{did}-everywhere", status, **fields)


def test_a_key_is_renamed_wherever_it_is(browser, vault, dev, service):
    page = opened(browser, "rename")
    assert words(page, "h1") == "Rename DB_URL everywhere"
    assert words(page, "#environments") == "Will be renamed in 2 environments"
    page = carried_out(browser, "rename", to="DATABASE_URL", reason="One name")
    assert page.request.path == PROJECT
    assert "Renamed the key in 2 environments." in page.html.text
    values = [one.get("secrets/DATABASE_URL").json["value"] for one in (vault, dev)]
    assert values == ["one", "two"]
    assert "DB_URL" not in {*vault.listed(), *dev.listed()}
    written = [row for row in service.audit() if row["action"] == "secret.rename"]
    assert [row["reason"] for row in written] == ["One name"] * 2


def test_a_key_is_deleted_wherever_it_is_and_can_be_brought_back(browser, vault, dev):
    page = carried_out(browser, "delete")
    assert "Deleted the key from 2 environments." in page.html.text
    assert ([*vault.listed()], [*dev.listed()]) == (["OTHER"], ["TAKEN"])
    vault.rollback("DB_URL", 1)
    assert vault.get("secrets/DB_URL").json["value"] == "one"


@pytest.mark.both_engines
@pytest.mark.parametrize("did", BOTH)
def test_what_was_changed_meanwhile_is_left_as_it_is_everywhere(browser, vault, dev, service, did):
    page = opened(browser, did)
    vault.set(OTHER="y")
    form = form_of(page, f"/{did}-everywhere")
    fields = dict(form.submit_fields()) | ({"to": "NEW"} if did == "rename" else {})
    page = browser.post(f"{PROJECT}/{did}-everywhere", fields, status=412)
    assert "Prod was changed meanwhile: nothing was written." in words(page)
    assert "DB_URL" in dev.listed()
    assert "DB_URL" in vault.listed()
    # The page that says so is of the present state, and can be sent.
    submit(page, f"/{did}-everywhere")
    assert "DB_URL" not in {*vault.listed(), *dev.listed()}


@pytest.mark.both_engines
@pytest.mark.parametrize("did", BOTH)
def test_another_environment_that_got_the_key_meanwhile_is_not_passed_over(browser, admin, dev, did):
    page = opened(browser, did)
    admin.post(f"{PROJECT}/environments", {"slug": "test", "name": "Test"}, 201)
    Vault(admin, f"{PROJECT}/environments/test").set(DB_URL="three")
    fields = dict(form_of(page, f"/{did}-everywhere").submit_fields()) | {"to": "NEW"}
    page = browser.post(f"{PROJECT}/{did}-everywhere", fields, status=412)
    assert "Other environments have the key by now" in words(page)
    assert "DB_URL" in dev.listed()


def test_a_name_that_is_taken_somewhere_is_refused_everywhere(browser, vault, dev):
    page = carried_out(browser, "rename", 409, to="TAKEN")
    assert "Dev has TAKEN already." in words(page)
    assert page.html.find(id="to")["value"] == "TAKEN"
    assert "DB_URL" in vault.listed()
    page = carried_out(browser, "rename", 422, to="no key")
    assert page.html.find(id="to")["aria-invalid"] == "true"


@pytest.mark.slow
@pytest.mark.parametrize("did", BOTH)
def test_a_protected_environment_needs_a_reason(browser, admin, vault, did):
    admin.patch(f"{PROJECT}/environments/prod", {"protected": True})
    fields = {"to": "NEW"} if did == "rename" else {}
    page = opened(browser, did)
    assert "Prod is protected." in words(page)
    assert page.html.find(id="reason").has_attr("required")
    carried_out(browser, did, 422, **fields)
    assert "DB_URL" in vault.listed()
    carried_out(browser, did, reason="It goes", **fields)
    assert "DB_URL" not in vault.listed()


@pytest.mark.both_engines
@pytest.mark.parametrize("did", BOTH)
def test_it_goes_as_far_as_the_caller_may_write_and_says_where_it_does_not(browser, service, vault, dev, did):
    service.grant(WANDA, "writer", "shop/dev")
    wanda = Browser(service, WANDA)
    assert "Prod" not in words(opened(wanda, did))
    service.grant(WANDA, "reader", "shop")
    assert "Prod stays as it is: you may not write there" in words(opened(wanda, did))
    fields = dict(form_of(opened(wanda, did), f"/{did}-everywhere").submit_fields()) | {"to": "NEW"}
    wanda.post(f"{PROJECT}/{did}-everywhere", fields | {"rev.prod": "1"}, status=403)
    assert denials(service) == ["authz.environment.writer"]
    wanda.post(f"{PROJECT}/{did}-everywhere", fields, status=303)
    assert "DB_URL" not in dev.listed()
    assert "DB_URL" in vault.listed()
    assert "It is in no environment that you may write to." in words(opened(wanda, did, "OTHER"))


def denials(service):
    return [row["action"] for row in service.audit() if row["outcome"] == "denied"]


@pytest.mark.parametrize("did", BOTH)
@pytest.mark.parametrize("seen", [{"rev.prod": "1", "rev.dev": "1"}, {}], ids=["seen", "unseen"])
def test_who_may_write_nowhere_is_denied_and_that_is_recorded(browser, service, dev, did, seen):
    service.grant("rita@example.com", "reader", "shop")
    rita = Browser(service, "rita@example.com")
    token = rita.open(PROJECT).html.find("input", {"name": "csrf"})["value"]
    fields = {"csrf": token, "key": "DB_URL", "to": "NEW", **seen}
    rita.post(f"{PROJECT}/{did}-everywhere", fields, status=403)
    assert denials(service) == ["authz.environment.writer"]
    assert "DB_URL" in dev.listed()


@pytest.mark.slow
@pytest.mark.both_engines
@pytest.mark.parametrize("did", BOTH)
def test_a_form_that_is_sent_twice_ends_where_the_key_was(browser, service, did):
    service.grant(WANDA, "writer", "shop/dev")
    service.grant(WANDA, "reader", "shop")
    # The one may write to all of them, the other leaves the key in one.
    for one in (Browser(service, WANDA), browser):
        form = form_of(opened(one, did), f"/{did}-everywhere")
        if did == "rename":
            form["to"] = "NEW"
        form.submit(status=303)
        page = form.submit(status=303).follow()
        assert page.request.path == PROJECT
        assert "No changes to save." in words(page)


@pytest.mark.both_engines
def test_a_rename_of_what_somebody_else_deleted_meanwhile_is_not_said_to_be_done(browser, vault, dev):
    form = form_of(opened(browser, "rename"), "/rename-everywhere")
    form["to"] = "NEW"
    for one in (vault, dev):
        one.batch(delete=["DB_URL"])
    form.submit(status=404)


@pytest.mark.parametrize("did", BOTH)
def test_a_reader_has_no_such_entry_and_a_stranger_no_such_page(browser, service, did):
    service.grant("rita@example.com", "reader", "shop")
    rita = Browser(service, "rita@example.com")
    assert not rita.open(PROJECT).html.select("a[href*='everywhere']")
    Browser(service, "new@example.com").open(f"{PROJECT}/{did}-everywhere?key=DB_URL", 404)
    token = browser.open(f"{PROJECT}?menu=").html.find("input", {"name": "csrf"})["value"]
    browser.post(f"{PROJECT}/{did}-everywhere", {"csrf": token, "key": "ABSENT", "to": "B"}, status=404)


@pytest.mark.parametrize("did", BOTH)
def test_a_key_or_a_revision_that_nobody_can_have_is_refused(browser, did):
    for query, status in {"": 303, "?key=no+key": 422, "?key=%00": 422, "?key=ABSENT": 404}.items():
        browser.open(f"{PROJECT}/{did}-everywhere{query}", status)
    token = form_of(opened(browser, did), f"/{did}-everywhere")["csrf"].value
    for rev in ("x", "-1", "9" * 30):
        fields = {"csrf": token, "key": "DB_URL", "to": "B", "rev.prod": rev, "rev.dev": "1"}
        browser.post(f"{PROJECT}/{did}-everywhere", fields, status=422)


@pytest.mark.both_engines
def test_the_page_takes_three_statements_however_much_there_is(make_service, vault):
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    vault.batch(set={f"KEY_{number}": "x" for number in range(60)})
    browser = Browser(service)
    browser.open(PROJECT)
    with recorded(service.engine) as statements:
        browser.open(f"{PROJECT}/rename-everywhere?key=KEY_0")
    # Authentication, the environments that have the key, and the sidebar's project.
    assert len(statements) == 3


def test_a_race_lost_in_one_environment_leaves_all_as_they_were(browser, vault, dev, monkeypatch):
    tries = iter([apply_plan, lost, apply_plan])
    monkeypatch.setattr(write, "apply_plan", lambda *given: next(tries)(*given))
    page = carried_out(browser, "rename", to="NEW", status=409)
    assert "A write got in between: nothing was written." in words(page)
    assert "DB_URL" in dev.listed()
    assert "DB_URL" in vault.listed()


def lost(*_):
    raise LostRace
