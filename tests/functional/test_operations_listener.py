"""What the operations listener tells (contract 8.3): alive, ready or why not, and figures without names."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from metrics_client import SOON, Operator, watched
from rotation import NEW_KEY, fill
from server import exchange
from service import HEADER, MASTER_KEY, Service, arrange
from sqlalchemy import text
from waiting import eventually, least_seconds

from secretsvc.authentication.jwks import FIRST_PAUSE
from secretsvc.db.schema import REVISION
from secretsvc.server.monitoring import FORMER_NAMES
from secretsvc.server.operations_listener import CLIENTS, SECONDS
from secretsvc.server.readiness import access_keys_state
from secretsvc.server.server import make_configured_server

#: A name of ours, or of the process's, in a page or a rule; a database and a role have shorter ones.
FIGURE = re.compile(r"\b(?:secretsvc|process)_(?!owner\b|restored\b)[a-z]\w+")
#: Far less than anything hangs in these tests, or than the listener gives its clients.
AT_ONCE = 0.5


@pytest.fixture
def watch(make_service: Callable[..., Service]) -> Callable[..., Any]:
    """The server of an application with the listener, for a `with`."""

    def made(**settings: str | None) -> Any:
        return watched(make_service().restarted(**{"OPERATIONS_LISTEN": "127.0.0.1:0", **settings}))

    return made


@pytest.mark.slow
def test_a_process_that_has_all_it_needs_is_ready(watch):
    with watch() as operator:
        told = operator.until(200)
        assert told.json == {"ready": True, "reasons": [], "degraded": []}
        assert told.headers["Cache-Control"] == "no-store"
        assert operator.ask("/live").json == {"live": True}
        assert operator.ask("/ready", "HEAD").body == b""
        assert operator.ask("/").status == 404
        assert operator.ask("/metrics?name[]=x").status == 200


@pytest.mark.slow
def test_it_fetches_the_access_proxys_keys_before_any_request_needs_them(watch):
    with watch() as operator:
        operator.until(200)
        assert operator.figures()["secretsvc_access_keys_age_seconds",] < SOON


@pytest.mark.slow
def test_without_the_access_proxys_keys_it_is_not_ready(watch, tmp_path, caplog):
    with watch(ACCESS_JWKS_URL=f"file:{tmp_path}/none.json") as operator:
        operator.until(503, reasons=["access_keys_never_seen"])
    assert "the access proxy's keys could not be fetched: FileNotFoundError" in caplog.text


@pytest.mark.slow
def test_keys_that_come_later_make_it_ready(watch, tmp_path, issuer):
    path = tmp_path / "keys.json"
    with watch(ACCESS_JWKS_URL=f"file:{path}") as operator:
        operator.until(503, reasons=["access_keys_never_seen"])
        source = issuer.environment()["ACCESS_JWKS_URL"].removeprefix("file:")
        path.write_bytes(Path(source).read_bytes())
        operator.until(200)
    assert FIRST_PAUSE < SOON


@pytest.mark.slow
def test_a_process_whose_database_has_no_url_is_not_ready_and_still_has_figures(watch):
    with watch(**{"SQLALCHEMY.URL": "no url"}) as operator:
        operator.until(503, reasons=["settings", "database_unavailable"])
        assert operator.figures()["secretsvc_ready",] == 0


def test_a_set_that_was_not_refreshed_in_time_is_stale_and_no_reason_to_stop():
    assert access_keys_state(300.0) == ((), ())
    assert access_keys_state(400.0) == ((), ("access_keys_stale",))


@pytest.mark.slow
def test_without_a_database_it_is_not_ready(watch, tmp_path):
    url = f"sqlite:///{tmp_path}/no/such/folder/database.sqlite"
    with watch(**{"SQLALCHEMY.URL": url}) as operator:
        operator.until(503, reasons=["database_unavailable"])
        assert operator.ask("/live").status == 200
        assert operator.figures()["secretsvc_readiness_problem", "database_unavailable"] == 1


@pytest.mark.slow
@pytest.mark.both_engines
@pytest.mark.parametrize("found", ["0000", "9999", None])
def test_a_schema_that_the_code_does_not_know_is_not_served(make_service, found):
    service = make_service()
    with service.engine.begin() as connection:
        connection.execute(text("DELETE FROM alembic_version"))
        if found is not None:
            connection.execute(text("INSERT INTO alembic_version VALUES (:found)"), {"found": found})
    try:
        with watched(service.restarted(OPERATIONS_LISTEN="127.0.0.1:0")) as operator:
            operator.until(503, reasons=["schema_not_served"])
    finally:
        with service.engine.begin() as connection:
            connection.execute(text("DELETE FROM alembic_version"))
            connection.execute(text("INSERT INTO alembic_version VALUES (:found)"), {"found": REVISION})


def test_the_revision_of_the_code_is_that_of_the_newest_migration(here):
    assert ScriptDirectory.from_config(Config(here / "production.ini")).get_current_head() == REVISION


@pytest.mark.slow
def test_a_master_key_that_is_not_in_use_is_a_reason(make_service):
    service = make_service()
    fill(arrange(service))
    for key, status, reasons in ((MASTER_KEY, 200, []), (NEW_KEY, 503, ["key_not_adopted"])):
        watching = service.restarted(MASTER_KEY=key, OPERATIONS_LISTEN="127.0.0.1:0")
        with watched(watching) as operator:
            operator.until(status, reasons=reasons)


@pytest.mark.slow
@pytest.mark.both_engines
def test_a_master_key_that_was_retired_is_a_reason(make_service):
    service = make_service()
    fill(arrange(service))
    service.execute("UPDATE master_key SET retired_at = 1")
    with watched(service.restarted(OPERATIONS_LISTEN="127.0.0.1:0")) as operator:
        operator.until(503, reasons=["key_not_adopted"])


@pytest.mark.slow
def test_without_a_master_key_it_is_not_ready(watch):
    with watch(MASTER_KEY="") as operator:
        operator.until(503, reasons=["key_not_adopted"])


@pytest.mark.slow
def test_a_rate_limit_that_nobody_can_count_is_no_reason_to_stop(watch):
    with watch(RATE_LIMIT="9/day", RATE_LIMIT_STORAGE="redis://127.0.0.1:1") as operator:
        operator.until(200, degraded=["rate_limit_storage_unavailable"])


@pytest.mark.slow
@pytest.mark.parametrize("malformed", [{"AUDIT_SEAL_SECONDS": "soon"}, {"AUDIT_ORIGIN": "our log"}])
def test_a_setting_that_stops_the_sealing_is_told_and_no_reason_to_stop(watch, malformed):
    with watch(**malformed) as operator:
        operator.until(200, degraded=["audit_settings_malformed"])
        assert operator.figures()["secretsvc_readiness_problem", "audit_settings_malformed"] == 1


@pytest.mark.slow
def test_a_process_that_stops_is_not_ready_until_it_ends(make_service):
    service = make_service().restarted(OPERATIONS_LISTEN="127.0.0.1:0")
    with watched(service) as operator:
        operator.until(200)
        with socket.create_connection(("127.0.0.1", int(operator.server.effective_port))):
            assert eventually(lambda: len(operator.server.traffic) == 1)
            operator.server.stop()
            operator.until(503, reasons=["draining"])
            assert operator.ask("/live").status == 200


@pytest.mark.slow
def test_it_answers_at_once_while_every_worker_and_the_database_hang(make_service):
    service = make_service().restarted(OPERATIONS_LISTEN="127.0.0.1:0")
    arrange(service)
    release = threading.Event()
    with watched(service) as operator:
        operator.until(200)
        inner = operator.server.listeners[0].application

        def hanging(environ: Any, start_response: Any) -> Any:
            release.wait(SOON)
            return inner(environ, start_response)

        operator.server.listeners[0].application = hanging
        service.app.registry.key_verdict = lambda _connection: release.wait(SOON)
        raw = b"GET /api/v1/health HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
        port = int(operator.server.effective_port)
        clients = [threading.Thread(target=exchange, args=(port, raw)) for _ in range(6)]
        for client in clients:
            client.start()
        deadline = time.monotonic() + SOON
        statuses = set()
        while 503 not in statuses:
            assert time.monotonic() < deadline
            for path in ("/live", "/ready", "/metrics"):
                assert least_seconds(lambda path=path: operator.ask(path), AT_ONCE) < AT_ONCE
            statuses.add(operator.ask("/ready").status)
            time.sleep(0.05)
        assert operator.ask("/ready").json["reasons"] == ["database_unavailable"]
        release.set()
        for client in clients:
            client.join()
        operator.until(200)


@pytest.mark.slow
def test_those_who_say_nothing_to_it_keep_nobody_waiting(watch):
    with watch() as operator:

        def ask_beside_them() -> None:
            with ExitStack() as silent:
                for _ in range(10):
                    silent.enter_context(socket.create_connection(("127.0.0.1", operator.port)))
                operator.ask("/live")

        assert least_seconds(ask_beside_them, AT_ONCE) < AT_ONCE


@pytest.mark.slow
def test_those_who_never_end_their_question_keep_their_places_for_seconds_only(make_service):
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with suppress(OSError):
            while not over.wait(0.2):
                connection.sendall(b"G")

    service = make_service(OPERATIONS_LISTEN="127.0.0.1:0")
    with watched(service, seconds=SECONDS) as operator, ExitStack() as stack:
        stack.callback(over.set)
        for _ in range(CLIENTS):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", operator.port)))
            threading.Thread(target=drip, args=(connection,), daemon=True).start()
        time.sleep(SECONDS)
        assert eventually(lambda: is_answered(operator))


def is_answered(operator: Operator) -> bool:
    """Who comes while all slots are taken is hung up on."""
    with suppress(OSError):
        return operator.ask("/live").status == 200
    return False


@pytest.mark.slow
def test_figures_are_by_template_and_hold_no_name(make_service):
    service = make_service().restarted(OPERATIONS_LISTEN="127.0.0.1:0")
    arrange(service, "hidden-project", "hidden-environment")
    token = service.issuer.sign("hidden.person@example.com")
    root = service.issuer.sign("root@example.com")
    under = "/projects/hidden-project/environments/hidden-environment"
    with watched(service) as operator:
        port = int(operator.server.effective_port)
        for path, bearer in (
            (f"/api/v1{under}/secrets", root),
            (f"/api/v1{under}/secrets/HIDDEN_KEY:reveal", root),
            (f"/api/v1{under}/secrets", token),
            ("/api/v1/hidden-nothing", root),
            ("/api/v1/projects", "nonsense"),
            (under, root),
            ("/api/v1/health", "nonsense"),
        ):
            head = f"GET {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n{HEADER}: {bearer}\r\n\r\n"
            exchange(port, head.encode())
        exchange(port, b"HIDDEN / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        assert eventually(lambda: ("secretsvc_envelopes_to_rekey",) in operator.figures())
        told, found = operator.ask("/metrics"), operator.figures()
    assert not re.search("hidden", told.body.decode(), re.IGNORECASE)
    environment = "/projects/{project}/environments/{env}"
    requests = "secretsvc_requests_total"
    assert found[requests, "GET", f"{environment}/secrets", "200"] == 1
    assert found[requests, "GET", f"{environment}/secrets", "404"] == 1
    assert found[requests, "GET", f"{environment}/secrets/{{key}}:reveal", "404"] == 1
    assert found[requests, "GET", "/projects/{project}/environments/{env}", "200"] == 1
    assert found[requests, "GET", "/health", "200"] == 1
    assert found[requests, "GET", "other", "404"] == 1
    assert found[requests, "GET", "other", "401"] == 1
    assert found[requests, "OTHER", "other", "401"] == 1
    assert found["secretsvc_denials_total",] == 1
    assert found["secretsvc_rejected_requests_total", "assertion", "malformed"] == 1
    assert found["secretsvc_envelopes_to_rekey",] == 0
    assert found["secretsvc_audit_unsealed_age_seconds",] < SOON
    assert found["secretsvc_sealing_failures_total",] == 0
    assert found["secretsvc_request_seconds_count", f"{environment}/secrets"] == 2
    assert found["secretsvc_pending_response_bytes",] == 0
    assert found["secretsvc_plaintext_bytes",] == 0
    assert found["secretsvc_plaintext_max_bytes",] == 134_217_728
    assert ("secretsvc_database_connections", "in use") in found
    assert found["secretsvc_refusals_total", "malformed", "assertion"] == 1
    former = {FORMER_NAMES[name] for name in FORMER_NAMES} - {"secretsvc_amiss", "secretsvc_refusals"}
    assert {(name,) for name in former} <= found.keys()


@pytest.mark.slow
def test_every_figure_that_a_page_or_an_alert_names_is_one_that_is_told(watch, here):
    files = [here / "deploy" / "prometheus-alerts.yaml", *(here / "docs" / "operations").glob("*.md")]
    named = {name for path in files for name in FIGURE.findall(path.read_text("utf-8"))}
    assert len(named) > 12
    with watch() as operator:

        def told() -> set[str]:
            families = re.findall(r"(?m)^# TYPE (\w+) ", operator.ask("/metrics").body.decode())
            return {
                *families,
                *(f"{name}_{part}" for name in families for part in ("bucket", "count", "sum")),
            }

        assert eventually(lambda: named <= told()), named - told()


def test_the_page_of_monitoring_has_every_alert(here):
    rules = (here / "deploy" / "prometheus-alerts.yaml").read_text("utf-8")
    page = (here / "docs" / "operations" / "monitoring.md").read_text("utf-8")
    alerts = re.findall(r"alert: (\w+)", rules)
    assert re.findall(r"(?m)^\| `(Secretsvc\w+)` \|", page.partition("\n## ")[0]) == alerts
    gone_wrong = page.partition("\n## When it goes wrong\n")[2]
    assert {*re.findall(r"`(Secretsvc\w+)`", gone_wrong)} == {*alerts}


@pytest.mark.slow
def test_it_may_listen_on_a_unix_socket(watch, tmp_path):
    path = tmp_path / "operations"
    with watch(OPERATIONS_LISTEN=f"unix:{path}"), socket.socket(socket.AF_UNIX) as connection:
        assert os.stat(path).st_mode & 0o777 == 0o600
        connection.settimeout(SOON)
        connection.connect(str(path))
        connection.sendall(b"GET /live HTTP/1.0\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.0 200")


def test_without_the_setting_nobody_listens(make_service):
    server = make_configured_server(make_service().app, listen="127.0.0.1:0")
    assert server.watch.listener is None
    server.stop()
    server.run()
