"""`secretsvc-server migrate`: one at a time, without a file of the source, and back only with its price."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from databases import ROOT
from doc_blocks import blocks
from plugins import SOURCE, alembic_config, install
from rotation import Operator, fill
from service import MASTER_KEY, arrange
from sqlalchemy import inspect, text
from waiting import PATIENCE, eventually

from secretsvc.db.engine import make_engine, read_once
from secretsvc.db.migration_lock import migration_lock
from secretsvc.db.schema import REVISION
from secretsvc.db.sqlite_files import open_to_others
from secretsvc.deployment.migrate import NOT_THE_OWNER

pytestmark = pytest.mark.both_engines

PAGE = (ROOT / "docs" / "operations" / "upgrade.md").read_text("utf-8")
VERSIONS = sorted((ROOT / "alembic" / "versions").glob("*.py"))
UNDER_WAY = "another migration of this database is under way: waiting for its end"
BELOW = f"{int(REVISION) - 2:04}"


@pytest.fixture
def empty_url(databases):
    url = databases.create_empty()
    yield url
    databases.drop(url)


@pytest.fixture
def run(forks, tmp_path):
    """Runs the script over a database, from a folder that holds an ini file and nothing else."""

    def run(url, *arguments):
        operator = Operator(tmp_path / "operator", url)
        assert [path.name for path in operator.directory.glob("*.*")] == ["production.ini"]
        return forks.run(operator, *arguments, MASTER_KEY=MASTER_KEY)

    return run


@pytest.fixture
def engine(empty_url):
    engine = make_engine(empty_url)
    yield engine
    engine.dispose()


def revision(url):
    """Where a schema is."""
    engine = make_engine(url)
    with read_once(engine) as connection:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all()
    engine.dispose()
    return found


@pytest.mark.slow
def test_an_empty_database_is_migrated_from_a_folder_with_an_ini_alone(run, empty_url):
    done = run(empty_url, "migrate", "production.ini")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"The schema is at {REVISION}.\n", "")
    assert revision(empty_url) == [REVISION]
    assert run(empty_url, "migrate", "production.ini").stdout == done.stdout
    assert not [*open_to_others(empty_url)]


def test_the_way_down_says_what_is_lost_and_is_not_gone_without_the_flag(run, service, database_url):
    fill(arrange(service))
    done = run(database_url, "migrate", "production.ini", "--down-to", BELOW)
    assert done.returncode == 1
    told = [re.search(r'^lost = "(.+)"$', path.read_text("utf-8"), re.MULTILINE) for path in VERSIONS[:-3:-1]]
    names = [path.name[:4] for path in VERSIONS[:-3:-1]]
    assert done.stdout.splitlines() == [
        f"Undoing {name} loses {lost[1]}." for name, lost in zip(names, told, strict=True)
    ]
    assert "nothing was changed" in done.stderr
    assert revision(database_url) == [REVISION]


@pytest.mark.slow
def test_the_way_down_is_gone_with_the_flag_and_up_again(run, database_url):
    down = ("migrate", "production.ini", "--down-to", BELOW)
    done = run(database_url, *down, "--lose-data")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "2 migrations were undone.")
    assert revision(database_url) == [BELOW]
    again = run(database_url, *down)
    assert (again.returncode, again.stdout) == (0, "0 migrations were undone.\n")
    assert run(database_url, "migrate", "production.ini").returncode == 0
    assert revision(database_url) == [REVISION]


@pytest.mark.slow
def test_the_commands_of_the_page_of_upgrades_lead_back_and_up_again(run, service, database_url):
    fill(arrange(service))
    told, back = (block.split()[1:] for block in blocks(PAGE, "The way back"))
    done = run(database_url, *told)
    assert (done.returncode, revision(database_url)) == (1, [REVISION])
    assert f"Undoing {REVISION} loses" in done.stdout
    assert run(database_url, *back).returncode == 0
    assert revision(database_url) == [told[-1]]
    migrate, check = (block.split()[1:] for block in blocks(PAGE, "The steps"))
    assert run(database_url, *migrate).stdout == f"The schema is at {REVISION}.\n"
    assert "ok    schema" in run(database_url, *check).stdout


@pytest.mark.slow
@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
@pytest.mark.parametrize("down", [(), ("--down-to", "base", "--lose-data")], ids=["up", "down"])
def test_a_role_that_does_not_own_the_tables_is_told_to_name_the_owner(run, two_roles, down):
    owner, serving = two_roles
    assert run(owner, "migrate", "production.ini", "--down-to", BELOW, "--lose-data").returncode == 0
    done = run(serving, "migrate", "production.ini", *down)
    assert (done.returncode, done.stderr) == (1, f"Error: {NOT_THE_OWNER}\n")
    assert revision(owner) == [BELOW]


@pytest.mark.parametrize("target", ["0099", "nothing"])
def test_a_revision_that_is_not_there_is_said_in_one_line(run, database_url, target):
    done = run(database_url, "migrate", "production.ini", "--down-to", target, "--lose-data")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert target in done.stderr
    assert revision(database_url) == [REVISION]


def test_of_an_empty_database_nothing_is_undone(run, empty_url):
    done = run(empty_url, "migrate", "production.ini", "--down-to", BELOW, "--lose-data")
    assert (done.returncode, done.stdout) == (0, "0 migrations were undone.\n")


def test_a_schema_that_is_newer_than_the_release_is_left_alone(run, service, database_url):
    service.execute("UPDATE alembic_version SET version_num = '0099'")
    done = run(database_url, "migrate", "production.ini")
    assert (done.returncode, done.stderr) == (1, "Error: Can't locate revision identified by '0099'\n")


def test_the_flag_by_itself_is_wrong_use(run, empty_url):
    assert run(empty_url, "migrate", "production.ini", "--lose-data").returncode == 2


def test_a_database_that_is_not_there_is_said_in_one_line_without_its_password(run):
    done = run("postgresql://nobody:sesame@127.0.0.1:1/none", "migrate", "production.ini")
    assert done.returncode == 1
    assert re.fullmatch(r"Error: OperationalError: connection refused, at \S+\n", done.stderr)


def test_a_second_migration_waits_for_the_end_of_the_first(engine, empty_url, caplog):
    other = make_engine(empty_url)
    entered = threading.Event()

    def second():
        with migration_lock(other):
            entered.set()

    with migration_lock(engine):
        waiting = threading.Thread(target=second)
        waiting.start()
        assert eventually(lambda: UNDER_WAY in caplog.text)
        assert not entered.wait(0.2)
    assert entered.wait(PATIENCE)
    waiting.join()
    other.dispose()
    assert caplog.text.count(UNDER_WAY) == 1


@pytest.mark.slow
def test_a_migration_that_was_killed_lets_the_next_one_in(engine, empty_url):
    code = (
        "import sys; from secretsvc.db import engine, migration_lock\n"
        "lock = migration_lock.migration_lock\n"
        "with lock(engine.make_engine(sys.argv[1])):\n print('in', flush=True); input()"
    )
    command = [sys.executable, "-c", code, empty_url]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": ROOT}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout.readline() == b"in\n"
        process.kill()
    with migration_lock(engine):
        pass


@pytest.mark.slow
def test_the_branches_of_plugins_are_migrated_too(engine, empty_url, tmp_path):
    path = str(install(SOURCE, tmp_path / "plugin"))
    operator = Operator(tmp_path, empty_url)
    alembic_config(tmp_path, "acme_notes")
    done = operator.run("migrate", "plugin.ini", PYTHONPATH=os.pathsep.join([str(ROOT), path]))
    assert (done.returncode, done.stdout) == (0, f"The schema is at {REVISION}, a001.\n"), done.stderr
    assert "acme_note" in inspect(engine).get_table_names()


def test_a_migration_that_failed_lets_the_next_one_in(engine):
    with pytest.raises(ZeroDivisionError), migration_lock(engine):
        _ = 1 / 0
    with migration_lock(engine):
        assert "alembic_version" not in inspect(engine).get_table_names()


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: Path(path).stem)
def test_each_migration_says_what_its_downgrade_loses(path):
    assert re.search(r'^lost = "[^"]+[^".]"$', path.read_text("utf-8"), re.MULTILINE)
