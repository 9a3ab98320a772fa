"""Machines with tokens of their own issuers are identities as any other (contract 6.3)."""

from __future__ import annotations

import json

import pytest
from jwks_server import KeyServer, answer
from service import ADMIN, API, HEADER, Client, arrange
from statements import recorded
from tokens import TestIssuer
from wsgi import call

from secretsvc.tables.identities import identity

ROBOT = "ci:repo:octo/app"
SUB = "repo:octo/app"
PROD = "/projects/shop/environments/prod"


@pytest.fixture(scope="session")
def ci(tmp_path_factory):
    return TestIssuer(tmp_path_factory.mktemp("ci"), "https://ci.example.com", "secrets")


@pytest.fixture
def settings(ci):
    return {"WORKLOAD_ISSUERS": "ci", **ci.workload_environment("ci")}


@pytest.fixture
def service(make_service, settings):
    return make_service(**ini(settings))


def ini(settings):
    """Entries under the names that the ini has for them, as `Service` takes them."""
    return {
        name.replace("WORKLOAD_CI_", "WORKLOAD.CI.") if name != "WORKLOAD_ISSUERS" else name: value
        for name, value in settings.items()
    }


@pytest.fixture
def robot(service, ci):
    return Client(service.app, ci.workload(SUB))


@pytest.mark.slow
def test_a_machine_is_a_service_identity_from_its_first_request(service, admin, robot):
    found = robot.get("/whoami").json["identity"]
    assert (found["kind"], found["subject"], found["disabled"]) == ("service", ROBOT, False)
    (row,) = service.audit("identity.create")[-1:]
    assert (row["actor_kind"], row["actor_subject"]) == ("service", ROBOT)


def test_a_machine_gets_in_by_header_cookie_and_authorization(service, ci):
    token = ci.workload(SUB)
    for headers in (
        {HEADER: token},
        {HEADER: f"Bearer {token}"},
        {"Cookie": f"Proxy_Authorization={token}"},
        {"Authorization": f"Bearer {token}"},
    ):
        assert call(service.app, "GET", f"{API}/whoami", headers).json["identity"]["subject"] == ROBOT


def test_a_machine_that_was_denied_is_found_granted_and_then_reads(service, admin, robot):
    admin.post(f"{PROD}/secrets:batch", {"mode": "merge", "set": {"KEY": "value"}})
    robot.get(f"{PROD}/secrets/KEY", 404)
    (denial,) = service.denials()
    assert (denial["actor_kind"], denial["actor_subject"]) == ("service", ROBOT)
    (unknown,) = admin.get("/access/unknown-identities").json["items"]
    assert (unknown["kind"], unknown["subject"]) == ("service", ROBOT)
    (known,) = [one for one in admin.get("/identities").json["items"] if one["subject"] == ROBOT]
    scope = {"scope_type": "environment", "project": "shop", "environment": "prod"}
    granted = {"identity_id": known["id"], "role": "reader", **scope}
    grant_id = admin.post("/grants", granted, 201).json["id"]
    assert robot.get(f"{PROD}/secrets/KEY").json["value"] == "value"
    assert service.audit("secret.reveal")[-1]["actor_subject"] == ROBOT
    effective = admin.get(f"/identities/{known['id']}/effective-permissions").json
    assert [item["role"] for item in effective["items"]] == ["reader"]
    admin.delete(f"/grants/{grant_id}")
    robot.get(f"{PROD}/secrets/KEY", 404)


def test_a_disabled_machine_is_disabled(service, admin, robot):
    who = robot.get("/whoami").json["identity"]["id"]
    service.grant(service.identity_id(ROBOT, "service"), "admin")
    admin.patch(f"/identities/{who}", {"disabled": True})
    found = robot.get("/whoami").json
    assert (found["identity"]["disabled"], found["global_role"]) == (True, None)
    robot.get("/projects/shop", 404)


@pytest.mark.slow
def test_a_machine_may_be_the_last_admin_and_is_guarded(make_service, settings, ci):
    service = make_service(**ini(settings))
    arrange(service)
    robot = service.identity_id(ROBOT, "service")
    service.grant(robot, "admin")
    client = Client(service.restarted(BOOTSTRAP_ADMINS="").app, ci.workload(SUB))
    for one in client.get("/grants").json["items"]:
        if one["identity_id"] != str(robot):
            client.delete(f"/grants/{one['id']}")
    assert client.patch(f"/identities/{robot}", {"disabled": True}, 409).json["code"] == "LAST_ADMIN"


def test_a_machine_is_no_bootstrap_admin_whatever_it_claims(service, ci):
    for claims in ({"sub": ADMIN}, {"email": ADMIN}, {"common_name": ADMIN}):
        token = ci.workload(**claims)
        assert Client(service.app, token).get("/whoami").json["global_role"] is None


