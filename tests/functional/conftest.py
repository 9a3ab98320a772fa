"""Fixtures of the tests over HTTP."""

from __future__ import annotations

import pytest
from pages import Browser
from rotation import Forks, Operator
from service import MASTER_KEY, Client, Service

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
