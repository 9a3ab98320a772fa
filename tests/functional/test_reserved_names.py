"""An identity keeps the workload issuer by which it first came; its prefix stays reserved (contract 17.5)."""

from __future__ import annotations

import json
import logging

import pytest
from databases import alembic_config
from service import API, HEADER, Client, arrange
from statements import recorded
from tokens import ABSENT, TestIssuer
from wsgi import call

from alembic import command
from secretsvc.tables.identities import identity

ROBOT = "ci:job-1"
PROD = "/projects/shop/environments/prod"


@pytest.fixture(scope="session")
def ci(tmp_path_factory):
    return TestIssuer(tmp_path_factory.mktemp("ci"), "https://ci.example.com", "secrets")


@pytest.fixture(scope="session")
def other(tmp_path_factory):
    return TestIssuer(tmp_path_factory.mktemp("other"), "https://other.example.com", "secrets")


def named(issuer, name="ci"):
    """The settings that give an issuer a name, as `Service` takes them."""
    group = issuer.workload_environment(name)
    prefix = f"WORKLOAD_{name.upper()}_"
    own = {f"WORKLOAD.{name.upper()}.{key.removeprefix(prefix)}": value for key, value in group.items()}
    return {"WORKLOAD_ISSUERS": name, **own}


@pytest.fixture
def service(make_service, ci):
    return make_service(**named(ci))


def plain(service):
    """The service in a process that has no workload issuer."""
    return service.restarted(WORKLOAD_ISSUERS="")


def refuses(service, token):
    """Whether a token has the one answer that there is, and changes nothing."""
    before = service.rows(identity), service.audit()
    absent = call(service.app, "GET", f"{API}/whoami")
    refused = call(service.app, "GET", f"{API}/whoami", {HEADER: token})
    same = {**refused.json, "request_id": ""} == {**absent.json, "request_id": ""}
    return refused.status == 401 and same and (service.rows(identity), service.audit()) == before


def issuer_of(service, subject=ROBOT):
    (row,) = service.rows(identity, identity.c.subject == subject)
    return row["issuer_name"], row["issuer"]


@pytest.mark.slow
def test_the_names_of_an_issuer_that_is_taken_out_stay_its_own(service, ci):
    arrange(service)
    Client(service.app, ci.workload()).get("/whoami")
    service.grant(service.identity_id(ROBOT, "service"), "reader", "shop/prod")
    without = plain(service)
    for name in (ROBOT, "ci:another", "ci:"):
        assert refuses(without, service.issuer.service(name))
    assert issuer_of(service) == ("ci", ci.issuer)


@pytest.mark.slow
def test_names_that_only_look_alike_are_free(service, ci):
    Client(service.app, ci.workload()).get("/whoami")
    without = plain(service)
    for name in ("ci", "cii:job-1", "CI:job-1", "x-ci:job-1", ":ci:job-1", "job-1", "ab:ci:job-1"):
        found = Client(without.app, service.issuer.service(name)).get("/whoami").json
        assert found["identity"]["subject"] == name
        assert issuer_of(service, name) == (None, None)


@pytest.mark.slow
def test_an_identity_is_refused_to_another_issuer_of_its_name(service, ci, other):
    robot = Client(service.app, ci.workload())
    robot.get("/whoami")
    renamed = service.restarted(**named(other))
    assert refuses(renamed, other.workload())
    # A machine that comes by the other issuer first is that one's.
    Client(renamed.app, other.workload("job-2")).get("/whoami")
    assert issuer_of(service, "ci:job-2") == ("ci", other.issuer)
    assert refuses(service, ci.workload("job-2"))
    robot.get("/whoami")


@pytest.mark.slow
def test_another_name_makes_other_identities(service, ci):
    Client(service.app, ci.workload()).get("/whoami")
    renamed = service.restarted(**named(ci, "gh"))
    assert Client(renamed.app, ci.workload()).get("/whoami").json["identity"]["subject"] == "gh:job-1"


@pytest.mark.slow
def test_an_identity_of_unknown_origin_takes_the_issuer_by_which_it_next_comes(service, ci, other):
    known = service.identity_id(ROBOT, "service")
    assert Client(service.app, ci.workload()).get("/whoami").json["identity"]["id"] == str(known)
    assert issuer_of(service) == ("ci", ci.issuer)
    assert refuses(service.restarted(**named(other)), other.workload())
    assert refuses(plain(service), service.issuer.service(ROBOT))


