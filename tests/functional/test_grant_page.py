"""The page of one grant, without JavaScript: extending, shortening, renewing, changing the role."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from pages import Browser, form_of, submit, words
from service import ADMIN

from secretsvc.kernel.clock import now_ms
from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant

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


@pytest.mark.parametrize("expires_at", [None, 1, LATER], ids=["endless", "expired", "live"])
@pytest.mark.parametrize("shared", [False, True], ids=["identity", "group"])
def test_every_list_of_grants_leads_to_the_page_of_each(browser, service, shared, expires_at):
    holder = service.group("team") if shared else service.identity_id(ADA)
    made = service.grant(holder, "writer", "shop/prod", expires_at=expires_at, group=shared)
    home = f"/groups/{holder}" if shared else f"/identities/{holder}"
    for path in ("/grants", home, "/projects/shop/access", "/projects/shop/environments/prod/access"):
        link = browser.open(path).html.find("a", href=f"/grants/{made}")
        verb = "Renew" if expires_at == 1 else "Change"
        name = "team" if shared else ADA
        assert " ".join(link.text.split()) == f"{verb} writer of {name} at shop / prod"
    page = browser.open(f"/grants/{made}")
    form = form_of(page, f"/grants/{made}")
    assert form["role"].value == "writer"
    drawn = {None: "", 1: "1970-01-01T00:00", LATER: TYPED}[expires_at]
    assert form["expires_at"].value == drawn
    assert ("Expired." in words(page)) == (expires_at == 1)
    page = submit(page, f"/grants/{made}", role="reader", expires_at="2031-01-01T00:00")
    assert page.request.path == home
    assert "Saved." in words(page, "[role=status]")
    assert terms(service, made) == ("reader", 1_924_992_000_000)
    [row] = service.audit("group.grant.update" if shared else "grant.update")
    assert json.loads(row["detail"])["before"] == {"role": "writer", "expires_at": expires_at}
    log = words(browser.open("/audit?action=" + row["action"]))
    assert f"before role writer, expires at {expires_at or 'none'}" in log
    assert "after role reader, expires at 1924992000000" in log


def test_an_end_is_taken_away(browser, service):
    made = service.grant(ADA, "writer", "shop", expires_at=1)
    submit(browser.open(f"/grants/{made}"), f"/grants/{made}", expires_at=" ")
    assert terms(service, made) == ("writer", None)


def test_what_was_not_touched_stays_to_the_millisecond(browser, service):
    made = service.grant(ADA, "writer", "shop", expires_at=LATER)
    page = submit(browser.open(f"/grants/{made}"), f"/grants/{made}")
    assert "Nothing had to be changed." in words(page, "[role=status]")
    assert service.audit("grant.update") == []
    submit(browser.open(f"/grants/{made}"), f"/grants/{made}", role="reader")
    assert terms(service, made) == ("reader", LATER)


def test_what_somebody_else_changed_in_the_meantime_stays(browser, service, admin):
    made = service.grant(ADA, "writer", "shop", expires_at=LATER)
    page = browser.open(f"/grants/{made}")
    admin.patch(f"/grants/{made}", {"role": "reader"})
    submit(page, f"/grants/{made}", expires_at="")
    assert terms(service, made) == ("reader", None)


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
    assert page.html.find(id=field)["aria-invalid"] == "true"
    assert page.html.find(id=f"{field}-help").find(class_="issue").text
    assert page.html.find(id="expires_at")["value"] == typed
    assert terms(service, made) == ("writer", LATER)


def test_an_expired_grant_is_not_saved_with_its_past_end(browser, service):
    made = service.grant(ADA, "writer", "shop", expires_at=1)
    page = submit(browser.open(f"/grants/{made}"), f"/grants/{made}", 422, role="reader")
    assert "Must lie in the future" in refusal(page)
    assert terms(service, made) == ("writer", 1)


def test_a_past_end_is_not_granted_by_a_form_but_over_the_api(browser, service, admin):
    fields = {"holder_kind": "user", "holder": ADA, "role": "reader", "scope": "shop"}
    ada = service.identity_id(ADA)
    page = submit(browser.open("/grants"), "/grants", 422, **fields, expires_at=past())
    assert page.html.find(id="expires_at")["aria-invalid"] == "true"
    assert "Must lie in the future" in words(page, "#expires_at-help")
    assert service.rows(grant, grant.c.identity_id == ada) == []
    body = {"scope_type": "project", "project": "shop", "identity_id": str(ada), "role": "reader"}
    made = admin.post("/grants", body | {"expires_at": 1}, 201).json
    admin.patch(f"/grants/{made['id']}", {"expires_at": 2})


@pytest.mark.parametrize(("scope", "expires_at"), [("global", None), ("shop", 1), ("shop/prod", LATER)])
@pytest.mark.parametrize("shared", [False, True], ids=["identity", "group"])
def test_whoever_grants_the_same_again_is_led_to_what_is_there(browser, service, shared, scope, expires_at):
    holder = service.group("team") if shared else service.identity_id(ADA)
    made = service.grant(holder, "writer", scope, expires_at=expires_at, group=shared)
    service.grant(holder, "reader", scope, group=shared)
    service.grant(EVE, "writer", scope)
    asked = {"holder_kind": "group", "holder": "team"} if shared else {"holder_kind": "user", "holder": ADA}
    asked |= {
        "role": "writer",
        "scope": "*" if scope == "global" else scope,
        "expires_at": "2031-01-01T00:00",
    }
    page = submit(browser.open("/grants"), "/grants", 409, **asked)
    assert "The same grant exists already." in refusal(page)
    place = {"global": "everywhere", "shop": "at shop", "shop/prod": "at shop / prod"}[scope]
    end = {None: "never", 1: "1970-01-01 00:00 UTC expired", LATER: "2030-12-31 18:00 UTC"}[expires_at]
    said = f"{asked['holder']} already has a grant of writer {place}. It expires: {end}. Change that grant"
    assert words(page, ".notice.warning").replace(" .", ".") == said
    page = page.click("Change that grant")
    assert page.request.path == f"/grants/{made}"


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


def test_hostile_names_are_shown_as_text(browser, service):
    made = service.grant(service.identity_id(EVIL, "service"), "reader", "shop")
    twin = service.grant(service.identity_id(EVIL, "service"), "writer", "shop")
    page = browser.open(f"/grants/{made}")
    conflict = submit(page, f"/grants/{made}", 409, role="writer")
    for one in (page, conflict, browser.open(f"/grants/{twin}")):
        assert EVIL in one.html.text
        assert not one.html.find("b")
        assert all(script.get("src") for script in one.html.find_all("script"))


def test_the_administrator_who_is_listed_may_raise_anything(browser, service, admin):
    [mine] = [one for one in admin.get("/grants").json["items"] if one["created_by"] == "system"]
    assert ADMIN in words(browser.open(f"/grants/{mine['id']}"))
    assert "by this very grant" not in words(browser.open(f"/grants/{mine['id']}"))
