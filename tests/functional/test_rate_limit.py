"""Requests that one identity may make in a time (contract 1, `RATE_LIMIT`; 3.16)."""

from __future__ import annotations

import pytest

from secretsvc.tables.identities import identity


def test_the_request_over_the_limit_is_told_when_to_come_back(make_service):
    service = make_service(RATE_LIMIT="3/day")
    ada = service.user("ada@example.com")
    for _ in range(3):
        ada.get("/projects")
    refused = ada.get("/projects", 429)
    assert refused.json["code"] == "RATE_LIMITED"
    assert 1 <= int(refused.headers["Retry-After"]) <= 86_400


@pytest.mark.slow
def test_each_identity_has_a_count_of_its_own(make_service):
    service = make_service(RATE_LIMIT="1/day")
    clients = [
        service.user("ada@example.com"),
        service.user("bob@example.com"),
        service.robot("ada@example.com"),
    ]
    for client in clients:
        client.get("/projects")
    for client in clients:
        client.get("/projects", 429)


@pytest.mark.slow
def test_another_assertion_of_the_same_person_shares_the_count(make_service):
    service = make_service(RATE_LIMIT="1/day")
    service.user("ada@example.com").get("/projects")
    service.user("ADA@example.com", sub="another-device").get("/projects", 429)


def test_whatever_is_asked_for_counts(make_service):
    service = make_service(RATE_LIMIT="2/day")
    ada = service.user("ada@example.com")
    ada.get("/nothing", 404)
    ada.post("/projects", {}, 403)
    ada.get("/projects", 429)
    ada.get("/nothing", 429)


@pytest.mark.slow
def test_a_refused_stranger_leaves_no_identity_behind_a_second_time(make_service):
    service = make_service(RATE_LIMIT="1/day")
    service.user("ada@example.com").get("/projects")
    service.user("ada@example.com").get("/projects", 429)
    assert service.count(identity) == 1


@pytest.mark.slow
def test_health_and_the_unauthenticated_are_not_counted(make_service):
    service = make_service(RATE_LIMIT="1/day")
    for _ in range(3):
        service.nobody().get("/health")
        service.nobody().get("/projects", 401)
    service.user("ada@example.com").get("/projects")


def test_an_empty_limit_turns_it_off(make_service):
    ada = make_service(RATE_LIMIT="").user("ada@example.com")
    for _ in range(50):
        ada.get("/whoami")


@pytest.mark.slow
@pytest.mark.parametrize("rate", ["lots", "3", "3/fortnight", "-1/minute", "1/day; 2/second", "0/minute"])
def test_a_malformed_limit_is_no_limit_by_default(make_service, rate):
    service = make_service(RATE_LIMIT=rate)
    assert service.user().get("/projects", 500).json["code"] == "SERVER_MISCONFIGURED"
    service.nobody().get("/health")
