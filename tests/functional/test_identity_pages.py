"""The pages of identities, and the caller's own, without JavaScript."""

from __future__ import annotations

import pytest
from pages import Browser, press, rows, submit, words
from service import ADMIN, HEADER, arrange
from statements import recorded

from secretsvc.kernel.ids import new_id
from secretsvc.tables.grants import grant
from secretsvc.tables.identities import identity

ADA, EVE = "ada@example.com", "eve@example.com"
EFFECTIVE = "section[aria-labelledby=effective]"


def test_everyone_sees_who_they_are_and_what_they_may_do_by_which_grant(admin, service):
    service.grant(ADA, "reader", "shop")
    service.grant(service.group("team", ADA), "writer", "shop/prod", group=True)
    page = Browser(service, ADA).open("/whoami")
    assert ADA in words(page)
    assert "Role everywhere none" in words(page)
    assert rows(page, EFFECTIVE) == [
        "shop reader reader at shop, granted directly never decisive",
        "shop / prod writer writer at shop / prod, through group team never decisive",
        "reader at shop, granted directly never",
    ]
    assert not page.html.select(f"{EFFECTIVE} a")


def test_whoever_holds_nothing_or_is_disabled_is_told_so(admin, service):
    eve = Browser(service, EVE)
    assert "no grant yet" in words(eve.open("/whoami"))
    service.grant(EVE, "admin", "shop")
    service.disable(EVE)
    page = eve.open("/whoami")
    assert "You are disabled" in words(page)
    assert rows(page, EFFECTIVE) == ["shop none, disabled admin at shop, granted directly never"]
    eve.open("/identities", 403)


def test_somebody_listed_is_an_admin_before_any_row_says_so(make_service):
    service = make_service()
    browser = Browser(service)
    browser.open("/whoami")
    service.execute(grant.delete())
    other = make_service(BOOTSTRAP_ADMINS=f"{ADMIN},{ADA}")
    ada = other.identity_id(ADA)
    page = Browser(other).open(f"/identities/{ada}")
    assert rows(page, EFFECTIVE) == [
        "everywhere admin admin everywhere, named in BOOTSTRAP_ADMINS never decisive"
    ]


def test_a_service_token_sees_itself(admin, service):
    robot = Browser(service)
    robot.extra_environ["HTTP_" + HEADER.upper().replace("-", "_")] = service.issuer.service("Deploy")
    assert "Subject Deploy" in words(robot.open("/whoami"))
    assert "Kind service token" in words(robot.open("/whoami"))


def test_identities_are_found_by_a_part_of_their_subject_or_name(browser, service):
    ada, eve = service.identity_id(ADA), service.identity_id("100%_eve", "service")
    service.user().patch(f"/identities/{ada}", {"display_name": "Countess Lovelace"})
    service.disable("100%_eve")
    for text, found in (
        ("", {ADMIN, ADA, "100%_eve"}),
        ("ADA", {ADA}),
        ("lovelace", {ADA}),
        ("%_", {"100%_eve"}),
        ("x%25y", set()),
    ):
        page = browser.open("/identities", params={"q": text})
        assert {link.text for link in page.html.select("tbody th a")} == found
        assert page.html.find(id="q")["value"] == text
    assert "service token disabled" in " ".join(rows(browser.open("/identities")))
    assert browser.open("/identities").html.find("a", href=f"/identities/{eve}")
    browser.open("/identities?q=%00", 422)
    browser.open(f"/identities?q={'x' * 321}", 422)


def test_identities_come_in_pages_of_a_hundred_that_keep_the_filter(browser, service):
    seen = {"kind": "service", "disabled": False, "created_at": 1, "last_seen_at": 1}
    service.execute(
        identity.insert(), [{"id": new_id(), "subject": f"robot-{n}", **seen} for n in range(130)]
    )
    page = browser.open("/identities?q=robot")
    assert len(rows(page)) == 100
    page = page.click("More identities")
    assert len(rows(page)) == 30
    assert page.html.find(id="q")["value"] == "robot"


def test_an_identity_is_shown_with_every_source_and_the_decisive_one_in_words(browser, service):
    service.grant(ADA, "reader", "shop", expires_at=2**50)
    team = service.group("team", ADA)
    service.grant(team, "writer", "shop/prod", group=True)
    page = browser.open(f"/identities/{service.identity_id(ADA)}")
    found = rows(page, EFFECTIVE)
    assert len(found) == 3
    assert found[1] == "shop / prod writer writer at shop / prod, through group team never decisive"
    assert "decisive" not in found[2]
    assert page.html.select_one(f'{EFFECTIVE} a[href="/groups/{team}"]')
    assert words(page, "section[aria-labelledby=groups]") == "Groups team team"
    form = next(one for one in page.forms.values() if one.action == "/grants")
    assert (form["holder_kind"].value, form["holder"].value) == ("user", ADA)


