"""A database of either engine for a whole module, whose tests leave nothing behind in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from databases import ENGINES
from sqlalchemy import Engine

from secretsvc.db.engine import make_engine


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    databases = request.getfixturevalue(f"{request.param}_databases")
    url = databases.create()
    made = make_engine(url)
    yield made
    made.dispose()
    databases.drop(url)
