"""Blocks of pages at a terminal, where a shell goes on after a failure: nothing is lost by that."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from doc_blocks import blocks
from processes import ROOT

PAGE = (ROOT / "docs" / "operations" / "backup.md").read_text("utf-8")
AUDIT = (ROOT / "docs" / "audit.md").read_text("utf-8")
#: A program that meets a full disk, and one that finds a log that is not as it was sealed.
FULL = '#!/bin/sh\nfor one; do case "$one" in --file=*) echo half > "${one#--file=}";; esac; done\nexit 1\n'
FORGED = '#!/bin/sh\necho forged > export/checkpoint\n[ "$2" != verify ]\n'


def typed(script: str, folder: Path) -> int:
    """How a shell ends that is given a block line by line, with the page's paths in a folder."""
    for path in ("/var/lib/secretsvc", "/var/lib/postgresql", "/var/backups"):
        script = script.replace(path, str(folder))
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, check=False
    )
    return done.returncode


def program(path: Path, script: str) -> None:
    path.write_text(script)
    path.chmod(0o755)


def test_a_dump_that_fails_does_not_get_the_name_of_a_whole_one(tmp_path: Path) -> None:
    program(tmp_path / "pg_dump", FULL)
    assert typed(blocks(PAGE, "PostgreSQL")[0], tmp_path) != 0
    assert sorted(os.listdir(tmp_path)) == ["pg_dump", "secretsvc.dump.partial"]


def test_a_second_restore_leaves_what_the_first_put_aside(tmp_path: Path) -> None:
    for name in ("secretsvc.sqlite", "secretsvc-2026-11-22.sqlite"):
        (tmp_path / name).write_text(name)
    assert typed(blocks(PAGE, "SQLite")[1], tmp_path) == 0
    assert typed(blocks(PAGE, "SQLite")[1], tmp_path) != 0
    assert (tmp_path / "before-restore" / "secretsvc.sqlite").read_text() == "secretsvc.sqlite"
    assert (tmp_path / "secretsvc.sqlite").read_text() == "secretsvc-2026-11-22.sqlite"


def test_a_point_in_time_is_made_of_a_whole_base_in_a_folder_of_its_own(tmp_path: Path) -> None:
    back = blocks(PAGE, "A point in time")[1]
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "PG_VERSION").write_text("17")
    assert typed(back, tmp_path) == 0
    files = ["PG_VERSION", "postgresql.auto.conf", "recovery.signal"]
    before = (tmp_path / "restored" / "postgresql.auto.conf").read_text()
    assert typed(back, tmp_path) != 0
    assert sorted(os.listdir(tmp_path / "restored")) == files
    assert (tmp_path / "restored" / "postgresql.auto.conf").read_text() == before


def test_a_checkpoint_that_does_not_follow_takes_no_place(tmp_path: Path) -> None:
    program(tmp_path / "secretsvc-server", FORGED)
    (tmp_path / "export").mkdir()
    for name in ("key", "checkpoint"):
        (tmp_path / name).write_text("kept")
    assert typed(blocks(AUDIT, "For an auditor")[1], tmp_path) != 0
    assert (tmp_path / "checkpoint").read_text() == "kept"
