"""`secretsvc-server check` looks and leaves everything as it is."""

from __future__ import annotations

import pytest
from rotation import NEXT_KEY, Operator, fill
from service import MASTER_KEY, arrange
from sqlalchemy import MetaData


def everything(service):
    """Each row of each table that there is."""
    found = MetaData()
    found.reflect(service.engine)
    return {name: service.rows(table) for name, table in found.tables.items()}


@pytest.mark.slow
@pytest.mark.parametrize("key", [MASTER_KEY, NEXT_KEY], ids=["its key", "a wrong key"])
def test_a_check_changes_no_row_of_any_table(service, forks, issuer, database_url, tmp_path, key):
    fill(arrange(service))
    operator = Operator(tmp_path / "operator", database_url)
    before = everything(service)
    done = forks.run(operator, "check", "production.ini", MASTER_KEY=key, **issuer.environment())
    assert "adoption" in done.stdout
    assert len(before) > 10
    assert everything(service) == before
