"""The databases of the suite itself: each test finds one with the present schema and no rows."""

from __future__ import annotations

import pytest
from service import Service
from sqlalchemy import inspect, text

from secretsvc.db.engine import make_engine, write_transaction
from secretsvc.tables.projects import project


def test_a_database_that_is_given_back_is_lent_again_and_is_empty(databases, service, admin):
    url = databases.lend()
    engine = make_engine(url)
    with write_transaction(engine) as connection:
        connection.execute(project.insert(), service.rows(project))
    databases.take_back(url)
    assert databases.lend() == url
    # Whoever had it open may go on.
    with engine.connect() as connection:
        assert connection.execute(project.select()).all() == []
    engine.dispose()
    databases.take_back(url)


def test_nobody_gets_a_schema_that_was_changed(databases):
    url = databases.lend()
    engine = make_engine(url)
    with write_transaction(engine) as connection:
        connection.execute(text("ALTER TABLE project ADD COLUMN stray INTEGER"))
    engine.dispose()
    databases.take_back(url)
    after = databases.lend()
    engine = make_engine(after)
    assert "stray" not in {column["name"] for column in inspect(engine).get_columns("project")}
    engine.dispose()
    databases.take_back(after)


@pytest.mark.engine_neutral
def test_a_service_that_is_closed_twice_is_lent_to_one(database_url, issuer):
    for service in [Service(database_url, issuer)] * 2:
        service.close()
    two = [Service(database_url, issuer) for _ in range(2)]
    assert two[0].app is not two[1].app
    for service in two:
        service.close()