def test_an_admin_of_one_project_sees_the_scopes_that_it_administers(admin, service):
    service.grant(ADA, "admin", "shop/prod")
    service.grant(EVE, "reader", "shop/prod")
    service.grant(EVE, "reader", "shop/dev")
    page = Browser(service, ADA).open(f"/identities/{service.identity_id(EVE)}")
    assert rows(page, EFFECTIVE) == [
        "shop / prod reader reader at shop / prod, granted directly never decisive"
    ]
    assert len(page.html.select("section[aria-labelledby=grants] tbody tr")) == 1
    edit = page.html.select_one("section[aria-labelledby=edit]")
    assert all(field.has_attr("disabled") for field in edit.find_all("fieldset"))
    assert "needs the admin role everywhere" in edit.text


def test_an_identity_is_granted_a_role_and_loses_it_on_its_own_page(browser, service):
    ada = service.identity_id(ADA)
    page = browser.open(f"/identities/{ada}")
    page = submit(page, "/grants", role="writer", scope="shop/prod", expires_at="")
    assert page.request.path == f"/identities/{ada}"
    assert rows(page, EFFECTIVE) == [
        "shop / prod writer writer at shop / prod, granted directly never decisive"
    ]
    [row] = service.rows(grant, grant.c.identity_id == ada)
    page = press(page, "/remove-grant", "chosen", str(row["id"]))
    assert page.request.path == f"/identities/{ada}"
    assert rows(page, EFFECTIVE) == []


def test_an_identity_is_renamed_disabled_and_enabled_by_forms(browser, service):
    ada = service.identity_id(ADA)
    page = submit(browser.open(f"/identities/{ada}"), f"/{ada}", display_name="  Ada L. ")
    assert page.html.find("h1").text == "Ada L."
    page = press(page, "/switch", "disabled", "yes")
    assert "Disabled." in words(page)
    assert service.rows(identity, identity.c.id == ada)[0]["disabled"]
    page = press(page, "/switch", "disabled", "no")
    assert "State enabled" in words(page)
    assert [row["action"] for row in service.audit()][-3:] == ["identity.update"] * 3


@pytest.mark.parametrize("name", ["", " ", "x" * 257])
def test_a_name_that_is_none_is_refused_and_kept(browser, service, name):
    ada = service.identity_id(ADA)
    page = submit(browser.open(f"/identities/{ada}"), f"/{ada}", 422, display_name=name)
    assert page.html.find(id="display_name")["value"] == name
    assert page.html.find(id="display_name")["aria-invalid"] == "true"


def test_what_is_not_the_callers_to_change_is_denied(admin, service):
    service.grant(ADA, "admin", "shop")
    eve, ada = service.identity_id(EVE), Browser(service, ADA)
    token = ada.open("/whoami?x=1") and ada.open("/grants").html.find("input", {"name": "csrf"})["value"]
    ada.post(f"/identities/{eve}", {"csrf": token, "display_name": "E"}, status=403)
    ada.post(f"/identities/{eve}/switch", {"csrf": token, "disabled": "yes"}, status=403)
    browser = Browser(service)
    token = browser.open("/grants").html.find("input", {"name": "csrf"})["value"]
    browser.post(f"/identities/{eve}/switch", {"csrf": token, "disabled": "maybe"}, status=422)
    browser.post(f"/identities/{eve}/switch", {"disabled": "yes"}, status=403)
    browser.open(f"/identities/{new_id()}", 404)
    browser.open("/identities/nobody", 422)
    assert not service.rows(identity, identity.c.disabled)


@pytest.mark.parametrize("path", ["/identities", "/identities/{ada}", "/whoami"])
def test_a_page_costs_the_same_however_much_is_listed(make_service, path):
    arrange(make_service(), "shop", "prod")
    service = make_service(LAST_SEEN_RESOLUTION="3600000")
    ada, costs = service.identity_id(ADMIN if path == "/whoami" else ADA), []
    service.grant(service.group("first", ADA, ADMIN), "reader", "shop", group=True)
    for count in (2, 25):
        for number in range(count):
            team = service.group(f"t{count}-{number}", ADA, ADMIN, f"p{count}-{number}@example.com")
            service.grant(team, "writer", "shop/prod", group=True)
        with recorded(service.engine) as statements:
            Browser(service).open(path.format(ada=ada))
        costs.append(len(statements))
    assert costs[0] == costs[1] <= 7
