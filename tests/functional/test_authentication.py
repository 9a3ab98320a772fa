"""Authentication on the request path: before routing, and where the assertion is read (specification)."""

from __future__ import annotations

import pytest
from jwks_server import KeyServer, answer
from service import API, HEADER
from tokens import TestIssuer
from waiting import eventually
from wsgi import call

from secretsvc.tables.identities import identity

HEALTH = f"{API}/health"
UNKNOWN_OR_ODD = [
    "/",
    "/nothing/here",
    "/api",
    "/api/v1",
    "/api/v1/",
    "/api/v1x",
    "/api/v2/health",
    f"{API}/nothing",
    f"{API}/projects",
    f"{API}/projects/shop",
    f"{API}/projects/Not%20A%20Slug",
    f"{API}/whoami",
    f"{API}/health/../projects",
    f"{API}/health;x",
    f"{API}/healthz",
    f"{API}/health/",
    f"{API}/./health",
    f"{API}/health%00",
    f"{API}/%68ealth/x",
    f"{API}/HEALTH",
    f"{API}/@@health",
    "//api/v1/health",
    "/api//v1/health",
    f"{API}/%ff",
    f"{API}/projects?x=%ff",
]


@pytest.mark.parametrize("target", UNKNOWN_OR_ODD)
def test_whoever_is_unknown_gets_401_before_any_routing(service, target):
    refused = call(service.app, "GET", target)
    assert refused.status == 401
    if not f"{target}/".startswith("/api/"):
        assert refused.headers["content-type"] == "text/html; charset=utf-8"
        assert b"<code>UNAUTHENTICATED</code>" in refused.body
        return
    assert refused.code == "UNAUTHENTICATED"
    assert refused.json.keys() == {"code", "message", "request_id"}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"])
def test_a_public_path_is_public_for_reading_alone(service, method):
    assert call(service.app, method, HEALTH).status == 401


def test_health_needs_no_assertion_and_tells_nothing_more(service):
    answered = call(service.app, "GET", HEALTH)
    assert answered.status == 200
    assert answered.json.keys() == {"service", "status", "version"}
    assert all(isinstance(value, str) for value in answered.json.values())
    assert service.count(identity) == 0


@pytest.mark.parametrize(
    "token", ["", "x", "a.b.c", "null", "e30.e30.e30", "\xff.\xfe.\xfd"], ids=lambda token: ascii(token)
)
def test_every_bad_assertion_has_the_same_answer(service, token):
    absent = call(service.app, "GET", f"{API}/projects")
    bad = call(service.app, "GET", f"{API}/projects", {HEADER: token})
    assert bad.status == 401
    assert {**bad.json, "request_id": ""} == {**absent.json, "request_id": ""}
    assert service.count(identity) == 0


def test_an_expired_assertion_is_refused_at_the_next_request(service):
    stale = service.user(exp=1_000_000_000, iat=999_999_000, nbf=999_999_000)
    assert stale.get("/whoami", 401).json["code"] == "UNAUTHENTICATED"


def whose(service, headers):
    answered = call(service.app, "GET", f"{API}/whoami", headers)
    return answered.json["identity"]["subject"] if answered.status == 200 else answered.status


def test_the_cookie_is_read_where_there_is_no_header(service):
    token = service.issuer.sign("ada@example.com")
    assert whose(service, {"Cookie": f"Proxy_Authorization={token}"}) == "ada@example.com"
    assert whose(service, {"Cookie": f"theme=dark; Proxy_Authorization={token}; x=y"}) == "ada@example.com"


def test_a_header_wins_over_the_cookie(service):
    ada, bob = service.issuer.sign("ada@example.com"), service.issuer.sign("bob@example.com")
    assert whose(service, {HEADER: bob, "Cookie": f"Proxy_Authorization={ada}"}) == "bob@example.com"


@pytest.mark.parametrize("header", ["", "nonsense"])
def test_a_header_that_is_present_is_the_only_source(service, header):
    good = service.issuer.sign("ada@example.com")
    assert whose(service, {HEADER: header, "Cookie": f"Proxy_Authorization={good}"}) == 401


@pytest.mark.parametrize(
    "header", ["X-Access-Jwt-Assertion", "Cf-Access-Jwt-Assertion", "Proxy-Authorization"]
)
def test_no_other_header_is_a_source(service, header):
    token = service.issuer.sign("ada@example.com")
    assert whose(service, {header: token}) == 401
    assert whose(service, {header: f"Bearer {token}"}) == 401


def test_a_bearer_token_is_read_where_header_and_cookie_are_both_absent(service):
    ada, bob = service.issuer.sign("ada@example.com"), service.issuer.sign("bob@example.com")
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert whose(service, {"Authorization": f"{scheme} {ada}"}) == "ada@example.com"
    bearer = {"Authorization": f"Bearer {ada}"}
    assert whose(service, {**bearer, HEADER: bob}) == "bob@example.com"
    assert whose(service, {**bearer, "Cookie": f"Proxy_Authorization={bob}"}) == "bob@example.com"
    assert whose(service, {**bearer, "Cookie": "theme=dark"}) == "ada@example.com"


@pytest.mark.parametrize("present", [{HEADER: ""}, {HEADER: "x"}, {"Cookie": "Proxy_Authorization="}])
def test_a_bad_header_or_cookie_is_not_made_good_by_a_bearer_token(service, present):
    ada = service.issuer.sign("ada@example.com")
    assert whose(service, {**present, "Authorization": f"Bearer {ada}"}) == 401


@pytest.mark.parametrize(
    "text", ["{}", "Basic {}", "Bearer  {}", "Bearer Bearer {}", "Bearer\t{}", "Bearer ", ""]
)
def test_an_authorization_of_another_form_is_none(service, text):
    assert whose(service, {"Authorization": text.format(service.issuer.sign("ada@example.com"))}) == 401


