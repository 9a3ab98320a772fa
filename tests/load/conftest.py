"""Fixtures of the load tests: real processes over a fresh database, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from processes import Deployment
from tokens import TestIssuer


@pytest.fixture
def deployment(database_url: str, issuer: TestIssuer, tmp_path: Path) -> Iterator[Deployment]:
    """Two processes over one database."""
    with Deployment(tmp_path, database_url, issuer) as made:
        yield made.start(2)
