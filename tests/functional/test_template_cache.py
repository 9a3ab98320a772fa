"""Where compiled pages are kept that outlive a process (docs/operations/running.md)."""

from __future__ import annotations

import logging

import pytest
from service import Service


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
