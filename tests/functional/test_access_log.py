"""The log: one line for each request, the cause of each error, and nothing that a client made up."""

from __future__ import annotations

import json
import logging
import threading

import pytest
from fault_injection import refuse_inserts
from pages import Browser, form_of, submit
from secrets_client import CANONICAL, overwrite, tamper
from service import API, HEADER
from waiting import PATIENCE
from wsgi import call

from secretsvc.db.engine import write_transaction
from secretsvc.db.sqlite_write_lock import WriteLock
from secretsvc.web.json_logging import JsonFormatter
from secretsvc.web.pages.layout import PageLayout

SECRETS = "/projects/{project}/environments/{env}/secrets"
CANARY = "canary-of-the-log"


@pytest.fixture
def lines(caplog):
    """The access log's lines so far, as `production.ini` has them written."""
    caplog.set_level(logging.DEBUG)

    def read():
        return [json.loads(JsonFormatter().format(one)) for one in records(caplog)]

    caplog.clear()
    return read


def records(caplog):
    return [record for record in caplog.records if record.name == "secretsvc.access"]


def others(caplog):
    return [
        record
        for record in caplog.records
        if record.name.startswith("secretsvc") and record not in records(caplog)
    ]


def test_a_request_has_one_line_with_what_it_was_and_how_long_it_took(vault, service, lines, caplog):
    vault.set(K="v")
    me = service.identity_id("root@example.com")
    caplog.clear()
    answer = vault.client.get(
        f"{CANONICAL}/secrets/K:reveal?reason=copy", headers={"X-Request-Id": "find-me"}
    )
    (line,) = lines()
    spent = line.pop("milliseconds"), line.pop("database_milliseconds")
    assert 0 < spent[1] < spent[0] < 60_000
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "INFO",
        "logger": "secretsvc.access",
        "request_id": "find-me",
        "actor_id": str(me),
        "method": "GET",
        "route": f"{SECRETS}/{{key}}:reveal",
        "status": 200,
        "bytes": len(answer.body),
        "client_address": None,
    }


@pytest.mark.parametrize(
    ("method", "path", "route", "status"),
    [
        ("GET", f"{API}/health", "/health", 200),
        ("GET", f"{API}/openapi.json", "/openapi.json", 200),
        ("GET", f"{API}/p/shop/e/prod/secrets", SECRETS, 200),
        ("GET", f"{API}/projects/absent", "/projects/{project}", 404),
        ("GET", f"{API}/projects/%20{CANARY}", "/projects/{project}", 422),
        ("POST", f"{API}{CANONICAL}/secrets:batch", f"{SECRETS}:batch", 400),
        ("DELETE", f"{API}{CANONICAL}/secrets:batch", None, 404),
        ("GET", f"{API}/{CANARY}", None, 404),
        ("GET", f"/{CANARY}/x?{CANARY}", None, 404),
        ("GET", f"/projects/shop/{CANARY}", None, 404),
        ("GET", f"/%ff{CANARY}", None, 400),
        ("GET", "/", "/", 200),
        ("GET", f"{CANONICAL}?done={CANARY}", "/projects/{project}/environments/{env}", 200),
        ("HEAD", f"{CANONICAL}/import", "/projects/{project}/environments/{env}/import", 200),
        ("POST", f"{CANONICAL}/edit-review", "/projects/{project}/environments/{env}/edit-review", 400),
        ("GET", "/static/web/secretsvc.css", "/static/web/*subpath", 200),
        ("GET", f"/static/web/{CANARY}", "/static/web/*subpath", 404),
        (CANARY.upper(), "/", None, 404),
    ],
)
def test_a_line_names_the_route_and_not_the_path(service, admin, lines, caplog, method, path, route, status):
    caplog.clear()
    answer = call(service.app, method, path, {HEADER: admin.token})
    (line,) = lines()
    assert (answer.status, line["route"], line["status"]) == (status, route, status)
    assert line["bytes"] == (0 if method == "HEAD" else len(answer.body))
    assert line["method"] == (method if method in ("GET", "HEAD", "POST", "DELETE") else "OTHER")
    for record in caplog.records:
        assert CANARY not in JsonFormatter().format(record).lower()
        assert CANARY not in record.getMessage().lower()


