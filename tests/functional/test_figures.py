"""Something goes wrong, and the figure of it moves that the pages for operators name."""

from __future__ import annotations

import json
import logging
import socket
import time
from contextlib import ExitStack

import pytest
from jwks_server import KeyServer, answer
from observing import Operator, watched
from rotation import fill, rotated
from server import exchange
from service import ADMIN, HEADER, Service, arrange
from shapes import log
from tokens import TestIssuer
from waiting import eventually

from secretsvc.kernel.clock import now_ms
from secretsvc.web.logs import JsonFormatter

DAY = 86_400
LISTENING: dict[str, str | None] = {"OPERATIONS_LISTEN": "127.0.0.1:0"}
POSTGRESQL_ONLY = "on SQLite a file that root may not write to is none"


def figure(operator: Operator, *name: str) -> float | None:
    return operator.figures().get(name)


def test_a_database_that_only_reads_is_amiss_and_no_reason_to_stop(make_service):
    service = make_service()
    if service.engine.name == "sqlite":
        pytest.skip(POSTGRESQL_ONLY)
    url = f"{service.url}{'&' if '?' in service.url else '?'}options=-cdefault_transaction_read_only%3Don"
    with watched(Service(url, service.issuer, **LISTENING)) as operator:
        operator.until(200, degraded=["database_read_only"])
        assert figure(operator, "secretsvc_amiss", "database_read_only") == 1
        assert figure(operator, "secretsvc_ready") == 1


@pytest.mark.engine_neutral
def test_who_was_dropped_is_counted_by_the_reason(make_service):
    service = make_service().restarted(**LISTENING)
    with watched(service, connection_limit=1) as operator, ExitStack() as stack:
        address = ("127.0.0.1", int(operator.server.effective_port))
        for _ in range(2):
            stack.enter_context(socket.create_connection(address))
        name = ("secretsvc_connections_dropped_total", "connection_limit")
        assert eventually(lambda: figure(operator, *name) == 1, pause=0.05)


@pytest.mark.engine_neutral
def test_the_age_of_keys_that_no_source_gives_is_that_of_the_file(make_service, issuer, tmp_path, caplog):
    kept = tmp_path / "keys.json"
    with KeyServer(answer(b"", 500)) as source:
        held = {"url": source.url, "seen_at": time.time() - DAY / 2, "jwks": json.loads(issuer.jwks())}
        kept.write_text(json.dumps(held))
        kept.chmod(0o600)
        settings = {"ACCESS_JWKS_URL": source.url, "ACCESS_JWKS_CACHE": str(kept)}
        with watched(make_service(**LISTENING, **settings)) as operator:
            operator.until(200, degraded=["access_keys_stale"])
            age = figure(operator, "secretsvc_access_keys_age_seconds")
    assert "the access proxy's keys could not be fetched: " in caplog.text
    assert age is not None
    assert age >= DAY / 2


def test_envelopes_under_the_old_key_are_counted_while_a_rotation_is_under_way(make_service):
    service = make_service()
    fill(arrange(service))
    with watched(rotated(service, **LISTENING)) as operator:
        assert eventually(lambda: figure(operator, "secretsvc_envelopes_under_old_keys"), pause=0.05)


def test_how_long_a_record_has_waited_to_be_sealed_is_told_while_nobody_seals(make_service, caplog):
    service = make_service()
    log(service, created_at=now_ms() - 7_200_000)
    with watched(service.restarted(MASTER_KEY="", **LISTENING)) as operator:
        waiting = "secretsvc_audit_waiting_seconds"
        assert eventually(lambda: (figure(operator, waiting) or 0) >= 7_200, pause=0.05)
    assert "the audit log is not being sealed: SERVER_MISCONFIGURED" in caplog.text


@pytest.mark.engine_neutral
def test_connections_and_plaintext_that_are_in_use_are_counted(make_service):
    service = make_service(DATABASE_POOL_SIZE="3").restarted(**LISTENING)
    with watched(service) as operator, ExitStack() as stack:
        operator.until(200)
        registry = service.app.registry
        for _ in range(2):
            stack.enter_context(registry.database.engine.connect())
        registry.plaintext_budget.admission(None).grow(1_000)
        found = operator.figures()
    assert found["secretsvc_database_connections", "in use"] >= 2
    assert found["secretsvc_plaintext_bytes",] == 1_000
    assert found["secretsvc_plaintext_max_bytes",] > 1_000


@pytest.mark.engine_neutral
@pytest.mark.parametrize(
    ("setting", "status", "code"),
    [("BOOTSTRAP_ADMINS", "503", "NO_ADMINS_CONFIGURED"), ("ACCESS_ISSUER", "500", "SERVER_MISCONFIGURED")],
)
def test_a_request_that_failed_is_counted_with_its_status(make_service, issuer, setting, status, code):
    with watched(make_service(**LISTENING, **{setting: ""})) as operator:
        assert code in asked(operator, issuer)
        assert figure(operator, "secretsvc_requests_total", "GET", "other", status) == 1


@pytest.mark.engine_neutral
def test_a_request_that_gets_no_connection_has_its_cause_in_the_log_while_all_are_counted(
    make_service, issuer, caplog
):
    caplog.set_level(logging.INFO, "secretsvc.access")
    service = make_service(DATABASE_POOL_SIZE="2", DATABASE_TIMEOUT="1").restarted(**LISTENING)
    with watched(service) as operator, ExitStack() as stack:
        operator.until(200)
        for _ in range(2):
            stack.enter_context(service.engine.connect())
        assert "UNAVAILABLE" in asked(operator, issuer)
        assert figure(operator, "secretsvc_database_connections", "in use") == 2
    told = [
        json.loads(JsonFormatter().format(one)) for one in caplog.records if one.name == "secretsvc.access"
    ]
    assert [one["cause"] for one in told] == ["TimeoutError: no connection in time"]


def asked(operator: Operator, issuer: TestIssuer) -> str:
    """What the process answers to an administrator."""
    head = f"Host: h\r\nConnection: close\r\n{HEADER}: {issuer.sign(ADMIN)}\r\n\r\n"
    port = int(operator.server.effective_port)
    return exchange(port, f"GET /api/v1/projects HTTP/1.1\r\n{head}".encode()).decode()
