"""Databases of another encoding than UTF-8, and old servers, are refused in one line (contract 17.8)."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql
from rotation import Operator
from service import MASTER_KEY, Service
from sqlalchemy import text

from secretsvc.db.engine import make_engine, read_once
from secretsvc.db.supported import unsupported
from secretsvc.server.server import NotStartedError, make_configured_server

pytestmark = pytest.mark.both_engines

TOLD = "the database has the encoding {}: move it into one with the encoding UTF8"
CREATE = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING {} LC_COLLATE 'C' LC_CTYPE 'C'")


@pytest.fixture
def encoded(postgresql_databases):
    """Makes an empty database of an encoding; its URL."""
    made = []

    def make(encoding):
        made.append(f"{postgresql_databases.create_empty()}")
        name = made[-1].partition("?")[0].rsplit("/", 1)[1]
        postgresql_databases.drop(made[-1])
        with psycopg.connect(postgresql_databases.server, autocommit=True) as connection:
            connection.execute(CREATE.format(sql.Identifier(name), sql.Literal(encoding)))
        return made[-1]

    yield make
    for url in made:
        postgresql_databases.drop(url)


@pytest.mark.slow
@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_another_encoding_is_refused_by_migrate_check_and_the_start(
    databases, encoded, encoding, forks, issuer, tmp_path
):
    url, told = encoded(encoding), TOLD.format(encoding)
    operator = Operator(tmp_path, url)
    done = forks.run(operator, "migrate", "production.ini")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"Error: {told}"
    assert "Traceback" not in done.stderr
    done = forks.run(operator, "check", "production.ini", MASTER_KEY=MASTER_KEY, **issuer.environment())
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, f"fail  database   {told}")
    service = Service(url, issuer, lent=False)
    with pytest.raises(NotStartedError, match=f"^{told}$"):
        make_configured_server(service.app, listen="127.0.0.1:0")
    assert service.user().get("/whoami", status=500).json["code"] == "SERVER_MISCONFIGURED"
    service.close()


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_each_connection_speaks_utf8_whatever_the_url_says(database_url, monkeypatch):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    separator = "&" if "?" in database_url else "?"
    engine = make_engine(f"{database_url}{separator}client_encoding=latin1")
    with read_once(engine) as connection:
        assert connection.execute(text("SHOW client_encoding")).scalar_one() == "UTF8"
    engine.dispose()


@pytest.mark.parametrize(
    ("version", "encoding", "told"),
    [
        (140_000, "UTF8", None),
        (180_001, "UTF8", None),
        (140_000, None, None),
        (130_022, "UTF8", "PostgreSQL 13 is not supported: use PostgreSQL 14 or later"),
        (140_000, "EUC_JP", TOLD.format("EUC_JP")),
    ],
)
def test_what_is_refused_is_named(version, encoding, told):
    assert unsupported(version, encoding) == told
