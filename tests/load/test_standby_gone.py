"""What an operator sees while a primary waits for a synchronous standby that is gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from load.test_failover import execute
from metrics_client import watched
from postgresql_server import own_server
from service import Service
from waiting import eventually

from secretsvc.db.engine import make_engine

#: Instead of 18 s, which a process waits for an answer.
PATIENCE = 4.0
ROUTE = ("secretsvc_requests_total", "POST", "/projects")


@pytest.fixture
def service(issuer, monkeypatch) -> Iterator[Service]:
    monkeypatch.setattr("secretsvc.db.session.make_engine", impatient)
    with own_server() as primary:
        made = Service(primary.create_database(), issuer, lent=False, OPERATIONS_LISTEN="127.0.0.1:0")
        made.primary = primary
        yield made
        made.close()


def impatient(url, pool_size, timeout, *others):
    return make_engine(url, pool_size, timeout, *(others or [PATIENCE]))


def test_without_its_standby_a_primary_acknowledges_nothing_and_reads_wait_too(service, caplog):
    admin, primary = service.user(), service.primary
    with watched(service) as operator:
        admin.post("/projects", {"slug": "shop", "name": "Shop"}, 201)
        # The page's statements; nobody of that name is there.
        execute(primary, "A synchronous standby")
        assert eventually(lambda: primary.execute("SHOW synchronous_standby_names") == [("standby",)])
        assert "not known" in admin.post("/projects", {"slug": "blog", "name": "Blog"}, 500).json["hint"]
        # The time of a visit is written on the way in, and is waited for as well.
        assert eventually(lambda: admin.request("GET", "/projects").status_int == 503, pause=0.1)
        assert operator.figures()[*ROUTE, "500"] == 1
        assert operator.figures()["secretsvc_requests_total", "GET", "other", "503"] == 1
        # It does answer, if it is asked nothing that must be kept.
        operator.until(200, degraded=[])
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        primary.execute("SELECT pg_reload_conf()")
        assert eventually(lambda: admin.request("GET", "/projects").status_int == 200, pause=0.1)
        admin.post("/projects", {"slug": "news", "name": "News"}, 201)
    assert "the database does not answer: requests that need it are refused meanwhile" in caplog.text
    assert "the database answers again" in caplog.text
