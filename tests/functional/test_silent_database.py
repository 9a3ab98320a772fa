"""A database that says nothing is given up after a while, and nobody waits for it until it speaks again."""

from __future__ import annotations

import random
import re
import time

import pytest
from metrics_client import watched
from postgresql_proxy import relayed
from secrets_client import Vault
from service import Service, arrange
from waiting import eventually, least_seconds

from secretsvc.db import unresponsive
from secretsvc.db.engine import make_engine, read_once
from secretsvc.db.session import Session
from secretsvc.server import readiness
from secretsvc.server.readiness import DATABASE_LIMIT

#: A second is too short a limit where another process may have the core for half of it.
LONG_LIMIT = 3.0
#: Long enough for whatever a slow machine has to do, short enough to be waited for.
PATIENCE = 4.0


@pytest.fixture
def postgresql_url(postgresql_databases):
    url = postgresql_databases.lend()
    yield url
    postgresql_databases.take_back(url)


@pytest.fixture
def relay(postgresql_url):
    with relayed(postgresql_url) as made:
        yield made


@pytest.fixture
def relayed_service(relay, postgresql_url, issuer, monkeypatch):
    """A service that reaches its database by the relay, and gives it up sooner than others."""
    monkeypatch.setattr("secretsvc.db.session.make_engine", _impatient)
    service = Service(relay.url, issuer, DATABASE_TIMEOUT="2", LAST_SEEN_RESOLUTION="3600000")
    yield service
    service.close()


def _impatient(url, pool_size, timeout, *others):
    return make_engine(url, pool_size, timeout, *(others or [PATIENCE]))


def seconds_of(client, status):
    """How long an answer took."""
    began = time.monotonic()
    answer = client.get("/whoami", status)
    if status == 503:
        assert (answer.json["code"], answer.headers["Retry-After"]) == ("UNAVAILABLE", "1")
    return time.monotonic() - began


def is_refused_at_once(client):
    """Whether one of some requests is refused in much less time than the database is given."""
    return least_seconds(lambda: seconds_of(client, 503), PATIENCE / 2, tries=3) < PATIENCE / 2


def wait_until_served(client):
    assert eventually(lambda: client.request("GET", "/whoami").status_int == 200, pause=0.1)


@pytest.mark.slow
def test_a_request_gives_a_silent_database_up_and_those_after_it_do_not_wait(relayed_service, relay):
    admin = relayed_service.user()
    admin.get("/whoami")
    relay.hush()
    assert PATIENCE <= seconds_of(admin, 503) < 3 * PATIENCE
    assert is_refused_at_once(admin)
    relay.speak()
    wait_until_served(admin)


@pytest.mark.slow
def test_so_does_one_that_gets_no_connection(relayed_service, relay):
    admin = relayed_service.user()
    relay.hush()
    assert seconds_of(admin, 503) < 3 * PATIENCE
    assert is_refused_at_once(admin)
    relay.speak()
    wait_until_served(admin)


@pytest.mark.slow
def test_where_the_answer_to_commit_does_not_come_the_outcome_is_not_known(
    relayed_service, relay, monkeypatch
):
    prod = Vault(arrange(relayed_service, "shop", "prod"))
    commit = Session.commit

    def hush(session):
        relay.hush()
        commit(session)

    with monkeypatch.context() as patch:
        patch.setattr(Session, "commit", hush)
        answer = prod.batch(500, set={"A": "1"})
    assert answer.json["code"] == "INTERNAL"
    assert "not known" in answer.json["hint"]
    relay.speak()
    wait_until_served(prod.client)


@pytest.mark.slow
def test_connections_that_lead_nowhere_cost_one_request_and_no_more(relayed_service, relay):
    admin = relayed_service.user()
    pool = relayed_service.engine.pool
    taken = [pool.connect() for _ in range(pool.size())]
    for one in taken:
        one.close()
    relay.forget()
    admin.get("/whoami", 503)
    wait_until_served(admin)
    for _ in range(2 * pool.size()):
        # One that leads nowhere would be answered with 503.
        admin.get("/whoami", 200)