def test_who_is_nobody_leaves_neither_an_actor_nor_a_route(service, admin, lines, caplog):
    caplog.clear()
    service.nobody().get(f"{CANONICAL}/secrets", 401)
    (line,) = lines()
    assert (line["actor_id"], line["route"], line["code"], line["level"]) == (
        None,
        None,
        "UNAUTHENTICATED",
        "INFO",
    )


def test_a_refused_form_tells_its_code(vault, service, lines, caplog):
    page = Browser(service).open(f"{CANONICAL}/import")
    caplog.clear()
    submit(page, "/import-review", 422, content=f"{CANARY}\n")
    (line,) = lines()
    assert (line["code"], line["status"]) == ("VALIDATION_FAILED", 422)
    assert CANARY not in caplog.text


@pytest.mark.parametrize(
    ("trusted", "forwarded", "found"),
    [
        (None, "192.0.2.7", None),
        ("192.0.2.0/24", "192.0.2.7", "127.0.0.1"),
        ("127.0.0.1", "198.51.100.1, 192.0.2.7", "192.0.2.7"),
        ("127.0.0.1", CANARY, "127.0.0.1"),
    ],
)
def test_a_client_is_named_by_proxies_that_are_trusted_alone(
    make_service, lines, caplog, trusted, forwarded, found
):
    service = make_service(TRUSTED_PROXIES=trusted)
    caplog.clear()
    assert call(service.app, "GET", f"{API}/health", {"X-Forwarded-For": forwarded}).status == 200
    (line,) = lines()
    assert line["client_address"] == found


