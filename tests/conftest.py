"""Fixtures: every test that asks for a service or a database runs on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# A machine that is busy is slow, and that is no finding.
settings.register_profile(
    "busy",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    # The same examples in each run, so that a failure comes from a change; `make test-long` finds new ones.
    derandomize=True,
)
# For `make test`: whoever changed something sees what is wrong at once; `make test-all` looks at the rest.
settings.register_profile("few", settings.get_profile("busy"), max_examples=20)
settings.register_profile("long", settings.get_profile("busy"), max_examples=2_000, derandomize=False)
settings.load_profile("busy")

# Chameleon reads this when it is imported. A page compiled once is there for every application of every run:
# to compile one takes a hundred times as long as to draw it.
TEMPLATES = Path(__file__).parent.parent / ".pytest_cache" / "templates"
TEMPLATES.mkdir(parents=True, exist_ok=True)
os.environ.setdefault("CHAMELEON_CACHE", str(TEMPLATES))

from application_pool import applications
from databases import ENGINES, PostgresqlDatabases, SqliteDatabases, memory_folder, postgresql_server
from extent import take_all
from secrets_client import CANONICAL, Vault
from selection import repeated, turns
from service import Client, Furniture, Maker, Service, arrange
from tokens import TestIssuer


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--brief", action="store_true", help="without what is marked as left to `make test-all`")
    parser.addoption(
        "--long", action="store_true", help="with all cases of what `make test-all` has a sample of"
    )
    parser.addoption("--plain", action="store_true", help="without the fast path of secretsvc/db/fast")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("long"):
        take_all()
        settings.load_profile("long")
    if config.getoption("plain"):
        from secretsvc.db.fast import flags

        flags.ENABLED = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what these options make needless."""
    left_out = set(_fast_alone(items)) if config.getoption("plain") else set()
    if config.getoption("brief"):
        left_out |= set(repeated(items))
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    when = turns(items)
    items.sort(key=lambda item: when[item.path])


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Freeze the objects of the start, as the server does: every full collection would examine them."""
    gc.freeze()


def _fast_alone(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """What holds on the fast path alone."""
    return (item for item in items if item.get_closest_marker("fast_path"))


@pytest.fixture(scope="session", autouse=True)
def _own_settings_only() -> None:
    """The settings of whoever runs the suite must not reach the service under test."""
    from secretsvc.kernel.settings import Setting, Settings

    for setting in vars(Settings).values():
        if isinstance(setting, Setting):
            os.environ.pop(setting.variable, None)


@pytest.fixture(scope="session")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> TestIssuer:
    """An access proxy's signing keys, with a key source on file."""
    return TestIssuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture(scope="session")
def sqlite_databases() -> Iterator[SqliteDatabases]:
    with memory_folder() as folder:
        yield SqliteDatabases(folder)


@pytest.fixture(scope="session")
def postgresql_databases() -> Iterator[PostgresqlDatabases]:
    with postgresql_server() as server:
        databases = PostgresqlDatabases(server)
        yield databases
        databases.close()
        applications.close()


@pytest.fixture(params=ENGINES)
def databases(request: pytest.FixtureRequest) -> Any:
    """The databases of one engine."""
    return request.getfixturevalue(f"{request.param}_databases")


@pytest.fixture
def database_url(databases: Any) -> Iterator[str]:
    """A database with the present schema and no rows."""
    url = databases.lend()
    yield url
    databases.take_back(url)


@pytest.fixture
def make_service(database_url: str, issuer: TestIssuer) -> Iterator[Maker]:
    """Makes applications over the fresh database; settings are given as environment variables' names."""
    made: list[Service] = []

    def make(**settings: str) -> Service:
        made.append(Service(database_url, issuer, **settings))
        return made[-1]

    yield make
    for service in made:
        service.close()


@pytest.fixture
def service(make_service: Maker) -> Service:
    """The application under its usual settings."""
    return make_service()


@pytest.fixture(scope="session")
def furniture(sqlite_databases: SqliteDatabases, issuer: TestIssuer) -> Furniture:
    return Furniture(sqlite_databases, issuer)


@pytest.fixture
def admin(service: Service, furniture: Furniture) -> Client:
    """The administrator of a service that has the project `shop` with `prod` and `dev`."""
    if service.is_usual:
        return furniture.put_into(service)
    return arrange(service, "shop", "prod", "dev")


@pytest.fixture
def spelling() -> str:
    """The path of the environment `prod`; `vault.BOTH_SPELLINGS` runs a test over its alias too."""
    return CANONICAL


@pytest.fixture
def vault(admin: Client, spelling: str) -> Vault:
    """The secrets of `shop/prod` in the administrator's hands."""
    return Vault(admin, spelling)


@pytest.fixture(scope="session")
def here() -> Path:
    """The project's own folder."""
    return Path(__file__).parent.parent
