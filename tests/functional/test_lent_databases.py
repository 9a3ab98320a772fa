"""What the suite lends: databases with the present schema and no rows, applications as after a start."""

from __future__ import annotations

from rotation import NEW_KEY
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


def test_an_application_that_is_lent_again_has_the_settings_of_its_borrower_and_tells_of_them(
    database_url, issuer, caplog
):
    usual = Service(database_url, issuer)
    app, kid = usual.app, usual.app.registry.load_ring().active_kid
    usual.close()
    wrong = "setting SECRET_MAX_BYTES is malformed"
    for times in (1, 2):
        bad = Service(database_url, issuer, SECRET_MAX_BYTES="some", MASTER_KEY=NEW_KEY)
        assert bad.app is app
        assert bad.app.registry.load_ring().active_kid != kid
        bad.close()
        assert caplog.messages.count(wrong) == times
    again = Service(database_url, issuer, ENV_MAX_SECRETS="5")
    assert again.app is app
    found = again.app.registry.service_settings
    assert (found.secret_max_bytes, found.env_max_secrets) == (65_536, 5)
    assert again.app.registry.load_ring().active_kid == kid
    again.close()
    assert caplog.messages.count(wrong) == 2


def test_what_is_settled_at_the_start_has_an_application_of_its_own(database_url, issuer):
    usual = Service(database_url, issuer)
    usual.close()
    other = Service(database_url, issuer, SERVICE_TOKENS="on")
    assert other.app is not usual.app
    other.close()


def test_a_service_that_is_closed_twice_is_lent_to_one(database_url, issuer):
    for service in [Service(database_url, issuer)] * 2:
        service.close()
    two = [Service(database_url, issuer) for _ in range(2)]
    assert two[0].app is not two[1].app
    for service in two:
        service.close()
