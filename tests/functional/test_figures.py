"""Something goes wrong, and the figure of it moves that the pages for operators name."""

from __future__ import annotations

import json
import logging
import mmap
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from uuid import uuid4

import pytest
from jwks_server import KeyServer, answer
from metrics_client import Operator, watched
from postgresql_proxy import relayed
from resource_fields import log
from rotation import PROD, fill, rotated
from sealing_routes import kid_of
from server import exchange
from service import ADMIN, API, HEADER, arrange
from sqlalchemy import text
from tokens import TestIssuer
from waiting import eventually

from secretsvc.db import engine as engines
from secretsvc.kernel.clock import now_ms
from secretsvc.web.json_logging import JsonFormatter

DAY = 86_400
MASTER_KEYS = "secretsvc_master_key"
LISTENING: dict[str, str | None] = {"OPERATIONS_LISTEN": "127.0.0.1:0"}
POSTGRESQL_ONLY = "on SQLite a file that root may not write to is none"


def figure(operator: Operator, *name: str) -> float | None:
    return operator.figures().get(name)


def test_a_database_that_only_reads_is_amiss_and_no_reason_to_stop(make_service):
    service = make_service()
    if service.engine.name == "sqlite":
        pytest.skip(POSTGRESQL_ONLY)
    url = f"{service.url}{'&' if '?' in service.url else '?'}options=-cdefault_transaction_read_only%3Don"
    with watched(service.restarted(**{"SQLALCHEMY.URL": url, **LISTENING})) as operator:
        operator.until(200, degraded=["database_read_only"])
        assert figure(operator, "secretsvc_readiness_problem", "database_read_only") == 1
        assert figure(operator, "secretsvc_ready") == 1


@pytest.mark.slow
def test_who_was_dropped_is_counted_by_the_reason(make_service):
    service = make_service().restarted(**LISTENING)
    with watched(service, connection_limit=1) as operator, ExitStack() as stack:
        address = ("127.0.0.1", int(operator.server.effective_port))
        for _ in range(2):
            stack.enter_context(socket.create_connection(address))
        name = ("secretsvc_connections_dropped_total", "connection_limit")
        assert eventually(lambda: figure(operator, *name) == 1, pause=0.05)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.both_engines
def test_envelopes_under_the_old_key_are_counted_while_a_rotation_is_under_way(make_service):
    service = make_service()
    fill(arrange(service))
    with watched(rotated(service, **LISTENING)) as operator:
        assert eventually(lambda: figure(operator, "secretsvc_envelopes_to_rekey"), pause=0.05)


@pytest.mark.slow
def test_after_a_rekey_no_envelope_is_under_the_old_key(make_service):
    service = make_service()
    fill(arrange(service))
    now = rotated(service, **LISTENING)
    assert now.user().post("/admin/rekey", {"limit": 1_000}).json["remaining"] == 0
    with watched(now) as operator:
        # The first look at the envelopes comes after the start; until then there is no figure.
        assert eventually(lambda: ("secretsvc_envelopes_to_rekey",) in operator.figures(), pause=0.05)
        assert figure(operator, "secretsvc_envelopes_to_rekey") == 0


@pytest.mark.slow
def test_the_kids_of_the_master_keys_that_a_process_has_are_told(make_service):
    service = make_service()
    now = rotated(service, **LISTENING)
    with watched(now) as operator:
        found = {name[1:]: value for name, value in operator.figures().items() if name[0] == MASTER_KEYS}
    assert found == {(kid_of(now), "active"): 1, (kid_of(service), "opens only"): 1}
    with watched(service.restarted(MASTER_KEY="", **LISTENING)) as operator:
        assert not [name for name in operator.figures() if name[0] == MASTER_KEYS]


@pytest.mark.slow
@pytest.mark.both_engines
def test_how_long_a_record_has_waited_to_be_sealed_is_told_while_nobody_seals(make_service, caplog):
    service = make_service()
    log(service, created_at=now_ms() - 7_200_000)
    with watched(service.restarted(MASTER_KEY="", **LISTENING)) as operator:
        waiting = "secretsvc_audit_unsealed_age_seconds"
        assert eventually(lambda: (figure(operator, waiting) or 0) >= 7_200, pause=0.05)
    assert "the audit log is not being sealed: SERVER_MISCONFIGURED" in caplog.text


@pytest.mark.slow
def test_connections_that_are_in_use_are_counted(make_service):
    service = make_service(DATABASE_POOL_SIZE="3").restarted(**LISTENING)
    with watched(service) as operator, ExitStack() as stack:
        operator.until(200)
        for _ in range(2):
            stack.enter_context(service.engine.connect())
        assert (figure(operator, "secretsvc_database_connections", "in use") or 0) >= 2