@pytest.mark.slow
def test_a_refusal_is_an_answer(relayed_service, relay):
    admin = relayed_service.user()
    admin.get("/whoami")
    relay.hush()
    admin.get("/whoami", 503)
    relay.refuse()
    relay.speak()
    relay.listen()
    wait_until_served(admin)


@pytest.mark.slow
def test_it_is_told_once_when_it_begins_and_once_when_it_ends(relayed_service, relay, caplog):
    admin = relayed_service.user()
    admin.get("/whoami")
    with caplog.at_level("WARNING", unresponsive.__name__):
        relay.hush()
        for _ in range(3):
            admin.get("/whoami", 503)
        relay.speak()
        wait_until_served(admin)
        assert eventually(lambda: len(caplog.records) >= 2)
    told = [one.getMessage() for one in caplog.records if one.name == unresponsive.__name__]
    assert told == [
        "the database does not answer: requests that need it are refused meanwhile",
        "the database answers again",
    ]


@pytest.mark.slow
def test_whoever_asks_whether_it_is_ready_learns_of_it_from_the_first_question_on(relay, issuer):
    service = Service(relay.url, issuer, OPERATIONS_LISTEN="127.0.0.1:0")
    told = []
    with watched(service) as operator:
        operator.until(200)
        relay.hush()
        began = time.monotonic()
        # Until looks have hung, were given up and failed at once.
        while len(told) < 2 or time.monotonic() - began < 3 * DATABASE_LIMIT:
            told.append(operator.ask("/ready"))
            time.sleep(0.05)
        relay.speak()
        operator.until(200)
    service.close()
    assert {(one.status, *one.json["reasons"]) for one in told} == {(503, "database_unavailable")}
    hints = [re.fullmatch(r"The database has not answered for (\S+) s\.", one.json["hint"]) for one in told]
    seconds = [float(hint[1]) for hint in hints]
    assert seconds == sorted(seconds)
    assert DATABASE_LIMIT <= seconds[0] < seconds[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "status"), [(0.5, 200), (4.5, 503)])
def test_one_that_is_slow_is_there_if_it_answers_within_the_limit_and_nobody_is_told_late(
    relay, issuer, seconds, status, monkeypatch
):
    assert readiness.DATABASE_LIMIT == 1.0
    monkeypatch.setattr(readiness, "DATABASE_LIMIT", LONG_LIMIT)
    service = Service(relay.url, issuer, OPERATIONS_LISTEN="127.0.0.1:0")
    told, took = [], []
    with watched(service) as operator:
        operator.until(200)
        relay.delay = seconds
        generator = random.Random(1)  # noqa: S311 - moments, not secrets
        until = time.monotonic() + 3 * LONG_LIMIT
        while (began := time.monotonic()) < until:
            told.append(operator.ask("/ready").status)
            took.append(time.monotonic() - began)
            # Looks are met at each of their moments.
            time.sleep(generator.random() / 2)
        relay.delay = 0.0
        operator.until(200)
    service.close()
    assert set(told) == {status}
    # A look that began before the question, one that answers it, and what a busy machine takes.
    assert max(took) < 3 * LONG_LIMIT


def test_whoever_has_all_time_of_the_world_waits(relay):
    engine = make_engine(relay.url, answer_seconds=None)
    with read_once(engine) as connection:
        assert connection.connection.dbapi_connection.answer_seconds is None
    engine.dispose()


def test_statements_are_prepared_where_no_pooler_stands_in_between(relay):
    engine = make_engine(relay.url)
    with read_once(engine) as connection:
        assert connection.connection.dbapi_connection.prepare_threshold is not None
    engine.dispose()


def test_whoever_looks_whether_it_is_there_prepares_nothing_because_that_takes_a_second_answer(
    postgresql_url, issuer
):
    service = Service(postgresql_url, issuer)
    engine = service.app.registry.database.engine_to_watch_by(DATABASE_LIMIT)
    with read_once(engine) as connection:
        assert connection.connection.dbapi_connection.prepare_threshold is None
    engine.dispose()
    service.close()
