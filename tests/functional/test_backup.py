"""`secretsvc-server backup`: one private file, whole or not there. tests/load has the drill."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import stat
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from faults.fault import file_system
from rotation import Operator, fill
from sealing_routes import kid_of

from secretsvc.commands import main
from secretsvc.db.schema import REVISION

LITE = pytest.mark.parametrize("databases", ["sqlite"], indirect=True)


@pytest.fixture
def back_up(tmp_path, database_url, monkeypatch):
    """Runs the command in a folder of its own, under a umask that hides nothing."""
    operator = Operator(tmp_path / "operator", database_url)
    monkeypatch.setenv("DATABASE_URL", database_url)
    before = os.umask(0)
    yield lambda target: CliRunner().invoke(
        main, ["backup", str(operator.directory / "production.ini"), str(target)]
    )
    os.umask(before)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


@LITE
def test_a_backup_is_one_private_file_that_says_which_keys_it_needs(back_up, service, admin, tmp_path):
    fill(admin)
    target = tmp_path / "backup of today.sqlite"
    done = back_up(target)
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        f"Wrote {target}: {target.stat().st_size} bytes, schema {REVISION}.",
        f"It needs master key {kid_of(service)}: 9 envelopes.",
    ]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert names(tmp_path) == [target.name]
    # By the file format of SQLite: no write-ahead log belongs to it.
    assert target.read_bytes()[18:20] == b"\x01\x01"
    with closing(sqlite3.connect(f"{target.as_uri()}?mode=ro", uri=True)) as copy:
        assert copy.execute("SELECT count(*) FROM secret_version WHERE kid IS NOT NULL").fetchone() == (9,)


@LITE
@pytest.mark.usefixtures("service")
def test_the_page_shows_what_the_command_prints(back_up, admin, tmp_path, here):
    fill(admin)
    page = (here / "docs" / "operations" / "backup.md").read_text("utf-8")
    (shown,) = re.findall(r"(?s)```text\n(Wrote .*?)```", page)
    pattern = re.sub(r"/var/backups/[\w.-]+", re.escape(str(tmp_path / "copy")), shown).replace("…", r"\w+")
    assert re.fullmatch(pattern, back_up(tmp_path / "copy").output)


@LITE
def test_a_backup_says_which_key_the_logs_signing_key_is_under(back_up, service, tmp_path):
    service.execute("INSERT INTO audit_signer VALUES (1, x'00', x'00', '0123456789abcdef', 1)")
    done = back_up(tmp_path / "backup")
    told = "It needs master key 0123456789abcdef: the signing key of the audit log."
    assert done.output.splitlines()[1:] == [told]


@LITE
def test_a_database_of_an_older_release_is_backed_up_too(back_up, service, tmp_path):
    service.execute("DROP TABLE audit_signer")
    assert back_up(tmp_path / "backup").exit_code == 0


@pytest.mark.slow
@LITE
def test_a_backup_overwrites_nothing_not_even_a_link_that_leads_nowhere(back_up, service, tmp_path):
    there, link = tmp_path / "there", tmp_path / "link"
    there.write_text("kept")
    link.symlink_to(tmp_path / "nowhere")
    for target in (there, link):
        done = back_up(target)
        assert (done.exit_code, "it is there already, and is left as it is" in done.output) == (1, True)
    assert (there.read_text(), names(tmp_path)) == ("kept", ["there"])


@pytest.mark.slow
@LITE
def test_who_takes_the_name_meanwhile_keeps_it(back_up, service, tmp_path, monkeypatch):
    target = tmp_path / "backup"
    link = os.link

    def late(source, name):
        target.write_text("theirs")
        link(source, name)

    monkeypatch.setattr(os, "link", late)
    done = back_up(target)
    assert (done.exit_code, done.output) == (1, f"Error: {target}: File exists\n")
    assert (target.read_text(), names(tmp_path)) == ("theirs", ["backup"])


@pytest.mark.slow
@LITE
def test_a_backup_that_fails_leaves_no_file(back_up, service, tmp_path, database_url, monkeypatch):
    damaged = tmp_path / "damaged.sqlite"
    # By another process: to close the file here would drop the locks that SQLite has on it here.
    subprocess.run(["cp", database_url.removeprefix("sqlite:///"), damaged], check=True)
    with damaged.open("r+b") as file:
        file.seek(3 * 4096)
        file.write(b"\xff" * 4096)
    empty = tmp_path / "empty.sqlite"
    empty.touch()
    before = names(tmp_path)
    for path, why in (
        (damaged, "the database is damaged, and so would be its backup"),
        (empty, "SQLite: no such table: alembic_version"),
        (tmp_path / "absent.sqlite", "No such file"),
    ):
        monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
        done = back_up(tmp_path / "backup")
        assert done.exit_code == 1
        assert why in done.output
        assert "Traceback" not in done.output
    assert names(tmp_path) == before


@pytest.mark.slow
@LITE
def test_where_the_file_system_has_no_hard_links_that_is_said(back_up, service, tmp_path, monkeypatch):
    def refuse(source, name):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    done = back_up(tmp_path / "backup")
    assert (done.exit_code, "Operation not permitted" in done.output) == (1, True)
    assert names(tmp_path) == []


@pytest.mark.slow
@LITE
@pytest.mark.skipif(os.geteuid() != 0, reason="to mount a small file system takes root")
def test_a_full_disk_is_said_and_nothing_is_left_behind(back_up, service, tmp_path):
    with file_system(tmp_path / "small", 64 * 1024) as small:
        done = back_up(small / "backup")
        assert (done.exit_code, done.output) == (1, "Error: SQLite: database or disk is full\n")
        assert names(small) == []


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_on_postgresql_it_writes_nothing_and_tells_the_command_without_the_password(
    back_up, monkeypatch, tmp_path
):
    hosts = "host=a.internal:5432&host=b.internal:6432&target_session_attrs=read-write&options=-c%20x%3Dy"
    monkeypatch.setenv("DATABASE_URL", f"postgresql://secretsvc:hunter2@/shop?{hosts}")
    done = back_up(tmp_path / "b c")
    assert done.exit_code == 1
    command = done.output.splitlines()[-1].strip()
    assert command == (
        "umask 077; pg_dump --format=custom --username=secretsvc_owner"
        " --dbname='dbname=shop host=a.internal,b.internal port=5432,6432 target_session_attrs=read-write'"
        f" --file='{tmp_path}/b c.partial' && mv -n '{tmp_path}/b c.partial' '{tmp_path}/b c'"
    )
    assert "hunter2" not in done.output
    assert names(tmp_path) == []
