"""Five replicas that start at once each migrate first (an init container does), over an empty database."""

from __future__ import annotations

import pytest
from rotation import Operator
from service import MASTER_KEY

from secretsvc.db.schema import REVISION


@pytest.fixture
def empty_url(databases):
    url = databases.create_empty()
    yield url
    databases.drop(url)


@pytest.mark.parametrize("command", ["migrate", "alembic"])
def test_five_migrations_at_once_of_an_empty_database_are_five_successes(empty_url, tmp_path, command):
    operator = Operator(tmp_path, empty_url)
    started = [start(operator, command) for _ in range(5)]
    outputs = [process.communicate(timeout=600) for process in started]
    assert [process.returncode for process in started] == [0] * 5, outputs
    if command == "migrate":
        assert {out for out, _ in outputs} == {f"The schema is at {REVISION}.\n"}
    assert [err for _, err in outputs if "Traceback" in err] == []


def start(operator, command):
    """One of them, by either command."""
    if command == "migrate":
        return operator.start("migrate", "production.ini", MASTER_KEY=MASTER_KEY)
    return operator.start_alembic("upgrade", "heads")