def test_an_announced_machine_takes_the_issuer_by_which_it_first_comes(service, ci, admin):
    made = admin.post("/identities", {"kind": "service", "subject": ROBOT}, 201).json
    assert issuer_of(service) == (None, None)
    assert Client(service.app, ci.workload()).get("/whoami").json["identity"]["id"] == made["id"]
    assert issuer_of(service) == ("ci", ci.issuer)


@pytest.mark.slow
def test_a_machine_of_the_proxy_with_such_a_name_is_let_in_while_no_workload_came_by_it(service, ci):
    without = plain(service)
    team = Client(without.app, service.issuer.service("team:deploy"))
    service.identity_id("ci:old", "service")
    old = Client(without.app, service.issuer.service("ci:old"))
    for _ in range(2):
        team.get("/whoami")
        old.get("/whoami")
    Client(service.app, ci.workload()).get("/whoami")
    team.get("/whoami")
    assert refuses(without, service.issuer.service("ci:old"))


@pytest.mark.slow
def test_people_and_service_tokens_are_judged_as_before(make_service, ci):
    service = make_service(SERVICE_TOKENS="on", **named(ci))
    admin = arrange(service)
    Client(service.app, ci.workload()).get("/whoami")
    path = f"/identities/{service.identity_id(ROBOT, 'service')}/tokens"
    token = admin.post(
        path, {"name": "x", "expires_at": admin.get("/whoami").json["identity"]["last_seen_at"] + 9**9}, 201
    )
    without = plain(service)
    assert Client(without.app, token.json["token"]).get("/whoami").json["identity"]["subject"] == ROBOT
    assert Client(without.app, service.issuer.sign("ci:a@example.com")).get("/whoami")


def test_the_first_visit_of_a_machine_is_recorded_with_its_issuer(service, ci):
    Client(service.app, ci.workload()).get("/whoami")
    (row,) = service.audit("identity.create")
    assert json.loads(row["detail"])["issuer"] == ci.issuer
    service.robot().get("/whoami")
    assert "issuer" not in json.loads(service.audit("identity.create")[-1]["detail"])


@pytest.mark.slow
def test_the_log_names_the_reason_and_the_setting(service, ci, other, caplog):
    caplog.set_level(logging.INFO, "secretsvc.kernel.rejections")
    Client(service.app, ci.workload()).get("/whoami")
    assert refuses(service.restarted(**named(other)), other.workload())
    assert refuses(plain(service), service.issuer.service(ROBOT))
    logged = [
        record.getMessage() for record in caplog.records if record.name == "secretsvc.kernel.rejections"
    ]
    told = [line for line in logged if "absent" not in line]
    assert told[0].startswith("assertion refused: identity of another issuer; look at WORKLOAD_CI_ISSUER;")
    assert told[1].startswith("assertion refused: reserved common_name; look at WORKLOAD_ISSUERS;")
    assert 'iss="https://other.example.com"' in told[0]
    assert ROBOT not in "".join(told)


@pytest.mark.slow
def test_only_a_name_with_a_colon_costs_one_statement_more(make_service, ci):
    service = make_service(**named(ci), LAST_SEEN_RESOLUTION="3600000")
    service.user().get("/whoami")
    robot = service.issuer.service
    counts = []
    for token in (ci.workload(), robot("robot"), robot("team:robot")):
        client = Client(service.app, token)
        client.get("/nowhere", 404)
        with recorded(service.engine) as statements:
            client.get("/nowhere", 404)
        counts.append(len(statements))
    assert counts == [1, 1, 2]


@pytest.mark.slow
def test_an_upgrade_locks_no_machine_out(database_url, make_service, ci):
    service = make_service(**named(ci))
    machines = [Client(service.app, ci.workload()), service.robot(), service.robot("team:robot")]
    for machine in machines:
        machine.get("/whoami")
    command.downgrade(alembic_config(database_url), "0017")
    command.upgrade(alembic_config(database_url), "head")
    assert issuer_of(service) == (None, None)
    for machine in machines:
        machine.get("/whoami")
    assert issuer_of(service) == ("ci", ci.issuer)
    assert refuses(plain(service), service.issuer.service(ROBOT))


def test_a_workload_without_a_required_claim_leaves_no_origin(service, ci):
    assert refuses(service, ci.workload(sub=ABSENT))
    assert service.count(identity) == 0
