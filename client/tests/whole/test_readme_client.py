"""The README's first session with the client, pasted as a newcomer would."""

from __future__ import annotations

import os
import shutil
import time

import pytest
from built import single_file
from load.test_readme import blocks, development, pasted

__all__ = ["development"]
SESSION = blocks("A first session with the client")
#: Seconds in which a newcomer is there.
PATIENCE = 120.0


@pytest.fixture
def newcomer(development, tmp_path, monkeypatch):
    """A folder with the single file, and a home without anything."""
    folder, address = development
    single_file(folder / "client" / "dist")
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in list(os.environ):
        if name.startswith(("SECRETSVC_", "XDG_")):
            monkeypatch.delenv(name)
    return folder, address


def test_a_newcomer_runs_an_application_and_sees_a_change_picked_up(newcomer):
    assert shutil.which("python3"), "the single file needs python3"
    began = time.monotonic()
    lines = pasted(*newcomer, SESSION)
    assert time.monotonic() - began < PATIENCE
    assert len(SESSION) == 3
    said = [line for line in lines if line.startswith(("Hello", "Good"))]
    assert said == ["Hello, world on 8000", "Hello, world", "Good morning"]
