"""Whoever is not let in leaves a trace in the log, and nothing else does (contract 6.5)."""

from __future__ import annotations

import configparser
import logging

import pytest
from doc_blocks import blocks
from pages import Browser, form_of
from service import API, HEADER
from tokens import ABSENT
from wsgi import call

from secretsvc.kernel.rejections import RejectionReason

CANARY = "canary4711"


@pytest.fixture
def told(caplog):
    """The lines on refusals so far."""
    caplog.set_level(logging.DEBUG)
    name = "secretsvc.kernel.rejections"
    return lambda: [record.getMessage() for record in caplog.records if record.name == name]


def ask(service, token, method="GET", path=f"{API}/projects", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return call(service.app, method, path, {HEADER: token, **named})


def test_a_refused_assertion_is_told_with_its_request_and_no_claim_that_names_anybody(service, told, caplog):
    claims = dict.fromkeys(("sub", "jti", "name", "custom"), CANARY)
    token = service.issuer.sign(f"{CANARY}@example.com", exp=1_000_000_000, **claims)
    refused = ask(service, token)
    (line,) = told()
    assert line.startswith(
        f"assertion refused: expired; look at ACCESS_LEEWAY; request {refused.headers['x-request-id']};"
        ' unlogged since the last such line: 0; unverified: kid="rsa-1"'
        ' claims="iss, aud, type, iat, exp, sub, email, nbf, country, jti, name, custom"'
        f' iss="{service.issuer.issuer}" aud="{service.issuer.audience}" exp=1000000000 nbf='
    )
    assert CANARY not in caplog.text
    assert not any(part in caplog.text for part in token.split("."))


def test_the_line_is_the_one_that_the_page_shows(service, told, here):
    claims = dict.fromkeys(("iat", "nbf", "type", "country"), ABSENT)
    refused = ask(service, service.issuer.sign(aud="another", **claims))
    page = (here / "docs" / "operations" / "refusals.md").read_text("utf-8")
    (shown,) = blocks(page, "Who was not let in", "text")
    shown = shown.strip().replace("0190163d-…", refused.headers["x-request-id"]).replace(": 41;", ": 0;")
    shown = shown.replace("https://team.example.com", service.issuer.issuer)
    (line,) = told()
    assert sorted(line.partition(" exp=")[0].split()) == sorted(shown.partition(" exp=")[0].split())


REASONS = [
    ({"iss": "https://other.example.com"}, RejectionReason.ISSUER),
    ({"aud": ["another"]}, RejectionReason.AUDIENCE),
    ({"email_verified": False}, RejectionReason.EMAIL_VERIFIED),
    ({"email": ABSENT}, RejectionReason.CLASSIFICATION),
    ({"email": CANARY}, RejectionReason.SUBJECT),
]


def test_each_reason_is_told_by_its_name_and_to_nobody_but_the_operator(service, told):
    bodies = set()
    for claims, _ in REASONS:
        refused = ask(service, service.issuer.sign(**claims), X_Request_Id="mine")
        bodies.add((refused.status, refused.body, *refused.header_list))
    bodies.add(tuple_of(ask(service, "x", X_Request_Id="mine")))
    bodies.add(tuple_of(call(service.app, "GET", f"{API}/projects", {"X-Request-Id": "mine"})))
    assert len(bodies) == 1
    words = [line.partition(": ")[2].partition(";")[0] for line in told()]
    assert words == [*(reason.value[1] for _, reason in REASONS), "malformed", "absent"]
    assert all("; request mine;" in line for line in told())
    assert CANARY not in "".join(told())


def tuple_of(answer):
    return (answer.status, answer.body, *answer.header_list)


def test_a_flood_of_one_reason_is_one_line_and_a_count(service, told):
    for number in range(200):
        ask(service, f"{number}.{CANARY}.x")
    assert len(told()) == 1
    assert service.app.registry.refusals.totals()[RejectionReason.MALFORMED] == 200


def test_a_request_of_another_site_is_told_with_what_the_browser_said(service, admin, told):
    evil = {"Sec_Fetch_Site": "cross-site\n", "Origin": "https://evil.example.com"}
    ask(service, admin.token, "DELETE", f"{API}/projects/shop", **evil)
    ask(service, admin.token, "DELETE", f"{API}/projects/shop", Origin='gopher://"x')
    reveal = f"{API}/projects/shop/environments/prod/secrets/KEY"
    ask(service, admin.token, "GET", reveal, Sec_Fetch_Site="same-site")
    first, second = told()
    assert first.startswith("cross-site request refused: Sec-Fetch-Site; look at PUBLIC_ORIGIN; request ")
    assert first.endswith('site="cross-site\\u{a}" origin="https://evil.example.com"')
    assert second.startswith("cross-site request refused: Origin; look at PUBLIC_ORIGIN; request ")
    assert second.endswith('origin="gopher://\\u{22}x"')
    totals = service.app.registry.refusals.totals()
    assert (totals[RejectionReason.FETCH_SITE], totals[RejectionReason.ORIGIN]) == (2, 1)


def test_a_form_without_the_token_of_its_identity_is_told_and_not_the_token(service, admin, told, caplog):
    browser = Browser(service)
    form = form_of(browser.open("/projects?new"), "/projects")
    caplog.clear()
    browser.post("/projects", {"slug": "x", "name": CANARY}, status=403)
    browser.post("/projects", {"csrf": CANARY, "slug": "x", "name": "X"}, status=403)
    first, second = told()
    assert first.startswith("form refused: no token; request ")
    assert second.startswith("form refused: token too old, or another identity's; request ")
    assert CANARY not in caplog.text
    assert form["csrf"].value not in caplog.text


def test_who_is_let_in_and_what_is_public_leave_no_such_line(service, admin, told):
    admin.get("/projects")
    service.nobody().get("/health")
    service.user("eve@example.com").get("/projects/shop", 404)
    assert told() == []
    assert set(service.app.registry.refusals.totals().values()) == {0}


@pytest.mark.parametrize("name", ["production.ini", "development.ini"])
def test_the_log_that_we_ship_shows_them(here, name):
    ini = configparser.RawConfigParser()
    ini.read(here / name)
    assert ini["logger_secretsvc"]["level"] == "INFO"
    assert ini["logger_secretsvc"]["qualname"] == "secretsvc"
    assert ini["handler_console"]["level"] == "NOTSET"
