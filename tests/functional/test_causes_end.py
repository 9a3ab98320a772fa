"""Each cause that `/ready` names goes when its end has come, without a restart (contract 17.7)."""

from __future__ import annotations

import json
import time

import pytest
from distant import Distant
from jwks_server import KeyServer, answer
from metrics_client import watched
from postgresql_proxy import relayed
from service import MASTER_KEY
from sqlalchemy import text
from sqlalchemy.engine import make_url

from secretsvc.db.schema import REVISION

LISTENING = {"OPERATIONS_LISTEN": "127.0.0.1:0"}
POSTGRESQL_ONLY = "SQLite has no server"


def test_a_database_that_only_reads_is_ready_again_once_it_writes(make_service):
    service = make_service()
    if service.engine.name == "sqlite":
        pytest.skip(POSTGRESQL_ONLY)
    alter = f'ALTER DATABASE "{make_url(service.url).database}"'
    service.execute(f"{alter} SET default_transaction_read_only = on")
    try:
        with watched(service.restarted(**LISTENING)) as operator:
            operator.until(200, degraded=["database_read_only"])
            service.execute(f"{alter} RESET default_transaction_read_only")
            operator.until(200, degraded=[])
    finally:
        service.execute(f"{alter} RESET default_transaction_read_only")


def test_a_database_that_is_back_is_seen(make_service):
    service = make_service()
    if service.engine.name == "sqlite":
        pytest.skip(POSTGRESQL_ONLY)
    with (
        relayed(service.url) as relay,
        watched(service.restarted(**{"SQLALCHEMY.URL": relay.url, **LISTENING})) as operator,
    ):
        relay.refuse()
        operator.until(503, reasons=["database_unavailable"])
        relay.listen()
        operator.until(200)


@pytest.mark.slow
@pytest.mark.both_engines
def test_a_schema_that_was_migrated_is_served(make_service):
    service = make_service()
    service.execute("UPDATE alembic_version SET version_num = '0000'")
    with watched(service.restarted(**LISTENING)) as operator:
        operator.until(503, reasons=["schema_not_served"])
        service.execute(text("UPDATE alembic_version SET version_num = :found"), {"found": REVISION})
        operator.until(200)


@pytest.mark.slow
def test_a_key_that_comes_later_makes_it_ready(make_service, tmp_path):
    path = tmp_path / "key"
    settings = {"KEY_PROVIDER": "file", "MASTER_KEY": None, "MASTER_KEY_FILE": str(path)}
    with watched(make_service().restarted(**LISTENING, **settings)) as operator:
        operator.until(503, reasons=["key_not_adopted"])
        path.write_text(MASTER_KEY)
        operator.until(200)


@pytest.mark.slow
@pytest.mark.both_engines
def test_without_an_administrator_it_is_not_ready_until_there_is_one(make_service):
    service = make_service()
    service.user().get("/whoami")
    service.execute("UPDATE identity SET disabled = true")
    with watched(service.restarted(BOOTSTRAP_ADMINS="", **LISTENING)) as operator:
        operator.until(503, reasons=["no_admins"])
        service.execute("UPDATE identity SET disabled = false")
        operator.until(200)


@pytest.mark.slow
@pytest.mark.both_engines
def test_an_empty_database_with_a_bootstrap_admin_is_ready(make_service):
    with watched(make_service(**LISTENING)) as operator:
        operator.until(200, reasons=[])
    with watched(make_service(BOOTSTRAP_ADMINS="", **LISTENING)) as operator:
        operator.until(503, reasons=["no_admins"])


@pytest.mark.slow
def test_a_rate_limit_that_is_counted_again_is_no_longer_told(make_service, monkeypatch):
    monkeypatch.setattr(Distant, "is_away", True)
    storage = {"RATE_LIMIT": "9/day", "RATE_LIMIT_STORAGE": "distant://"}
    with watched(make_service(**LISTENING, **storage)) as operator:
        operator.until(200, degraded=["rate_limit_storage_unavailable"])
        Distant.is_away = False
        operator.until(200, degraded=[])


@pytest.mark.slow
def test_keys_that_are_fetched_again_are_no_longer_stale(make_service, issuer, tmp_path):
    kept = tmp_path / "keys.json"
    with KeyServer(answer(b"", 500)) as source:
        held = {"url": source.url, "seen_at": time.time() - 3_600, "jwks": json.loads(issuer.jwks())}
        kept.write_text(json.dumps(held))
        kept.chmod(0o600)
        settings = {"ACCESS_JWKS_URL": source.url, "ACCESS_JWKS_CACHE": str(kept)}
        with watched(make_service(**LISTENING, ACCESS_JWKS_COOLDOWN="0", **settings)) as operator:
            operator.until(200, degraded=["access_keys_stale"])
            source.serve(issuer.jwks())
            operator.until(200, degraded=[])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "cause"),
    [("AUDIT_ORIGIN", "audit_settings_malformed"), ("PUBLIC_ORIGIN", "settings_malformed")],
)
def test_a_setting_that_was_mended_no_longer_degrades(make_service, monkeypatch, variable, cause):
    monkeypatch.setenv(variable, '"in quotes"')
    with watched(make_service().restarted(**LISTENING)) as operator:
        operator.until(200, degraded=[cause])
        monkeypatch.delenv(variable)
        operator.until(200, degraded=[])