@pytest.mark.slow
def test_requests_that_find_no_thread_wait_and_have_taken_long_afterwards(make_service, issuer):
    service = make_service(DATABASE_POOL_SIZE="2").restarted(**LISTENING)
    with watched(service) as operator, ThreadPoolExecutor(4) as clients:
        operator.until(200)
        with service.engine.connect(), service.engine.connect():
            answers = [clients.submit(asked, operator, issuer) for _ in range(4)]
            assert eventually(lambda: figure(operator, "secretsvc_requests_queued") == 2, pause=0.05)
            assert figure(operator, "secretsvc_threads_busy") == 2
            time.sleep(0.1)
        assert all("200 OK" in answer.result() for answer in answers)
        assert figure(operator, "secretsvc_requests_queued") == 0
        assert (figure(operator, "secretsvc_request_seconds_sum", "/projects") or 0) >= 0.2


@pytest.mark.slow
def test_an_export_is_refused_while_the_plaintext_that_is_held_is_at_its_bound(make_service, issuer):
    service = make_service(PLAINTEXT_MAX_BYTES="4000", **LISTENING)
    fill(arrange(service))
    with watched(service) as operator:
        budget = service.app.registry.plaintext_budget
        held = [budget.admission(uuid4()) for _ in range(4)]
        for one in held:
            one.grow(1_000)
        assert "UNAVAILABLE" in asked(operator, issuer, path=f"{PROD}/secrets:export")
        found = operator.figures()
        for one in held:
            one.release()
        assert "200 OK" in asked(operator, issuer, path=f"{PROD}/secrets:export")
    assert found["secretsvc_plaintext_bytes",] == found["secretsvc_plaintext_max_bytes",] == 4_000
    route = "/projects/{project}/environments/{env}/secrets:export"
    assert found["secretsvc_requests_total", "GET", route, "503"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "status", "code"),
    [("BOOTSTRAP_ADMINS", "503", "NO_ADMINS_CONFIGURED"), ("ACCESS_ISSUER", "500", "SERVER_MISCONFIGURED")],
)
def test_a_request_that_failed_is_counted_with_its_status(make_service, issuer, setting, status, code):
    with watched(make_service(**LISTENING, **{setting: ""})) as operator:
        assert code in asked(operator, issuer)
        assert figure(operator, "secretsvc_requests_total", "GET", "other", status) == 1


@pytest.mark.slow
def test_who_asks_too_often_is_told_so_and_counted(make_service, issuer):
    with watched(make_service(RATE_LIMIT="1/day", **LISTENING)) as operator:
        assert "200 OK" in asked(operator, issuer)
        assert "RATE_LIMITED" in asked(operator, issuer)
        assert figure(operator, "secretsvc_requests_total", "GET", "other", "429") == 1


@pytest.mark.slow
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
        # Whoever watches has a connection of its own.
        operator.until(200)
    assert causes(caplog) == ["TimeoutError: no connection in time"]


@pytest.mark.both_engines
def test_a_database_that_is_killed_refuses_and_each_request_says_so(make_service, issuer, caplog):
    caplog.set_level(logging.INFO)
    service = make_service()
    if service.engine.name == "sqlite":
        pytest.skip("SQLite has no server")
    with (
        relayed(service.url) as relay,
        watched(service.restarted(**{"SQLALCHEMY.URL": relay.url, **LISTENING})) as operator,
    ):
        operator.until(200)
        asked(operator, issuer)
        relay.refuse()
        operator.until(503, reasons=["database_unavailable"])
        for _ in range(2):
            assert "UNAVAILABLE" in asked(operator, issuer)
        assert figure(operator, "secretsvc_requests_total", "GET", "other", "503") == 2
    assert causes(caplog)[-1] == "OperationalError: connection refused"
    assert "the database does not answer" not in caplog.text


@pytest.mark.slow
def test_a_file_that_is_not_there_is_the_cause_in_the_requests_line(make_service, issuer, caplog, tmp_path):
    caplog.set_level(logging.INFO, "secretsvc.access")
    missing = {"SQLALCHEMY.URL": f"sqlite:///{tmp_path}/no/such/folder/database.sqlite"}
    with watched(make_service().restarted(**missing, **LISTENING)) as operator:
        operator.until(503, reasons=["database_unavailable"])
        assert "INTERNAL" in asked(operator, issuer)
    assert causes(caplog) == ["OperationalError: SQLITE_CANTOPEN"]


