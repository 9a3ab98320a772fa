"""Fixtures of the unit tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jwks_server import KeyServer
from key_cache import Clock
from token_fixtures import Scene, lone_scene
from tokens import TestIssuer


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with lone_scene(tmp_path_factory.mktemp("issuer")) as made:
        yield made


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def issuer(tmp_path: Path) -> TestIssuer:
    return TestIssuer(tmp_path)


@pytest.fixture
def server(issuer: TestIssuer) -> Iterator[KeyServer]:
    with KeyServer(issuer.jwks("rsa-1")) as server:
        yield server
