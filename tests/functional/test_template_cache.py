"""Compiled pages that outlive a process (docs/operations/running.md)."""

from __future__ import annotations

import logging

import pytest
from processes import Deployment
from service import Service


def modules(cache):
    """The compiled pages by name; one that is compiled again is another file."""
    return {path.name: path.stat().st_ino for path in cache.glob("*.py")}


def test_what_one_process_compiled_the_next_one_uses(sqlite_databases, issuer, tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    with Deployment(tmp_path, sqlite_databases.create(), issuer, CHAMELEON_CACHE=str(cache)) as deployment:
        compiled = []
        for index in range(2):
            deployment.start(1)
            browser = deployment.client(index)
            browser.prefix = ""
            assert b"<h1" in browser.expect(200, "GET", "/projects").body
            browser.close()
            compiled.append(modules(cache))
            deployment.processes[index].stop()
    assert {name.partition("_")[0] for name in compiled[0]} == {"shell", "parts", "projects"}
    assert compiled[0] == compiled[1]
    assert {path.stat().st_mode & 0o077 for path in cache.glob("*.py")} == {0}


@pytest.mark.parametrize(("mode", "told"), [(0o700, 0), (0o755, 0), (0o770, 1), (0o707, 1)])
def test_a_start_names_a_folder_of_compiled_pages_that_others_may_write_to(
    sqlite_databases, issuer, tmp_path, monkeypatch, caplog, mode, told
):
    tmp_path.chmod(mode)
    monkeypatch.setattr("secretsvc.registry.CACHE_DIRECTORY", str(tmp_path))
    service = Service(sqlite_databases.create(), issuer, lent=False)
    warnings = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert (
        warnings
        == [f"others than its owner may write to {tmp_path} (mode {mode:04o}), from which code is executed"]
        * told
    )
    service.close()


@pytest.mark.parametrize("name", ["secretsvc.service"])
def test_the_unit_that_we_ship_keeps_them_in_a_folder_of_its_own(here, name):
    unit = (here / "deploy" / name).read_text().splitlines()
    assert {
        "CacheDirectory=secretsvc",
        "CacheDirectoryMode=0700",
        "Environment=CHAMELEON_CACHE=%C/secretsvc",
    } <= {*unit}
