"""Fixtures of the unit tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from jwks_server import KeyServer
from key_cache import Clock
from scene import ALGORITHMS, LEEWAY, NOW, Scene
from tokens import TestIssuer

from secretsvc.authentication.assertions import Verifier
from secretsvc.authentication.jwks import KeyCache


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    issuer = TestIssuer(tmp_path_factory.mktemp("issuer"))
    # The one moment at which these tests judge, however long the suite has been running by then.
    issuer.clock = lambda: NOW
    with KeyServer(issuer.jwks()) as server:
        keys = KeyCache(server.url, ALGORITHMS, cooldown=3600)
        verifier = Verifier(keys, issuer.issuer, [issuer.audience], ALGORITHMS, LEEWAY)
        verifier.verify(issuer.sign(), NOW)
        yield Scene(issuer, server, keys, verifier)


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
