"""Fixtures of the load tests: real processes over a fresh database, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import Deployment
from tokens import TestIssuer


@pytest.fixture
def database_url(databases: Any) -> Iterator[str]:
    """A database of a test's own: processes that end in the middle of their work leave traces beside it."""
    url = databases.create()
    yield url
    databases.drop(url)


@pytest.fixture
def deployment(database_url: str, issuer: TestIssuer, tmp_path: Path) -> Iterator[Deployment]:
    """Two processes over one database."""
    with Deployment(tmp_path, database_url, issuer) as made:
        yield made.start(2)