@pytest.mark.parametrize(("damage", "code"), [(tamper, "DECRYPT_FAILED"), (overwrite, "UNKNOWN_KID")])
def test_a_value_that_cannot_be_opened_is_a_warning_with_the_id_of_its_key(
    vault, service, lines, caplog, damage, code
):
    vault.set(**{CANARY.upper().replace("-", "_"): "v"})
    key = next(iter(vault.listed()))
    kid = vault.listed()[key]["kid"]
    if damage is overwrite:
        service = service.restarted(MASTER_KEY="AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
    else:
        tamper(service, key)
    caplog.clear()
    asked = service.user().get(f"{CANONICAL}/secrets/{key}", 500)
    (line,) = lines()
    assert (line["level"], line["code"], line["cause"]) == ("WARNING", code, f"kid {kid}")
    assert line["request_id"] == asked.headers["X-Request-Id"]
    assert key not in caplog.text
    assert others(caplog) == []


@pytest.mark.both_engines
def test_an_error_that_nobody_foresaw_tells_its_cause_each_time_and_its_traceback_once(
    vault, service, lines, caplog
):
    refuse_inserts(service, "secret_version")
    caplog.clear()
    ids = [
        vault.batch(500, set={"K": CANARY}, headers={"X-Request-Id": f"r-{n}"}).json["request_id"]
        for n in range(5)
    ]
    made = lines()
    assert [line["request_id"] for line in made] == ids
    assert {line["level"] for line in made} == {"ERROR"}
    assert {line["code"] for line in made} == {"INTERNAL"}
    (cause,) = {line["cause"] for line in made}
    assert cause in (
        "IntegrityError: SQLITE_CONSTRAINT_TRIGGER",
        "InternalError: P0001",
        "ProgrammingError: P0001",
    )
    (location,) = {line["location"] for line in made}
    assert location.startswith("secretsvc/")
    (traceback,) = others(caplog)
    fields = traceback.fields
    assert (fields["request_id"], fields["suppressed"], fields["held_back"]) == ("r-0", 0, 0)
    assert location.rpartition(":")[0] in traceback.fields["traceback"]
    assert CANARY not in caplog.text


@pytest.mark.both_engines
def test_denials_that_cannot_be_recorded_are_told_by_request_and_once_aloud(service, admin, lines, caplog):
    service.grant("rita@example.com", "reader", "shop")
    reader = service.user("rita@example.com")
    reader.get("/whoami")
    refuse_inserts(service, "audit_record")
    caplog.clear()
    for _ in range(3):
        reader.delete("/projects/shop", 403)
    made = lines()
    assert [line["code"] for line in made] == ["FORBIDDEN"] * 3
    assert all(line["cause"].startswith("denial not recorded: ") for line in made)
    (said,) = others(caplog)
    assert made[0]["request_id"] in said.getMessage()


def test_observers_see_what_the_line_tells_and_cannot_break_a_request(service, admin, lines, caplog):
    seen = []
    observed = service.restarted()
    observed.app.registry.request_observers |= {
        "fails": lambda *one: 1 / 0,
        "sees": lambda *one: seen.append(one),
    }
    admin = observed.user()
    caplog.clear()
    for path in (f"/projects?limit=1&cursor={CANARY}", "/projects/absent", "/nothing"):
        admin.request("GET", path)
    assert [one[:3] for one in seen] == [
        ("/projects", "GET", 422),
        ("/projects/{project}", "GET", 404),
        (None, "GET", 404),
    ]
    assert all(0 < one[3] < 60 for one in seen)
    (complaint,) = others(caplog)
    assert "ZeroDivisionError" in complaint.getMessage()


def test_the_readable_line_tells_the_same(service, admin, caplog):
    caplog.set_level(logging.INFO)
    caplog.clear()
    admin.get("/projects/absent", 404, headers={"X-Request-Id": "find-me"})
    text = records(caplog)[-1].getMessage()
    assert text.startswith("GET /projects/{project} 404 request_id=find-me actor_id=")
    assert "code=NOT_FOUND" in text


@pytest.mark.both_engines
def test_time_that_a_writer_waits_for_its_turn_is_the_databases(service, admin, lines, caplog, monkeypatch):
    if service.engine.name != "sqlite":
        service.execute(
            "CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END $$"
        )
        service.execute("CREATE TRIGGER slow BEFORE UPDATE ON project FOR EACH ROW EXECUTE FUNCTION slowly()")
        caplog.clear()
        admin.patch("/projects/shop", {"name": "New"})
    else:
        with write_transaction(service.engine) as connection:
            connection.exec_driver_sql("SELECT 1")
            caplog.clear()
            asking = threading.Thread(target=admin.patch, args=("/projects/shop", {"name": "New"}))
            begun = threading.Event()
            acquire = WriteLock.acquire
            monkeypatch.setattr(WriteLock, "acquire", lambda lock: [begun.set(), acquire(lock)])
            asking.start()
            assert begun.wait(PATIENCE)
            asking.join(0.2)
        asking.join()
    (line,) = lines()
    assert line["status"] == 200
    assert line["milliseconds"] >= line["database_milliseconds"] >= 150


@pytest.mark.both_engines
def test_a_page_that_fails_while_it_is_drawn_is_an_error_page_with_a_line(
    service, admin, lines, caplog, monkeypatch
):
    monkeypatch.setattr(
        PageLayout, "crumbs", lambda self, deep: 1 / 0 if self.request.failure is None else []
    )
    caplog.clear()
    page = Browser(service).open("/projects", 500)
    assert page.content_type == "text/html"
    (line,) = lines()
    assert (line["code"], line["cause"]) == ("INTERNAL", "ZeroDivisionError")
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src")


@pytest.mark.slow
def test_values_typed_into_pages_are_in_no_line(vault, service, caplog):
    caplog.set_level(logging.DEBUG)
    vault.set(A="1")
    browser = Browser(service)
    form = browser.open(CANONICAL).forms["edits"]
    form["value.A"] = CANARY
    page = form.submit()
    submit(page, "/edit-apply", reason="why")
    shown = browser.open(f"{CANONICAL}/secrets/A")
    next(form for form in shown.forms.values() if form.action.endswith("/reveal")).submit()
    submit(browser.open(f"{CANONICAL}/text"), "/text", 200)
    form_of(browser.open(CANONICAL), "/export").submit("format", value="env")
    assert records(caplog)
    for record in caplog.records:
        assert CANARY not in JsonFormatter().format(record)
        assert CANARY not in record.getMessage()
        for part in vault.client.token.split("."):
            assert part not in record.getMessage()