@pytest.mark.slow
def test_a_full_disk_has_its_cause_in_each_requests_line_and_reads_go_on(
    make_service, issuer, caplog, monkeypatch
):
    caplog.set_level(logging.INFO, "secretsvc.access")
    service = make_service(**LISTENING)
    if service.engine.name != "sqlite":
        pytest.skip("no disk of a PostgreSQL is filled here: tests/faults does")
    # Never below what the file has: it is full as it is.
    full = (*engines.SQLITE_PRAGMAS, "PRAGMA max_page_count=1")
    with watched(service) as operator:
        asked(operator, issuer)
        monkeypatch.setattr(engines, "SQLITE_PRAGMAS", full)
        service.engine.dispose()
        bodies = (json.dumps({"slug": f"p{number}", "name": "A" * 60}) for number in range(100))
        assert any("UNAVAILABLE" in asked(operator, issuer, "POST", body) for body in bodies)
        assert "200 OK" in asked(operator, issuer)
        operator.until(200, degraded=[])
        assert figure(operator, "secretsvc_requests_total", "POST", "/projects", "503") == 1
    assert causes(caplog)[-1] == "OperationalError: SQLITE_FULL"


def test_a_lock_that_somebody_else_holds_has_its_cause_in_the_requests_line(make_service, issuer, caplog):
    caplog.set_level(logging.INFO, "secretsvc.access")
    service = make_service()
    if service.engine.name == "sqlite":
        pytest.skip("SQLite has one lock, for which requests wait as for a slow database")
    url = f"{service.url}{'&' if '?' in service.url else '?'}options=-clock_timeout%3D200ms"
    made = json.dumps({"slug": "shop", "name": "Shop"})
    with watched(service.restarted(**{"SQLALCHEMY.URL": url, **LISTENING})) as operator:
        assert "200 OK" in asked(operator, issuer)
        with service.engine.begin() as connection:
            connection.execute(text("LOCK TABLE audit_record IN EXCLUSIVE MODE"))
            assert "UNAVAILABLE" in asked(operator, issuer, "POST", made)
        assert "201 Created" in asked(operator, issuer, "POST", made)
        assert figure(operator, "secretsvc_requests_total", "POST", "/projects", "503") == 1
    assert causes(caplog) == ["OperationalError: lock timeout (55P03)"]


def test_a_right_that_the_role_lacks_is_the_cause_in_the_requests_line(make_service, issuer, caplog):
    caplog.set_level(logging.INFO, "secretsvc.access")
    service, role = make_service(), f"role_{uuid4().hex}"
    if service.engine.name == "sqlite":
        pytest.skip("SQLite has no roles")
    rights = ("SELECT, INSERT, UPDATE, DELETE ON ALL TABLES", "USAGE ON ALL SEQUENCES")
    for statement in (
        f"CREATE ROLE {role}",
        *(f"GRANT {right} IN SCHEMA public TO {role}" for right in rights),
        f"REVOKE INSERT ON project FROM {role}",
    ):
        service.execute(statement)
    url = f"{service.url}{'&' if '?' in service.url else '?'}options=-crole%3D{role}"
    made = json.dumps({"slug": "shop", "name": "Shop"})
    with watched(service.restarted(**{"SQLALCHEMY.URL": url, **LISTENING})) as operator:
        assert "200 OK" in asked(operator, issuer)
        assert "INTERNAL" in asked(operator, issuer, "POST", made)
        operator.until(200, reasons=[])
        assert figure(operator, "secretsvc_requests_total", "POST", "/projects", "500") == 1
    assert causes(caplog) == ["ProgrammingError: insufficient privilege (42501)"]
    for statement in ("DROP OWNED BY", "DROP ROLE"):
        service.execute(f"{statement} {role}")


def causes(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the cause in each failed request's line, once there is one: it is written after the answer."""
    assert eventually(lambda: _causes(caplog))
    return _causes(caplog)


def _causes(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = (one for one in caplog.records if one.name == "secretsvc.access")
    told = (json.loads(JsonFormatter().format(one)) for one in lines)
    return [one["cause"] for one in told if "cause" in one]


def asked(
    operator: Operator, issuer: TestIssuer, method: str = "GET", body: str = "", path: str = "/projects"
) -> str:
    """What the process answers to an administrator."""
    head = f"Host: h\r\nConnection: close\r\n{HEADER}: {issuer.sign(ADMIN)}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    port = int(operator.server.effective_port)
    return exchange(port, f"{method} {API}{path} HTTP/1.1\r\n{head}{body}".encode()).decode()


@pytest.mark.slow
def test_files_that_are_mapped_are_no_memory_of_the_process(make_service, tmp_path):
    size = 64 * 2**20
    path = tmp_path / "mapped"
    path.write_bytes(b"x" * size)
    with watched(make_service().restarted(**LISTENING)) as operator:
        before = operator.figures()
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            assert mapped[::4096].count(b"x") == size / 4096
            meanwhile = operator.figures()
        held = bytearray(size)
        held[::4096] = b"x" * (size // 4096)
        after = operator.figures()
    resident, own = ("process_resident_memory_bytes",), ("secretsvc_memory_bytes",)
    assert meanwhile[resident] - before[resident] > 0.9 * size
    assert meanwhile[own] - before[own] < 0.2 * size
    assert after[own] - before[own] > 0.9 * size
