"""Settings that somebody else changes meanwhile: nothing is undone unseen, and nothing typed is lost."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from fault_injection import at_once
from pages import Browser, form_of, words
from sample_data import furnish
from service import ADMIN

pytestmark = pytest.mark.both_engines

PROD = "/projects/shop/environments/prod"


class Settings(NamedTuple):
    """A page with a form, the end of the form's address, its field and another, and the action in the log."""

    page: str
    action: str
    field: str
    other: str | None
    recorded: str


SETTINGS = [
    Settings("/projects/shop/settings", "/settings", "name", "description", "project.update"),
    Settings(f"{PROD}/settings", "/settings", "name", "description", "environment.update"),
    Settings("/groups/{crew}?edit", "/groups/{crew}", "name", "description", "group.update"),
    Settings("/identities/{wendy}?rename", "/identities/{wendy}", "display_name", None, "identity.update"),
]


@pytest.fixture(params=SETTINGS, ids=[one.recorded for one in SETTINGS])
def settings(request, service):
    ids = furnish(service)
    one = request.param
    return one._replace(page=one.page.format(**ids), action=one.action.format(**ids))


def typed(page, settings, **fields):
    """The form, filled in."""
    form = form_of(page, settings.action)
    for name, value in fields.items():
        form[name] = value
    return form


def writes(service, settings):
    return service.audit(settings.recorded)


@pytest.mark.slow
def test_who_comes_second_is_told_what_is_there_and_decides(service, settings):
    first, second = Browser(service), Browser(service)
    mine = typed(second.open(settings.page), settings, **{settings.field: "Mine"})
    typed(first.open(settings.page), settings, **{settings.field: "Theirs"}).submit(status=303)
    page = mine.submit(status=412)
    assert "Somebody else changed this while you were editing" in words(page, "[role=alert]")
    assert "It is “Theirs” now." in page.html.find(id=f"{settings.field}-help").text
    again = form_of(page, settings.action)
    assert again[settings.field].value == "Mine"
    assert len(writes(service, settings)) == 1
    again.submit(status=303)
    drawn = form_of(second.open(settings.page), settings.action)
    assert drawn[settings.field].value == "Mine"
    assert len(writes(service, settings)) == 2


def test_a_refusal_does_not_hide_what_others_changed(service, settings):
    browser = Browser(service)
    mine = typed(browser.open(settings.page), settings, **{settings.field: "x" * 257})
    typed(browser.open(settings.page), settings, **{settings.field: "Theirs"}).submit(status=303)
    page = mine.submit(status=422)
    assert form_of(page, settings.action)[settings.field].value == "x" * 257
    typed(page, settings, **{settings.field: "Mine"}).submit(status=412)


@pytest.mark.parametrize("settings", SETTINGS[:3], ids=[one.recorded for one in SETTINGS[:3]], indirect=True)
def test_another_field_that_others_changed_is_not_put_back_unseen(service, settings):
    browser = Browser(service)
    mine = typed(browser.open(settings.page), settings, **{settings.field: "Mine"})
    typed(browser.open(settings.page), settings, **{settings.other: "Theirs"}).submit(status=303)
    page = mine.submit(status=412)
    assert "It is “Theirs” now." in page.html.find(id=f"{settings.other}-help").text


def test_a_form_that_is_sent_twice_writes_once_and_leads_to_the_same_page(service, settings):
    form = typed(Browser(service).open(settings.page), settings, **{settings.field: "Mine"})
    first, second = (form.submit(status=303) for _ in range(2))
    assert first.location == second.location
    assert len(writes(service, settings)) == 1


def test_a_form_that_names_no_state_changes_nothing(service, settings):
    form = typed(Browser(service).open(settings.page), settings, **{settings.field: "Mine"})
    form["seen"] = ""
    form.submit(status=412)
    assert writes(service, settings) == []


def test_who_sends_a_form_of_its_own_without_that_field_is_not_asked_for_it(service, settings):
    form = typed(Browser(service).open(settings.page), settings, **{settings.field: "Mine"})
    form.fields.pop("seen")
    form.field_order = [one for one in form.field_order if one[0] != "seen"]
    form.submit(status=303)
    assert len(writes(service, settings)) == 1


@pytest.mark.slow
def test_of_two_at_the_same_moment_one_is_told(service, settings):
    for turn in range(4):
        forms = [
            typed(
                Browser(service, ADMIN).open(settings.page), settings, **{settings.field: f"{turn} {number}"}
            )
            for number in range(2)
        ]
        answers = at_once(2, lambda number, forms=forms: forms[number].submit(status="*").status_int)
        assert sorted(answers) == [303, 412]
        assert len(writes(service, settings)) == turn + 1


def test_whether_an_environment_is_protected_survives_a_refusal_and_is_told_when_it_has_changed(service):
    furnish(service)
    browser = Browser(service)
    form = form_of(browser.open(f"{PROD}/settings"), "/settings")
    form["protected"], form["name"] = True, ""
    page = form.submit(status=422)
    assert form_of(page, "/settings")["protected"].checked
    theirs = form_of(browser.open(f"{PROD}/settings"), "/settings")
    theirs["protected"] = True
    theirs.submit(status=303)
    mine = form_of(page, "/settings")
    mine["protected"], mine["name"] = False, "Mine"
    page = mine.submit(status=412)
    assert not form_of(page, "/settings")["protected"].checked
    assert "It is protected now." in words(page)


def test_the_api_changes_settings_whatever_they_were(service, admin):
    for name in ("One", "Two", "Two"):
        admin.patch("/projects/shop", {"name": name})
    assert len(service.audit("project.update")) == 3
