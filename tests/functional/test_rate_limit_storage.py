"""While the storage of the counts is away, each process counts by itself, and nobody waits for it."""

from __future__ import annotations

import logging
import sys
import time

import pytest
from distant import Distant
from secrets_client import Vault
from service import arrange
from waiting import least_seconds

from secretsvc.authentication import rate_limit
from secretsvc.kernel.errors import Unavailable
from secretsvc.secrets.write import write


@pytest.fixture
def distant(monkeypatch):
    for name, value in (("is_away", False), ("seconds", 0.0), ("asked", 0)):
        monkeypatch.setattr(Distant, name, value)
    return Distant


def test_a_storage_that_is_away_refuses_nobody_and_the_limit_holds(make_service, distant, caplog):
    ada = make_service(RATE_LIMIT="3/day", RATE_LIMIT_STORAGE="distant://").user("ada@example.com")
    ada.get("/projects")
    distant.is_away = True
    with caplog.at_level(logging.WARNING, "secretsvc.authentication.rate_limit"):
        for _ in range(3):
            ada.get("/projects")
        ada.get("/projects", 429)
    told = [record.getMessage() for record in caplog.records if "storage" in record.getMessage()]
    assert told == ["the rate limit's storage is away (ConnectionError): this process counts by itself"]


@pytest.mark.slow
def test_bytes_are_counted_by_the_process_alone_while_it_is_away(make_service, distant):
    service = make_service(WRITE_LIMIT="8/day", RATE_LIMIT_STORAGE="distant://")
    vault = Vault(arrange(service, "shop", "prod"))
    vault.set(A="eight by")
    distant.is_away = True
    vault.set(A="eight by")
    vault.batch(429, set={"A": "x"})


@pytest.mark.slow
def test_a_write_that_is_undone_while_it_went_away_stays_counted(make_service, distant, monkeypatch):
    service = make_service(WRITE_LIMIT="8/day", RATE_LIMIT_STORAGE="distant://")
    vault = Vault(arrange(service, "shop", "prod"))

    def fail(*_arguments):
        distant.is_away = True
        raise Unavailable(1)

    with monkeypatch.context() as context:
        context.setattr(write, "apply_plan", fail)
        vault.batch(503, set={"A": "four"})
    distant.is_away = False
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + 1_001)
    vault.batch(429, set={"A": "five5"})
    vault.set(A="four")


@pytest.mark.slow
def test_it_is_asked_once_in_a_pause_and_used_again_when_it_is_back(
    make_service, distant, monkeypatch, caplog
):
    ada = make_service(RATE_LIMIT="100/day", RATE_LIMIT_STORAGE="distant://").user("ada@example.com")
    distant.is_away = True
    monkeypatch.setattr(rate_limit, "PAUSE_SECONDS", 1_000.0)
    with caplog.at_level(logging.WARNING, "secretsvc.authentication.rate_limit"):
        for _ in range(5):
            ada.get("/projects")
        assert distant.asked == 1
        monkeypatch.setattr(rate_limit, "PAUSE_SECONDS", 0.0)
        distant.is_away = False
        monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + 1_001)
        for _ in range(3):
            ada.get("/projects")
    assert distant.asked == 4
    assert [record.getMessage() for record in caplog.records][-1] == "the rate limit's storage is back"


@pytest.mark.slow
def test_a_storage_that_hangs_delays_one_request(make_service, distant, monkeypatch):
    monkeypatch.setattr(rate_limit, "PAUSE_SECONDS", 1_000.0)
    ada = make_service(RATE_LIMIT="100/day", RATE_LIMIT_STORAGE="distant://").user("ada@example.com")
    ada.get("/projects")
    distant.is_away, distant.seconds = True, 0.3
    ada.get("/projects")
    asked = distant.asked
    assert least_seconds(lambda: ada.get("/projects"), 0.25) < 0.25
    assert distant.asked == asked


def test_readiness_asks_it(make_service, distant):
    authenticator = make_service(
        RATE_LIMIT="3/day", RATE_LIMIT_STORAGE="distant://"
    ).app.registry.authenticator
    assert authenticator.is_counting()
    distant.is_away = True
    assert not authenticator.is_counting()


@pytest.mark.slow
@pytest.mark.parametrize("uri", ["nonsense://", "nonsense", "redis+nonsense://localhost"])
def test_a_storage_that_is_not_known_is_told(make_service, uri):
    service = make_service(RATE_LIMIT="3/day", RATE_LIMIT_STORAGE=uri)
    assert service.user().get("/whoami", 500).json["code"] == "SERVER_MISCONFIGURED"


@pytest.mark.slow
def test_a_storage_without_its_library_is_reported_as_that(make_service, monkeypatch, caplog):
    for module in ("redis.backoff", "redis.retry"):
        monkeypatch.setitem(sys.modules, module, None)
    service = make_service(RATE_LIMIT="3/day", RATE_LIMIT_STORAGE="redis://:hunter2@127.0.0.1:1")
    assert service.user().get("/whoami", 500).json["code"] == "SERVER_MISCONFIGURED"
    assert "setting RATE_LIMIT_STORAGE needs the package redis, which is missing" in caplog.text
    assert "hunter2" not in caplog.text
