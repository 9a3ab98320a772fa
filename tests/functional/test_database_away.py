"""A database that cannot be had is a 503, one that was lost at COMMIT a 500 that says so (contract 8.1)."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from contextlib import closing, contextmanager

import psycopg
import pytest
from secrets_client import Vault
from service import arrange
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from secretsvc.authorization.rules import admission
from secretsvc.db import engine as engines
from secretsvc.db.engine import make_engine
from secretsvc.db.error_mapping import committing, map_error
from secretsvc.db.session import Session
from secretsvc.db.unresponsive import ResponseTimeout
from secretsvc.kernel.errors import Internal
from secretsvc.kernel.log_throttle import LogThrottle

AWAY = "The database is not available at the moment."
POSTGRESQL_ONLY = "SQLite has no server"


def refused(answer):
    """Whether it is the 503 of contract 8.1."""
    assert answer.status_int == 503
    assert answer.headers["Retry-After"] == "1"
    assert (answer.json["code"], answer.json["message"]) == ("UNAVAILABLE", AWAY)


@contextmanager
def all_taken(service):
    """All connections of the process are in use by others."""
    pool = service.engine.pool
    taken = [pool.connect() for _ in range(pool.size())]
    try:
        yield
    finally:
        for connection in taken:
            connection.close()


def test_where_nobody_listens_every_request_is_refused_and_pages_too(service):
    away = service.restarted(**{"SQLALCHEMY.URL": "postgresql://secretsvc:hunter2@127.0.0.1:1/secretsvc"})
    refused(away.user().get("/whoami", 503))
    refused(away.user().post("/projects", {"slug": "a", "name": "A"}, 503))
    page = away.user().app.get("/", headers={"Proxy-Access-Jwt-Assertion": away.user().token}, status=503)
    assert page.headers["Retry-After"] == "1"
    assert AWAY in page
    assert "hunter2" not in page
    assert away.nobody().get("/health").json["status"] == "ok"


@pytest.mark.slow
def test_whoever_gets_no_connection_in_time_is_refused_and_served_when_there_is_one(make_service):
    service = make_service(DATABASE_POOL_SIZE="2", DATABASE_TIMEOUT="1")
    admin = service.user()
    admin.get("/whoami")
    with all_taken(service):
        began = time.monotonic()
        refused(admin.get("/whoami", 503))
        # Less than the ten seconds that it has by default, on a machine that pauses.
        assert 0.9 < time.monotonic() - began < 8
    admin.get("/whoami")


@pytest.mark.slow
def test_whoever_waits_less_than_that_is_served(make_service):
    service = make_service(DATABASE_POOL_SIZE="1", DATABASE_TIMEOUT="10")
    admin = service.user()
    admin.get("/whoami")
    found = []
    with all_taken(service):
        waiting = threading.Thread(target=lambda: found.append(admin.get("/whoami")))
        waiting.start()
        time.sleep(0.2)
        assert not found
    waiting.join()
    assert found[0].status_int == 200


@pytest.mark.slow
def test_one_connection_is_enough_for_every_kind_of_request(make_service):
    service = make_service(DATABASE_POOL_SIZE="1", DATABASE_TIMEOUT="1", LAST_SEEN_RESOLUTION="0")
    prod = Vault(arrange(service, "shop", "prod"))
    prod.set(A="1")
    prod.get("secrets/A")
    prod.values()
    prod.get("secrets?rev=0")
    prod.rename("A", "B")
    eve = service.user("eve@example.com")
    eve.get(f"{prod.base}/secrets", 404)
    eve.get("/audit", 403)
    for path in ("/", "/projects/shop", "/projects/shop/environments/prod"):
        service.user().app.get(path, headers={"Proxy-Access-Jwt-Assertion": prod.client.token})


@pytest.mark.parametrize("setting", ["DATABASE_POOL_SIZE", "DATABASE_TIMEOUT"])
@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_malformed_settings_of_the_pool_are_told(make_service, setting, value):
    service = make_service(**{setting: value})
    assert service.user().get("/whoami", 500).json["code"] == "SERVER_MISCONFIGURED"


def test_what_the_url_says_to_the_driver_holds(service):
    if service.engine.name == "sqlite":
        pytest.skip(POSTGRESQL_ONLY)
    mark = "&" if "?" in service.url else "?"
    engine = make_engine(f"{service.url}{mark}options=-c%20statement_timeout%3D7s&keepalives_idle=60")
    with engine.connect() as connection:
        told = connection.connection.dbapi_connection.info.get_parameters()
        assert (told["keepalives_idle"], told["tcp_user_timeout"]) == ("60", "10000")
        assert connection.execute(text("SHOW statement_timeout")).scalar_one() == "7s"
        assert connection.execute(text("SHOW lock_timeout")).scalar_one() == "0"
    engine.dispose()
    with service.engine.connect() as connection:
        assert connection.execute(text("SHOW lock_timeout")).scalar_one() == "10s"


def test_a_connection_that_is_lost_before_commit_is_a_503_and_nothing_was_done(service, monkeypatch):
    if service.engine.name == "sqlite":
        pytest.skip(POSTGRESQL_ONLY)
    prod = Vault(arrange(service, "shop", "prod"))
    commit = Session.commit

    def lose(session):
        _terminate(service, session)
        session.connection(engines.Mode.WRITE).execute(text("SELECT 1"))
        commit(session)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "commit", lose)
        refused(prod.batch(503, set={"A": "1"}))
    assert prod.values() == {}


@pytest.mark.parametrize("ending", ["pg_terminate_backend", "pg_cancel_backend"])
def test_a_write_that_is_ended_in_its_midst_is_a_503_and_nothing_was_done(service, ending):
    if service.engine.name == "sqlite":
        pytest.skip(POSTGRESQL_ONLY)
    prod = Vault(arrange(service, "shop", "prod"))
    prod.set(A="1")
    before = service.audit()
    # A trigger stands for what takes long, and is ended meanwhile, by a limit of the server or by its stop.
    end = f"BEGIN PERFORM {ending}(pg_backend_pid()); PERFORM pg_sleep(5); RETURN NEW; END"
    service.execute(text(f"CREATE FUNCTION halt() RETURNS trigger LANGUAGE plpgsql AS '{end}'"))
    service.execute(
        text("CREATE TRIGGER halt BEFORE INSERT ON revision FOR EACH ROW EXECUTE FUNCTION halt()")
    )
    refused(prod.batch(503, set={"A": "2"}))
    service.execute(text("DROP TRIGGER halt ON revision"))
    service.execute(text("DROP FUNCTION halt()"))
    assert service.audit() == before
    assert prod.values() == {"A": "1"}
    assert prod.set(A="2") == 2


def test_a_connection_that_is_lost_at_commit_is_a_500_that_says_so(service, monkeypatch):
    if service.engine.name == "sqlite":
        pytest.skip(POSTGRESQL_ONLY)
    prod = Vault(arrange(service, "shop", "prod"))
    commit = Session.commit

    def lose(session):
        _terminate(service, session)
        commit(session)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "commit", lose)
        answer = prod.batch(500, set={"A": "1"})
    assert answer.json["code"] == "INTERNAL"
    assert "not known" in answer.json["hint"]
    assert "Retry-After" not in answer.headers
    prod.set(A="1")


@contextmanager
def nothing_is_written(service, monkeypatch):
    """As on a full disk, or a standby: what is there can be read."""
    if service.engine.name == "sqlite":
        with monkeypatch.context() as patch:
            patch.setattr(engines, "SQLITE_PRAGMAS", (*engines.SQLITE_PRAGMAS, "PRAGMA query_only=ON"))
            service.engine.dispose()
            yield
        # Pragmas are of a connection.
        service.engine.dispose()
        return
    name = service.engine.url.database
    with closing(psycopg.connect(_plain(service), autocommit=True)) as other:
        other.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        service.engine.dispose()
        try:
            yield
        finally:
            other.execute("SET default_transaction_read_only = off")
            other.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')


def test_names_are_read_while_nothing_can_be_written_and_values_are_not(make_service, monkeypatch, caplog):
    service = make_service(LAST_SEEN_RESOLUTION="0")
    prod = Vault(arrange(service, "shop", "prod"))
    prod.set(A="1")
    service.user("eve@example.com").get("/whoami")
    monkeypatch.setattr(admission, "_unwritten", LogThrottle())
    with nothing_is_written(service, monkeypatch), caplog.at_level(logging.WARNING, admission.__name__):
        for path in ("/whoami", "/projects", f"{prod.base}/secrets", f"{prod.base}/secrets/A/versions"):
            prod.client.get(path)
        service.user("eve@example.com").get(f"{prod.base}/secrets", 404)
        refused(prod.get("secrets/A", 503))
        refused(prod.get("secrets:export", 503))
        refused(prod.batch(503, set={"A": "2"}))
        refused(service.user("new@example.com").get("/whoami", 503))
    (line,) = [one.getMessage() for one in caplog.records if one.name == admission.__name__]
    assert line.startswith("last_seen_at was not written (")
    assert line.endswith("), 0 times since the last line")
    assert prod.values() == {"A": "1"}
    prod.set(A="2")


@pytest.mark.both_engines
@pytest.mark.parametrize("what", ["project", "batch", "grant"])
def test_a_file_that_another_program_writes_to_for_too_long_is_a_503(make_service, monkeypatch, what):
    pragmas = [one for one in engines.SQLITE_PRAGMAS if "busy" not in one]
    monkeypatch.setattr(engines, "SQLITE_PRAGMAS", [*pragmas, "PRAGMA busy_timeout=100"])
    service = make_service()
    if service.engine.name != "sqlite":
        pytest.skip("PostgreSQL has no file of ours")
    admin = arrange(service, "shop", "prod")
    service.engine.dispose()
    prod = Vault(admin)
    with closing(sqlite3.connect(service.engine.url.database, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        if what == "project":
            answer = admin.post("/projects", {"slug": "other", "name": "Other"}, 503)
        elif what == "batch":
            answer = prod.batch(503, set={"A": "1"})
        else:
            answer = admin.patch("/projects/shop", {"name": "X"}, 503)
        other.execute("ROLLBACK")
    assert answer.json["code"] == "UNAVAILABLE"


def test_a_connection_that_is_lost_before_begin_is_a_503(service, monkeypatch):
    if service.engine.name == "sqlite":
        pytest.skip(POSTGRESQL_ONLY)
    admin = arrange(service, "shop", "prod")
    connect = Session.connection

    def lose(session, mode):
        connection = connect(session, mode)
        if mode is engines.Mode.WRITE and not connection.in_transaction():
            driver = connection.connection.dbapi_connection
            with closing(psycopg.connect(_plain(service), autocommit=True)) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", (driver.info.backend_pid,))
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(Session, "connection", lose)
        answer = admin.request("POST", "/projects", {"slug": "o", "name": "O"})
    assert answer.status_int == 503, answer.json


def test_a_commit_whose_outcome_the_server_does_not_know_is_no_503():
    """SQLSTATE 08007, from a pooler or a cluster whose connection to us lives on."""
    unknown = OperationalError("COMMIT", {}, psycopg.errors.TransactionResolutionUnknown())
    with pytest.raises((Internal, OperationalError)) as caught, committing(writes=True):
        raise unknown
    assert map_error(caught.value) is None


@pytest.mark.parametrize(
    ("cause", "is_away"),
    [
        (psycopg.OperationalError("connection refused"), True),
        (ResponseTimeout("no answer in time"), True),
        (psycopg.errors.AdminShutdown(), True),
        (psycopg.errors.LockNotAvailable(), True),
        (psycopg.errors.TooManyConnections(), True),
        (psycopg.errors.QueryCanceled(), True),
        (psycopg.errors.DiskFull(), True),
        (psycopg.errors.UniqueViolation(), False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_only_a_database_that_cannot_be_had_is_away(cause, is_away):
    assert (map_error(OperationalError("", {}, cause)) is not None) is is_away


def test_of_sqlite_a_file_that_is_busy_is_away_and_a_wrong_statement_is_not(tmp_path):
    holder, other = (sqlite3.connect(tmp_path / "one.db", timeout=0) for _ in range(2))
    holder.execute("BEGIN IMMEDIATE")
    for statement, is_away in (("BEGIN IMMEDIATE", True), ("NONSENSE", False)):
        with pytest.raises(sqlite3.OperationalError) as caught:
            other.execute(statement)
        assert (map_error(OperationalError("", {}, caught.value)) is not None) is is_away
    holder.close()
    other.close()


def _terminate(service, session):
    """Ends the session's connection at the server."""
    driver = session.connection(engines.Mode.WRITE).connection.dbapi_connection
    with closing(psycopg.connect(_plain(service), autocommit=True)) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (driver.info.backend_pid,))


def _plain(service):
    return service.url.replace("postgresql+psycopg://", "postgresql://")
