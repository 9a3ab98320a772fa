"""The page of one grant, without JavaScript: extending, shortening, renewing, changing the role."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from pages import Browser, form_of, submit, words
from service import ADMIN
from stopped_clock import StoppedClock

from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant

PROD = "/projects/shop/environments/prod"
ADA, EVE = "ada@example.com", "eve@example.com"
EVIL = "<b>&\"'${1+1}</b><script>x</script>"
#: 2030-12-31T18:00 UTC and a little more, which no field of a form holds.
LATER = 1_924_970_400_000 + 12_345
TYPED = "2030-12-31T18:00"


def terms(service, grant_id):
    [row] = service.rows(grant, grant.c.id == grant_id)
    return row["role"], row["expires_at"]


def refusal(page):
    return words(page, "[role=alert]")


@pytest.mark.parametrize("expires_at", [None, 1, LATER], ids=["endless", "ended", "live"])
@pytest.mark.parametrize("shared", [False, True], ids=["identity", "group"])
def test_every_list_of_grants_leads_to_the_page_of_each(browser, service, shared, expires_at):
    holder = service.group("team") if shared else service.identity_id(ADA)
    made = service.grant(holder, "writer", "shop/prod", expires_at=expires_at, group=shared)
    home = f"/groups/{holder}" if shared else f"/identities/{holder}"
    ended = "?show=ended" if expires_at == 1 else ""
    for path in ("/grants", home, f"/projects/shop/access{ended}", f"{PROD}/access{ended}"):
        link = browser.open(path).html.find("a", href=f"/grants/{made}")
        assert "Change" in link.text
        assert "writer" in link.find(class_="unseen").text
    page = browser.open(f"/grants/{made}")
    form = form_of(page, f"/grants/{made}")
    assert form["role"].value == "writer"
    assert form["until"].value == ""
    drawn = {None: "", 1: "1970-01-01T00:00", LATER: TYPED}[expires_at]
    assert form["expires_at"].value == drawn
    assert ("It has ended." in words(page)) == (expires_at == 1)
    page = submit(page, f"/grants/{made}", role="reader", expires_at="2031-01-01T00:00")
    assert page.request.path == home
    assert "Saved." in words(page, "[role=status]")
    assert terms(service, made) == ("reader", 1_924_992_000_000)
    [row] = service.audit("group.grant.update" if shared else "grant.update")
    assert json.loads(row["detail"])["before"] == {"role": "writer", "expires_at": expires_at}
    assert json.loads(row["detail"])["after"] == {"role": "reader", "expires_at": 1_924_992_000_000}


@pytest.mark.parametrize(("span", "days"), [("1w", 7), ("3m", 91), ("never", None)])
def test_a_span_goes_before_the_time_that_was_drawn(browser, service, monkeypatch, span, days):
    clock = StoppedClock(monkeypatch)
    made = service.grant(ADA, "writer", "shop/prod", expires_at=1)
    page = browser.open(f"/grants/{made}")
    submit(page, f"/grants/{made}", until=span, expires_at="")
    assert terms(service, made) == ("writer", days and clock.now + days * 86_400_000)


def test_it_is_removed_from_its_page_after_a_look_at_it(browser, service):
    made = service.grant(ADA, "writer", "shop/prod")
    page = browser.open(f"/grants/{made}").click("Remove…")
    assert f"{ADA} holds writer on Shop / Prod" in words(page, "[role=dialog]")
    page = submit(page, f"/grants/{made}/remove")
    assert page.request.path == f"/identities/{service.identity_id(ADA)}"
    assert "The grant was removed." in words(page, "[role=status]")
    assert not service.rows(grant, grant.c.id == made)


@pytest.mark.both_engines
def test_an_end_is_taken_away(browser, service):
    made = service.grant(ADA, "writer", "shop", expires_at=1)
    submit(browser.open(f"/grants/{made}"), f"/grants/{made}", expires_at=" ")
    assert terms(service, made) == ("writer", None)


def test_what_was_not_touched_stays_to_the_millisecond(browser, service):
    made = service.grant(ADA, "writer", "shop", expires_at=LATER)
    page = submit(browser.open(f"/grants/{made}"), f"/grants/{made}")
    assert "No changes to save." in words(page, "[role=status]")
    assert service.audit("grant.update") == []
    submit(browser.open(f"/grants/{made}"), f"/grants/{made}", role="reader")
    assert terms(service, made) == ("reader", LATER)


def test_what_somebody_else_changed_in_the_meantime_stays(browser, service, admin):
    made = service.grant(ADA, "writer", "shop", expires_at=LATER)
    page = browser.open(f"/grants/{made}")
    admin.patch(f"/grants/{made}", {"role": "reader"})
    submit(page, f"/grants/{made}", expires_at="")
    assert terms(service, made) == ("reader", None)


@pytest.mark.both_engines
def test_it_stays_after_a_refusal_too(browser, service, admin):
    service.grant(ADA, "reader", "shop")
    made = service.grant(ADA, "writer", "shop", expires_at=LATER)
    page = browser.open(f"/grants/{made}")
    admin.patch(f"/grants/{made}", {"expires_at": None})
    refused = submit(page, f"/grants/{made}", 409, role="reader")
    submit(refused, f"/grants/{made}", role="admin")
    assert terms(service, made) == ("admin", None)


def past():
    """A minute that is over, as the form's field has it."""
    return datetime.fromtimestamp(now_ms() / 1000 - 60, UTC).strftime("%Y-%m-%dT%H:%M")


