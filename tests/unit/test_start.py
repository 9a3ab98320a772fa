"""The garbage collector does not run while the application is made, which imports nearly all there is."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

import secretsvc


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
