"""Fixtures of the tests over HTTP."""

from __future__ import annotations

import secrets

import psycopg
import pytest
from databases import migrate
from pages import Browser
from psycopg import sql
from rotation import Forks, Operator
from service import MASTER_KEY, Client, Service
from sqlalchemy.engine import make_url

CANONICAL = "/projects/{p}/environments/{e}"
ALIAS = "/p/{p}/e/{e}"


@pytest.fixture(params=[CANONICAL, ALIAS], ids=["canonical", "alias"])
def env_path(request: pytest.FixtureRequest) -> str:
    """The path of any environment, in both spellings: fill in `p` and `e`."""
    return request.param


@pytest.fixture
def base(env_path: str) -> str:
    """The path of `shop`'s `prod`, in both spellings."""
    return env_path.format(p="shop", e="prod")


@pytest.fixture
def browser(admin: Client, service: Service) -> Browser:
    """The administrator's, whom `admin` has made known."""
    return Browser(service)


@pytest.fixture(scope="session")
def forks():
    with Forks() as forks:
        yield forks


@pytest.fixture
def operator(tmp_path, database_url):
    return Operator(tmp_path, database_url)


@pytest.fixture
def secretsvc(forks, operator):
    """Runs the script with settings as an operator would export them."""
    return lambda *arguments, **settings: forks.run(
        operator, *arguments, **{"MASTER_KEY": MASTER_KEY} | settings
    )


@pytest.fixture(scope="session")
def of_two_roles(postgresql_databases):
    """A database that one role has migrated and another may serve, for copies of it; both roles' names."""
    url = postgresql_databases.create_empty()
    names = [f"{kind}_{secrets.token_hex(4)}" for kind in ("owner", "service")]
    database, owner, serving = (sql.Identifier(str(one)) for one in (make_url(url).database, *names))
    as_owner = _as_role(url, names[0])
    with psycopg.connect(postgresql_databases.server, autocommit=True) as server:
        for role in (owner, serving):
            server.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'sesame'").format(role))
        server.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(database, owner))
    with psycopg.connect(as_owner.replace("+psycopg", ""), autocommit=True) as connection:
        for rights in ("SELECT, INSERT, UPDATE, DELETE ON TABLES", "USAGE ON SEQUENCES"):
            given = sql.SQL("ALTER DEFAULT PRIVILEGES GRANT {} TO {}").format(sql.SQL(rights), serving)
            connection.execute(given)
    migrate(as_owner)
    yield str(make_url(url).database), names
    postgresql_databases.drop(url)


@pytest.fixture
def two_roles(databases, of_two_roles):
    """The URLs of a database as the role that migrated it, and as the one that serves (installing.md)."""
    template, names = of_two_roles
    url = databases.create(template, owner=names[0])
    yield [_as_role(url, name) for name in names]
    databases.drop(url)


def _as_role(url, name):
    return make_url(url).set(username=name, password="sesame").render_as_string(hide_password=False)
