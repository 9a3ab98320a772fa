"""The panel that gives access, on each page that has it, without JavaScript."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pages import Browser, words
from service import ADMIN
from stopped_clock import StoppedClock

from secretsvc.tables.grants import grant, group_member
from secretsvc.tables.identities import identity

ADA, EVE = "ada@example.com", "eve@example.com"
DAY = 86_400_000
HOUR = 3_600_000
EVIL = "<b>&\"'${1+1}</b><script>x</script>"
PROJECT, PROD = SCOPES = ("/projects/shop/access", "/projects/shop/environments/prod/access")
EVERY_PANEL = (*SCOPES, "/grants")


def panel(page):
    """The form of the open panel."""
    (found,) = page.html.select("[role=dialog] form")
    forms = {id(form): form for form in page.forms.values()}.values()
    return next(form for form in forms if form.action == found["action"] and "role" in form.fields)


def give(browser, path, status=303, **fields):
    """Fills in the panel of a page and sends it."""
    form = panel(browser.open(f"{path}?grant"))
    for name, value in fields.items():
        form[name] = value
    answer = form.submit(status=status)
    return answer.follow() if status == 303 else answer


@pytest.mark.both_engines
@pytest.mark.parametrize("path", EVERY_PANEL)
def test_a_role_is_given_from_a_panel_that_leads_back(browser, service, path):
    ada = service.identity_id(ADA)
    page = give(browser, path, holder="  Ada@Example.com ", role="writer", scope="shop/prod", until="never")
    assert page.request.path == path
    assert "Access was given." in words(page, "[role=status]")
    [row] = service.rows(grant, grant.c.identity_id == ada)
    assert (row["role"], row["scope_type"], row["expires_at"]) == ("writer", "environment", None)
    assert [one["action"] for one in service.audit()][-1] == "grant.create"


@pytest.mark.both_engines
@pytest.mark.parametrize(
    ("scope", "scope_type"), [("*", "global"), ("shop", "project"), ("shop/dev", "environment")]
)
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("team", "group_id"),
        ("The team", "group_id"),
        ("The team (group)", "group_id"),
        ("team (group)", "group_id"),
        ("Deploy", "identity_id"),
        ("Deploy (service token)", "identity_id"),
    ],
)
def test_whom_a_name_means_is_found_without_a_kind(browser, service, admin, scope, scope_type, name, column):
    made = admin.post("/groups", {"slug": "team", "name": "The team"}, 201).json["id"]
    robot = service.identity_id("Deploy", "service")
    give(browser, "/grants", holder=name, scope=scope)
    [row] = service.rows(grant, grant.c.scope_type == scope_type, grant.c.role == "reader")
    assert str(row[column]) == (made if column == "group_id" else str(robot))


def test_of_several_of_one_name_the_words_behind_it_tell(browser, service):
    service.identity_id("deploy", "service")
    service.group("deploy")
    page = give(browser, PROJECT, 422, holder="deploy", scope="shop")
    assert "Several have this name." in words(page, "#holder-help")
    for suffix in ("(group)", "(service token)"):
        give(browser, PROJECT, holder=f"deploy {suffix}", scope="shop")
    assert len(service.rows(grant, grant.c.role == "reader")) == 2


def test_names_are_suggested_with_their_kinds(browser, service, admin):
    admin.post("/groups", {"slug": "team", "name": "The team"}, 201)
    service.identity_id("robot", "service")
    page = browser.open(f"{PROJECT}?grant")
    suggested = [one["value"] for one in page.html.find("datalist").find_all("option")]
    assert suggested == [ADMIN, "robot (service token)", "The team (group)"]


@pytest.mark.parametrize(
    ("span", "length"), [("1h", HOUR), ("1d", DAY), ("1w", 7 * DAY), ("3m", 91 * DAY), ("never", None)]
)
def test_a_span_is_counted_from_now(browser, service, monkeypatch, span, length):
    clock = StoppedClock(monkeypatch)
    ada = service.identity_id(ADA)
    give(browser, PROJECT, holder=ADA, scope="shop", until=span)
    [row] = service.rows(grant, grant.c.identity_id == ada)
    assert row["expires_at"] == (clock.now + length if length else None)


def test_a_week_is_offered_and_an_exact_time_goes_before_a_span(browser, service):
    ada = service.identity_id(ADA)
    assert panel(browser.open(f"{PROJECT}?grant"))["until"].value == "1w"
    give(browser, PROJECT, holder=ADA, scope="shop", until="1h", expires_at="2030-12-31T18:00")
    [row] = service.rows(grant, grant.c.identity_id == ada)
    assert row["expires_at"] == 1_924_970_400_000


REFUSED = [
    ({"holder": "nobody@example.com"}, "holder", 422),
    ({"holder": "nobody"}, "holder", 422),
    ({"holder": " "}, "holder", 422),
    ({"holder": EVIL}, "holder", 422),
    ({"holder": "x" * 341}, "holder", 422),
    ({"expires_at": "tomorrow"}, "expires_at", 422),
    ({"expires_at": "0001-01-01T00:00"}, "expires_at", 422),
    ({"expires_at": "٢٠٣٠-12-31T18:00"}, "expires_at", 422),
    ({}, None, 409),
]


@pytest.mark.parametrize("path", EVERY_PANEL)
@pytest.mark.parametrize(
    ("changes", "field", "status"),
    REFUSED,
    ids=str,
)
def test_a_refused_form_keeps_all_that_was_typed_and_says_why(browser, service, path, changes, field, status):
    service.grant(ADA, "writer", "shop/prod")
    typed = {"holder": ADA, "role": "writer", "scope": "shop/prod", "until": "1d"}
    typed |= {"expires_at": "2030-12-31T18:00"} | changes
    page = give(browser, path, status, **typed)
    form = panel(page)
    assert {name: form[name].value for name in typed} == typed
    assert page.html.select_one("[role=dialog] [role=alert]")
    if field:
        assert page.html.find(id=field)["aria-invalid"] == "true"
        link = page.html.select_one("[role=alert] a")
        assert link["href"] == f"#{field}"
        assert link.has_attr("autofocus")
        assert link.text.startswith({"holder": "Who: ", "expires_at": "Until: "}[field])
    assert len(service.rows(grant)) == 2


@pytest.mark.slow
def test_everything_that_is_wrong_is_said_at_once(browser, service):
    token = browser.open(f"{PROJECT}?grant").html.find("input", {"name": "csrf"})["value"]
    fields = {"csrf": token, "holder": "", "role": "owner", "scope": "", "expires_at": "soon"}
    page = browser.post(PROJECT, fields, status=422)
    told = [line.text for line in page.html.select("[role=alert] li")]
    assert [line.partition(":")[0] for line in told] == ["Who", "Role", "Until", "Where"]
    for scope in ("shop/prod/x", "A B", "shop/"):
        page = browser.post(PROJECT, fields | {"holder": ADMIN, "role": "reader", "scope": scope}, status=422)
        assert page.html.select_one("[role=alert] a[href='#scope']"), scope


def typed(moment):
    """A minute as the field of a form has it."""
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%dT%H:%M")


def test_a_past_end_is_not_given_by_a_form(browser, service, monkeypatch):
    clock = StoppedClock(monkeypatch)
    minute = clock.now - clock.now % 60_000
    ada = service.identity_id(ADA)
    fields = {"holder": ADA, "scope": "shop", "until": "1w"}
    page = give(browser, PROJECT, 422, **fields, expires_at=typed(minute))
    assert "Must lie in the future" in words(page, "#expires_at-help")
    assert service.rows(grant, grant.c.identity_id == ada) == []
    give(browser, PROJECT, **fields, expires_at=typed(minute + 60_000))


@pytest.mark.parametrize("expires_at", [None, 1, 1_924_970_412_345], ids=["endless", "ended", "live"])
@pytest.mark.parametrize("path", EVERY_PANEL)
def test_what_is_given_already_says_until_when_and_takes_another_end(browser, service, path, expires_at):
    made = service.grant(ADA, "writer", "shop/prod", expires_at=expires_at)
    service.grant(ADA, "reader", "shop/prod")
    service.grant(EVE, "writer", "shop/prod")
    asked = {"holder": ADA, "role": "writer", "scope": "shop/prod", "expires_at": "2031-01-01T00:00"}
    page = give(browser, path, 409, **asked)
    end = {
        None: "has no end",
        1: "ended 1970-01-01 00:00 UTC",
        1_924_970_412_345: "ends 2030-12-31 18:00 UTC",
    }[expires_at]
    said = f"{ADA} is writer of Shop / Prod already. That grant {end}"
    assert said in words(page, "[role=dialog] .note.warn")
    assert page.html.select_one(f'[role=dialog] a[href="/grants/{made}"]')
    answer = panel(page).submit("instead", value=str(made), status=303).follow()
    assert "ends later now" in words(answer, "[role=status]")
    [row] = service.rows(grant, grant.c.id == made)
    assert row["expires_at"] == 1_924_992_000_000


@pytest.mark.parametrize("path", EVERY_PANEL)
def test_somebody_who_has_not_signed_in_yet_is_given_access_once_that_is_confirmed(browser, service, path):
    page = give(browser, path, 422, holder="New.Hire@Example.com", scope="shop", role="writer")
    assert "has signed in yet" in words(page, "#holder-help")
    assert service.rows(identity, identity.c.subject == "new.hire@example.com") == []
    form = panel(page)
    assert not form["announce"].checked
    form["announce"] = True
    page = form.submit(status=303).follow()
    assert [row["action"] for row in service.audit()][-2:] == ["identity.create", "grant.create"]
    assert "not signed in yet" in words(browser.open(PROJECT), "table.access")
    assert service.user("new.hire@example.com").get("/projects/shop").json["slug"] == "shop"


@pytest.mark.both_engines
def test_nothing_is_announced_where_the_grant_is_refused(admin, service):
    service.grant(ADA, "admin", "shop/prod")
    ada = Browser(service, ADA)
    token = ada.open(f"{PROD}?grant").html.find("input", {"name": "csrf"})["value"]
    fields = {
        "csrf": token,
        "holder": "new@example.com",
        "announce": "yes",
        "role": "reader",
        "scope": "shop",
    }
    ada.post(PROD, fields, status=403)
    assert service.rows(identity, identity.c.subject == "new@example.com") == []


@pytest.mark.both_engines
def test_only_scopes_that_the_caller_administers_are_offered_and_given(browser, service):
    service.user().post("/projects", {"slug": "depot", "name": "Depot"}, 201)
    service.user().post("/projects/depot/environments", {"slug": "prod", "name": "Prod"}, 201)
    everything = ["*", "depot", "depot/prod", "shop", "shop/dev", "shop/prod"]
    assert scopes(browser.open("/grants?grant")) == everything
    assert chips(browser.open(f"{PROJECT}?grant")) == ["shop", "shop/prod", "shop/dev"]
    service.grant(ADA, "admin", "shop/prod")
    service.grant(ADA, "writer", "depot")
    ada = Browser(service, ADA)
    page = ada.open("/grants?grant")
    assert scopes(page) == ["shop/prod"]
    assert chips(ada.open(f"{PROD}?grant")) == ["shop/prod"]
    service.grant(EVE, "admin", "shop")
    assert scopes(Browser(service, EVE).open("/grants?grant")) == ["shop", "shop/dev", "shop/prod"]
    token = page.html.find("input", {"name": "csrf"})["value"]
    fields = {"csrf": token, "holder": ADA, "role": "admin", "until": "1d"}
    for scope, status in (("*", 403), ("shop", 403), ("depot", 403), ("absent", 404), ("shop/dev", 404)):
        ada.post("/grants", fields | {"scope": scope}, status=status)


def scopes(page):
    return [option["value"] for option in page.html.find(id="scope").find_all("option")][1:]


def chips(page):
    return [one["value"] for one in page.html.select("#scope input[name=scope]")]


def test_in_an_environment_that_environment_is_chosen(browser):
    assert panel(browser.open(f"{PROD}?grant"))["scope"].value == "shop/prod"
    assert panel(browser.open(f"{PROJECT}?grant"))["scope"].value is None


@pytest.mark.parametrize(
    ("role", "scope", "said"),
    [
        ("reader", "shop/prod", "will be able to read 2 values in Prod."),
        ("writer", "shop/dev", "will be able to read and change 0 values in Dev."),
        (
            "admin",
            "shop",
            "will be able to read and change every value, and to give access in the whole project.",
        ),
    ],
)
def test_a_sentence_says_what_will_be_given(browser, service, admin, monkeypatch, role, scope, said):
    body = {"mode": "merge", "set": {"A": "1", "B": "2"}}
    admin.post("/projects/shop/environments/prod/secrets:batch", body)
    clock = StoppedClock(monkeypatch)
    page = browser.open(f"{PROJECT}?grant&holder=new%40example.com&role={role}&scope={scope}")
    end = datetime.fromtimestamp((clock.now + 7 * DAY) / 1000, UTC)
    year = "" if end.year == datetime.fromtimestamp(clock.now / 1000, UTC).year else f" {end.year}"
    until = f"until {end.day} {end:%B}{year}, {end:%H:%M} UTC."
    assert words(page, "#sentence") == f"new@example.com {said.removesuffix('.')} {until}"
    assert browser.open(f"{PROJECT}?grant").html.find(id="sentence").has_attr("hidden")


def test_a_form_without_its_token_gives_nothing(browser, service):
    service.identity_id(ADA)
    for path in EVERY_PANEL:
        browser.post(path, {"holder": ADA, "role": "reader", "scope": "shop", "until": "1d"}, status=403)
    assert len(service.rows(grant)) == 1
    assert service.rows(group_member) == []