@pytest.mark.slow
def test_the_rate_limit_counts_each_machine_by_its_subject(make_service, settings, ci):
    limited = make_service(**ini(settings), RATE_LIMIT="2/day")
    robot, other = (Client(limited.app, ci.workload(sub)) for sub in (SUB, "repo:octo/other"))
    assert [robot.request("GET", "/whoami").status_int for _ in range(3)] == [200, 200, 429]
    assert Client(limited.app, ci.workload(SUB, jti="another")).get("/whoami", 429)
    other.get("/whoami")


def test_a_request_of_a_machine_costs_the_statements_of_one_by_the_proxy(make_service, settings, ci):
    service = make_service(**ini(settings), LAST_SEEN_RESOLUTION="3600000")
    admin = arrange(service)
    admin.post(f"{PROD}/secrets:batch", {"mode": "merge", "set": {"KEY": "v"}})
    robot = Client(service.app, ci.workload(SUB))
    for client, subject in ((robot, ROBOT), (service.robot(), "robot.access")):
        service.grant(service.identity_id(subject, "service"), "reader", "shop/prod")
        client.get("/whoami")
    for path in ("/whoami", f"{PROD}/secrets/KEY", f"{PROD}/secrets", "/nowhere"):
        counts = []
        for client in (service.robot(), robot):
            with recorded(service.engine) as statements:
                client.request("GET", path)
            counts.append(len(statements))
        assert counts[0] == counts[1] > 0, path


def test_a_refused_token_of_a_machine_has_the_one_answer_and_makes_no_identity(service, ci):
    absent = call(service.app, "GET", f"{API}/whoami")
    for claims in ({"aud": "other"}, {"iss": "x"}, {"sub": ""}, {"exp": 1_000_000_000}, {"sub": "a\nb"}):
        refused = call(service.app, "GET", f"{API}/whoami", {HEADER: ci.workload(**claims)})
        assert refused.status == 401
        assert {**refused.json, "request_id": ""} == {**absent.json, "request_id": ""}
    assert service.count(identity) == 0
    assert service.audit() == []


def test_an_entry_that_is_misconfigured_is_named_at_the_start_and_fails_its_own_tokens(
    make_service, settings, ci, caplog
):
    service = make_service(**ini(settings | {"WORKLOAD_CI_REQUIRE": "owner"}))
    assert "setting WORKLOAD_CI_REQUIRE is malformed" in caplog.text
    refused = Client(service.app, ci.workload(SUB)).get("/whoami", 500)
    assert refused.json["code"] == "SERVER_MISCONFIGURED"
    service.user().get("/whoami")
    service.robot().get("/whoami")


def test_an_outage_of_an_issuer_is_its_machines_alone_and_known_keys_go_on(make_service, settings, ci):
    with KeyServer(answer(b"", 500)) as server:
        more = {"WORKLOAD_CI_JWKS_URL": server.url, "ACCESS_JWKS_COOLDOWN": "0"}
        service = make_service(**ini(settings | more))
        robot = Client(service.app, ci.workload(SUB))
        assert robot.get("/whoami", 503).json["code"] == "IDENTITY_PROVIDER_UNAVAILABLE"
        service.user().get("/whoami")
        server.answer = answer(ci.jwks())
        robot.get("/whoami")
        server.answer = answer(b"", 500)
        robot.get("/whoami")
    Client(service.app, ci.workload(SUB, jti="another")).get("/whoami")


def test_the_keys_of_every_issuer_are_fetched_before_a_request_needs_them(make_service, settings, ci):
    with KeyServer(ci.jwks()) as server:
        service = make_service(**ini(settings | {"WORKLOAD_CI_JWKS_URL": server.url}))
        service.app.registry.authenticator.prepare_keys()
        Client(service.app, ci.workload(SUB)).get("/whoami")
        assert server.hits == 1


def test_pages_take_a_machines_token_where_header_and_cookie_are_absent(service, ci):
    bearer = {"Authorization": f"Bearer {ci.workload(SUB)}"}
    assert call(service.app, "GET", "/", bearer).status == 200
    evil = {**bearer, "Sec-Fetch-Site": "cross-site"}
    assert call(service.app, "POST", "/projects", evil, b"slug=x").status == 403


@pytest.mark.slow
def test_what_a_machine_did_says_so_in_the_log_of_all(service, admin, robot):
    service.grant(service.identity_id(ROBOT, "service"), "writer", "shop/prod")
    robot.post(f"{PROD}/secrets:batch", {"mode": "merge", "set": {"KEY": "v"}})
    (found,) = admin.get(f"/audit?actor={ROBOT}&action=secret.batch").json["items"]
    assert (found["actor"]["kind"], found["actor"]["subject"]) == ("service", ROBOT)
    assert "value" not in json.dumps(found["detail"])