@pytest.mark.parametrize(("role", "typed"), [("reader", past), ("reader", lambda: "soon"), ("owner", str)])
def test_a_refused_change_keeps_what_was_typed_and_says_why(browser, service, role, typed):
    made = service.grant(ADA, "writer", "shop", expires_at=LATER)
    typed = typed()
    token = browser.open(f"/grants/{made}").html.find("input", {"name": "csrf"})["value"]
    fields = {"csrf": token, "role": role, "expires_at": typed}
    page = browser.post(f"/grants/{made}", fields, status=422)
    field = "role" if role == "owner" else "expires_at"
    assert page.html.select_one(f"#{field}[aria-invalid=true], #{field} .bad")
    assert page.html.select_one(f'[role=alert] a[href="#{field}"]')
    assert page.html.find(id="expires_at")["value"] == typed
    assert terms(service, made) == ("writer", LATER)


def test_an_expired_grant_is_not_saved_with_its_past_end(browser, service):
    made = service.grant(ADA, "writer", "shop", expires_at=1)
    page = submit(browser.open(f"/grants/{made}"), f"/grants/{made}", 422, role="reader")
    assert "Must lie in the future" in refusal(page)
    assert terms(service, made) == ("writer", 1)


def test_over_the_api_a_past_end_may_be_granted(service, admin):
    ada = service.identity_id(ADA)
    body = {"scope_type": "project", "project": "shop", "identity_id": str(ada), "role": "reader"}
    made = admin.post("/grants", body | {"expires_at": 1}, 201).json
    admin.patch(f"/grants/{made['id']}", {"expires_at": 2})


@pytest.mark.both_engines
def test_a_change_that_would_repeat_another_grant_leads_to_that_one(browser, service):
    made = service.grant(ADA, "reader", "shop/prod", expires_at=LATER)
    other = service.grant(ADA, "admin", "shop/prod", expires_at=1)
    page = submit(browser.open(f"/grants/{made}"), f"/grants/{made}", 409, role="admin")
    assert form_of(page, f"/grants/{made}")["role"].value == "admin"
    assert page.click("Change that grant").request.path == f"/grants/{other}"
    assert terms(service, made) == ("reader", LATER)


def test_who_administers_a_place_by_this_very_grant_is_told_and_may_lower_it(admin, service):
    mine = service.grant(ADA, "admin", "shop/prod", expires_at=LATER)
    ada = Browser(service, ADA)
    page = ada.open(f"/grants/{mine}")
    assert "by this very grant" in words(page)
    refused = submit(page, f"/grants/{mine}", 403, expires_at="")
    assert "lower or shorten" in words(refused)
    assert [row["action"] for row in service.denials()] == ["authz.environment.admin"]
    assert terms(service, mine) == ("admin", LATER)
    other = service.grant(service.group("team", ADA), "admin", "shop", group=True)
    page = ada.open(f"/grants/{mine}")
    assert "by this very grant" not in words(page)
    submit(page, f"/grants/{mine}", expires_at="")
    assert "by this very grant" in words(ada.open(f"/grants/{other}"))
    submit(ada.open(f"/grants/{mine}"), f"/grants/{mine}", role="reader", expires_at=TYPED)
    assert terms(service, mine) == ("reader", LATER - 12_345)


def test_the_last_admin_stays_and_the_page_says_why(make_service):
    Browser(make_service()).open("/whoami")
    service = make_service(BOOTSTRAP_ADMINS="")
    [row] = service.rows(grant)
    page = submit(Browser(service).open(f"/grants/{row['id']}"), f"/grants/{row['id']}", 409, role="writer")
    assert "last usable global administrator" in refusal(page)
    assert terms(service, row["id"]) == ("admin", None)


def test_the_page_is_for_the_admins_of_the_grants_scope(admin, service):
    made = service.grant(EVE, "writer", "shop/prod")
    service.grant(ADA, "admin", "shop/dev")
    ada = Browser(service, ADA)
    token = ada.open("/grants").html.find("input", {"name": "csrf"})["value"]
    fields = {"csrf": token, "role": "admin", "expires_at": ""}
    for path, status in ((made, 404), (new_id(), 404), ("x", 422)):
        ada.open(f"/grants/{path}", status)
        ada.post(f"/grants/{path}", fields, status=status)
    service.grant(ADA, "writer", "shop/prod")
    ada.open(f"/grants/{made}", 403)
    ada.post(f"/grants/{made}", fields, status=403)
    Browser(service, EVE).open(f"/grants/{made}", 403)
    Browser(service).post(f"/grants/{made}", fields | {"csrf": token}, status=403)
    Browser(service).post(f"/grants/{made}", fields | {"csrf": ""}, status=403)
    assert terms(service, made) == ("writer", None)


@pytest.mark.slow
def test_hostile_names_are_shown_as_text(browser, service):
    made = service.grant(service.identity_id(EVIL, "service"), "reader", "shop")
    twin = service.grant(service.identity_id(EVIL, "service"), "writer", "shop")
    page = browser.open(f"/grants/{made}")
    conflict = submit(page, f"/grants/{made}", 409, role="writer")
    for one in (page, conflict, browser.open(f"/grants/{twin}")):
        assert EVIL in one.html.text
        assert not one.html.find("script", src=None)
        assert not [bold for bold in one.html.find_all("b") if "1+1" in bold.text and "<b>" not in bold.text]


def test_the_administrator_who_is_listed_may_raise_anything(browser, service, admin):
    [mine] = [one for one in admin.get("/grants").json["items"] if one["created_by"] == "system"]
    assert ADMIN in words(browser.open(f"/grants/{mine['id']}"))
    assert "by this very grant" not in words(browser.open(f"/grants/{mine['id']}"))
