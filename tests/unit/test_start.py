"""What a start leaves out: looking for garbage, of which it makes next to none, and imports without need."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

import secretsvc
import secretsvc.tables.grants
import secretsvc.tables.identities
from secretsvc.db.base import described


def test_the_collector_is_paused_while_the_application_is_made(monkeypatch):
    seen = []
    monkeypatch.setattr(secretsvc, "configure", lambda settings: seen.append(gc.isenabled()))
    with pytest.raises(AttributeError, match="make_wsgi_app"):
        secretsvc.main({})
    assert seen == [False]
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with secretsvc.collector_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_was_made_meanwhile_is_not_looked_through_by_the_next_short_collection():
    with secretsvc.collector_paused():
        made = [[] for _ in range(10_000)]
    assert len(gc.get_objects(generation=0)) + len(gc.get_objects(generation=1)) < len(made)
    assert gc.get_freeze_count() < len(made)


@pytest.mark.parametrize("module", ["secretsvc", "secretsvc.server.factory"])
def test_what_is_needed_to_make_the_application_is_imported_while_the_collector_is_paused(module):
    late = {"pyramid", "sqlalchemy", "waitress", "secretsvc.registry"}
    told = f"import sys, {module}; print(*{late} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_of_the_dialects_a_start_imports_that_of_the_database_alone():
    told = (
        "import sys, secretsvc; secretsvc.main({}, **{'sqlalchemy.url': 'sqlite:///x'}); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    found = {name.split(".")[2] for name in done.stdout.split() if name.startswith("sqlalchemy.dialects.")}
    assert "sqlite" in found
    assert "postgresql" not in found


def test_alembic_is_told_the_arguments_of_both_dialects_all_the_same():
    tables = described().tables
    (held,) = (one for one in tables["grant"].indexes if one.name == "uq_grant_group_id_global")
    for dialect in ("sqlite", "postgresql"):
        assert str(held.dialect_options[dialect]["where"]).startswith("group_id IS NOT NULL")
    assert tables["identity"].dialect_options["postgresql"]["with"] == {"fillfactor": 70}