def test_a_bearer_token_opens_pages_too(service):
    bearer = {"Authorization": f"Bearer {service.issuer.sign('ada@example.com')}"}
    assert call(service.app, "GET", "/", bearer).status == 200
    assert call(service.app, "GET", "/").status == 401


def test_the_cross_site_rule_holds_for_bearer_tokens_too(service, admin):
    bearer = {"Authorization": f"Bearer {admin.token}", "Sec-Fetch-Site": "cross-site"}
    assert call(service.app, "DELETE", f"{API}/projects/shop", bearer).status == 403


def test_the_header_may_carry_its_token_behind_one_bearer(service):
    token = service.issuer.sign("ada@example.com")
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert whose(service, {HEADER: f"{scheme} {token}"}) == "ada@example.com"
    for text in (f"Bearer Bearer {token}", f"Bearer  {token}", "Bearer ", f"Basic {token}"):
        assert whose(service, {HEADER: text, "Cookie": f"Proxy_Authorization={token}"}) == 401


def test_the_authorization_header_is_read_where_it_is_the_configured_one(make_service):
    service = make_service(ACCESS_HEADER="Authorization")
    token = service.issuer.sign("ada@example.com")
    assert whose(service, {"Authorization": f"Bearer {token}"}) == "ada@example.com"
    assert whose(service, {"Authorization": token}) == "ada@example.com"
    assert whose(service, {"Authorization": f"Basic {token}"}) == 401
    assert whose(service, {HEADER: token}) == 401


def test_an_address_that_was_not_verified_does_not_become_the_administrators(service):
    for verified, status in ((False, 401), ("false", 401), (None, 401), (True, 200), ("true", 200)):
        service.user(email_verified=verified).get("/whoami", status)


def test_service_token_credentials_are_no_assertion(service):
    credentials = {"Proxy-Access-Client-Id": "robot.access", "Proxy-Access-Client-Secret": "x"}
    assert whose(service, credentials) == 401


def test_behind_another_proxy_its_names_count_and_the_default_ones_do_not(make_service):
    service = make_service(ACCESS_HEADER="Cf-Access-Jwt-Assertion", ACCESS_COOKIE="CF_Authorization")
    ada, bob = service.issuer.sign("ada@example.com"), service.issuer.sign("bob@example.com")
    assert whose(service, {"Cf-Access-Jwt-Assertion": ada}) == "ada@example.com"
    assert whose(service, {"Cookie": f"CF_Authorization={ada}"}) == "ada@example.com"
    assert whose(service, {HEADER: bob}) == 401
    assert whose(service, {"Cookie": f"Proxy_Authorization={bob}"}) == 401
    assert whose(service, {HEADER: bob, "Cf-Access-Jwt-Assertion": ada}) == "ada@example.com"


def test_people_and_service_tokens_are_told_apart(service):
    person = service.user("Ada@Example.COM").get("/whoami").json["identity"]
    robot = service.robot("Robot.access").get("/whoami").json["identity"]
    assert (person["kind"], person["subject"]) == ("user", "ada@example.com")
    assert (robot["kind"], robot["subject"]) == ("service", "Robot.access")


def test_who_am_i_has_the_fields_of_the_contract(service):
    answered = service.user().get("/whoami").json
    assert answered.keys() == {"identity", "global_role"}
    assert answered["identity"].keys() == {
        "id", "kind", "subject", "display_name", "disabled", "created_at", "last_seen_at",
    }  # fmt: skip


@pytest.mark.slow
def test_keys_that_a_process_before_it_has_kept_let_people_in(make_service, issuer, tmp_path):
    kept = {"ACCESS_JWKS_CACHE": str(tmp_path / "keys.json")}
    with KeyServer(issuer.jwks()) as server:
        kept["ACCESS_JWKS_URL"] = server.url
        make_service(**kept).user().get("/whoami")
        assert eventually((tmp_path / "keys.json").exists)
    make_service(**kept).user().get("/whoami")


def test_keys_that_were_never_had_are_a_503(make_service, issuer):
    with KeyServer(answer(b"", 500)) as server:
        service = make_service(ACCESS_JWKS_URL=server.url)
        refused = service.user().get("/whoami", 503)
    assert refused.json["code"] == "IDENTITY_PROVIDER_UNAVAILABLE"
    assert refused.headers["Retry-After"] == "1"
    assert service.count(identity) == 0
    assert service.nobody().get("/health")


def test_known_keys_go_on_working_while_the_source_is_down(make_service, issuer, tmp_path):
    other = TestIssuer(tmp_path)
    other.add_rsa("rsa-other")
    stranger = other.sign(kid="rsa-other")
    with KeyServer(issuer.jwks()) as server:
        service = make_service(ACCESS_JWKS_URL=server.url, ACCESS_JWKS_COOLDOWN="0")
        service.user().get("/whoami")
        server.answer = answer(b"", 500)
        service.user().get("/whoami")
        assert call(service.app, "GET", f"{API}/whoami", {HEADER: stranger}).status == 503
        service.user().get("/whoami")
    service.user().get("/whoami")


def test_a_stream_of_unknown_keys_costs_the_source_one_fetch(make_service, issuer, tmp_path):
    other = TestIssuer(tmp_path)
    other.add_rsa("rsa-other")
    with KeyServer(issuer.jwks()) as server:
        service = make_service(ACCESS_JWKS_URL=server.url)
        service.user().get("/whoami")
        first = server.hits
        for _ in range(5):
            stranger = {HEADER: other.sign(kid="rsa-other")}
            assert call(service.app, "GET", f"{API}/whoami", stranger).status == 401
        assert server.hits <= first + 1
