"""`secretsvc-server init`: a deployment's first files, from which it is migrated and served."""

from __future__ import annotations

import os
import stat

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from click.testing import CliRunner
from pyramid.paster import get_appsettings

import secretsvc
from secretsvc.commands import main
from secretsvc.db.schema import REVISION
from secretsvc.deployment.init import DEPLOY
from secretsvc.kernel.parsers import master_key
from secretsvc.kernel.settings import Settings

FILES = ("master-key", "production.ini")
SAMPLES = "deploy"


def init(directory):
    return CliRunner().invoke(main, ["init", str(directory)], prog_name="secretsvc-server")


@pytest.fixture
def umask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_it_writes_an_ini_and_a_key_for_their_owner_alone_and_tells_what_comes_next(tmp_path):
    folder = tmp_path / "deep" / "my secrets"
    done = init(folder)
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in folder.iterdir()) == [SAMPLES, *FILES]
    assert {stat.S_IMODE((folder / name).stat().st_mode) for name in FILES} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    lines = done.output.splitlines()
    told = f"'{folder}/production.ini'"
    assert lines[-3:] == [
        f"  secretsvc-server migrate {told}",
        f"  secretsvc-server check {told}",
        f"  pserve {told}",
    ]
    assert (folder / "master-key").read_text().strip() not in done.output


def test_two_deployments_have_two_keys_that_the_service_takes(tmp_path):
    keys = set()
    for name in ("one", "two"):
        assert init(tmp_path / name).exit_code == 0
        settings = get_appsettings(str(tmp_path / name / "production.ini"))
        active, old = secretsvc.assemble(settings).registry.key_providers["file"](Settings(settings))
        assert old is None
        assert active == master_key((tmp_path / name / "master-key").read_text())
        keys.add(active)
    assert len(keys) == 2


def test_alembic_by_hand_finds_the_migrations_by_the_ini_that_it_writes(tmp_path):
    init(tmp_path)
    script = ScriptDirectory.from_config(Config(tmp_path / "production.ini"))
    assert script.get_current_head() == REVISION


@pytest.mark.usefixtures("umask")
def test_it_writes_the_files_for_service_managers_and_balancers_as_they_are_shipped(tmp_path, here):
    init(tmp_path)
    found = {path.name: path.read_bytes() for path in (tmp_path / SAMPLES).iterdir()}
    assert found == {name: (here / "deploy" / name).read_bytes() for name in DEPLOY}
    modes = {stat.S_IMODE((tmp_path / SAMPLES / name).stat().st_mode) for name in (".", *found)}
    assert modes == {0o755, 0o644}


@pytest.mark.parametrize("there", [SAMPLES, *FILES])
def test_what_is_there_is_never_overwritten_and_nothing_is_put_beside_it(tmp_path, there):
    (tmp_path / there).write_text("mine")
    done = init(tmp_path)
    assert done.exit_code == 1
    assert done.output == f"Error: {tmp_path / there}: it is there already, and is left as it is\n"
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "master-key").symlink_to(tmp_path / "elsewhere")
    assert init(folder).exit_code == 1
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_cannot_be_made_is_said_in_one_line(tmp_path):
    (tmp_path / "file").touch()
    done = init(tmp_path / "file" / "below")
    assert done.exit_code != 0
    assert "Traceback" not in done.output
