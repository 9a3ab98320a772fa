"""`/ready` is the truth: not ready where every request fails, degraded where some do (contract 17.7)."""

from __future__ import annotations

import sys

import pytest
from metrics_client import watched
from service import ADMIN, API, Client

from secretsvc.kernel.settings import Settings
from secretsvc.server.readiness import Readiness

LISTENING = {"OPERATIONS_LISTEN": "127.0.0.1:0"}
#: Their faults have reasons of their own, or end the start.
WITH_OWN_REASONS = {"key_provider", "master_key", "master_key_old", "master_key_file", "master_key_old_file"}
WITH_OWN_REASONS |= {"audit_seal_seconds", "audit_origin", "operations_listen", "drain_seconds"}
REQUESTS = [("GET", "/whoami"), ("GET", "/projects"), ("POST", "/projects"), ("GET", "/groups")]
#: No setting takes a value that still has its quotes.
QUOTED = '"x"'


def answers(service):
    """What an administrator, who was here before, gets."""
    # Below the root, where no answer is held to the description: that needs some of the settings.
    ask = Client(service.app, service.issuer.sign(ADMIN), prefix="").request
    body = {"slug": "shop", "name": "Shop"}
    return {
        ask(method, API + path, body if method == "POST" else None).status_int for method, path in REQUESTS
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(Settings.known().keys() - WITH_OWN_REASONS))
def test_a_malformed_setting_is_a_reason_if_every_request_fails_and_else_degrades(make_service, name):
    make_service().user().get("/whoami")
    variable = "SQLALCHEMY.URL" if name == "database_url" else name.upper()
    usual = {"RATE_LIMIT": "1000/minute", variable: QUOTED}
    service = make_service(**usual)
    state = Readiness(service.app.registry, lambda: False).state
    fails_all = answers(service) == {500}
    assert ("settings" in state.reasons) == fails_all
    assert ("settings_malformed" in state.degraded) == (not fails_all)


@pytest.mark.slow
@pytest.mark.parametrize(
    "malformed",
    [
        {"ACCESS_ISSUER": ""},
        {"RATE_LIMIT": "often"},
        {"BOOTSTRAP_ADMINS": "ann"},
        {"RATE_LIMIT": "9/day", "RATE_LIMIT_STORAGE": "nonsense://"},
    ],
)
def test_a_process_that_fails_every_request_is_not_ready(make_service, malformed):
    with watched(make_service(**LISTENING, **malformed)) as operator:
        operator.until(503, reasons=["settings"], degraded=[])


@pytest.mark.slow
def test_a_storage_whose_library_is_missing_is_a_setting_that_is_wrong(make_service, monkeypatch):
    for module in ("redis.backoff", "redis.retry"):
        monkeypatch.setitem(sys.modules, module, None)
    storage = {"RATE_LIMIT": "9/day", "RATE_LIMIT_STORAGE": "redis://127.0.0.1:1"}
    with watched(make_service(**LISTENING, **storage)) as operator:
        operator.until(503, reasons=["settings"], degraded=[])


@pytest.mark.slow
def test_a_storage_that_is_not_asked_may_be_anything(make_service):
    unlimited = dict.fromkeys(("RATE_LIMIT", "WRITE_LIMIT", "IDENTITY_LIMIT"), "")
    with watched(make_service(**LISTENING, **unlimited, RATE_LIMIT_STORAGE="nonsense://")) as operator:
        operator.until(200, degraded=[])


@pytest.mark.slow
@pytest.mark.parametrize("malformed", [{"PUBLIC_ORIGIN": "no origin"}, {"DENIAL_LIMIT": "often"}])
def test_a_setting_that_some_requests_need_degrades(make_service, malformed):
    with watched(make_service(**LISTENING, **malformed)) as operator:
        operator.until(200, degraded=["settings_malformed"])
        assert operator.figures()["secretsvc_readiness_problem", "settings_malformed"] == 1


@pytest.mark.slow
def test_a_workload_issuer_that_is_malformed_degrades(make_service):
    with watched(make_service(**LISTENING, WORKLOAD_ISSUERS="ci")) as operator:
        operator.until(200, degraded=["settings_malformed"])
