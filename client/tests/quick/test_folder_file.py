"""Which `.secretsvc.toml` is trusted, and what stops without that trust (contract 16.7)."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hostile import Hostile, configure, secrets, told

THEIRS = 12345
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away and mounts")
EXPORT = "/api/v1/projects/{}/environments/{}/secrets:export?reason=run&format=json"
RUN = ("run", "--", "true")


@pytest.fixture
def file(home):
    """A trusted file of the folder; the user's configuration names another environment."""
    configure(home, 'project = "user"\nenvironment = "default"\n')
    made = home / "work" / ".secretsvc.toml"
    made.write_text('project = "folder"\nenvironment = "one"\n')
    made.chmod(0o644)
    return made


def give_away(path):
    os.chown(path, THEIRS, THEIRS)


def make_link(path):
    """A link of another user to a file of ours."""
    target = path.parent.parent / "ours.toml"
    path.rename(target)
    path.symlink_to(target)
    os.lchown(path, THEIRS, THEIRS)


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


SPOILT = [
    pytest.param(give_away, "belongs to another user (uid 12345)", marks=ROOT, id="owner"),
    pytest.param(make_link, "belongs to another user (uid 12345)", marks=ROOT, id="link"),
    pytest.param(lambda path: path.chmod(0o664), "can be written by others", id="group"),
    pytest.param(lambda path: path.chmod(0o646), "can be written by others", id="others"),
    pytest.param(make_pipe, "is not a regular file", id="pipe"),
    pytest.param(lambda path: (path.unlink(), path.mkdir()), "cannot be read", id="folder"),
    pytest.param(lambda path: (path.unlink(), path.symlink_to("gone")), "cannot be read", id="dangling"),
]


@pytest.mark.parametrize(("spoil", "why"), SPOILT)
def test_a_file_that_is_not_trusted_stops_and_is_named(ask, file, spoil, why):
    spoil(file)
    with Hostile(secrets({})) as server:
        done = ask(*RUN, SECRETSVC_URL=server.url)
    assert (done.code, done.reason, done.started, server.requests) == (125, 2, None, [])
    assert f"{file} is not trusted: it {why}" in done.err
    assert "SECRETSVC_PROJECT" in done.err


@pytest.mark.parametrize(
    "command",
    [("set", "A"), ("list",), ("audit",), ("access",), ("environments",), ("copy", "dev")],
    ids="-".join,
)
def test_no_command_falls_back_past_a_file_that_is_not_trusted(ask, file, command):
    file.chmod(0o666)
    with Hostile(told(200, {"items": []})) as server:
        done = ask(*command, stdin=b"x", SECRETSVC_URL=server.url, SECRETSVC_PROJECT="shop")
    assert (done.code, server.requests) == (2, [])
    assert "is not trusted" in done.err


def test_flags_and_variables_that_name_both_pass_a_file_that_is_not_trusted(ask, file):
    file.chmod(0o666)
    with Hostile(secrets({})) as server:
        done = ask(
            "run", "--project", "shop", "--", "true", SECRETSVC_URL=server.url, SECRETSVC_ENVIRONMENT="prod"
        )
    assert done.started
    assert server.paths == [EXPORT.format("shop", "prod")]


def test_a_command_without_an_environment_minds_no_file(ask, file):
    file.chmod(0o666)
    with Hostile(told(200, {"items": []})) as server:
        assert ask("projects", SECRETSVC_URL=server.url).code == 0


@ROOT
def test_a_file_of_ours_in_the_folder_of_another_user_counts(ask, file):
    os.chown(file.parent, THEIRS, THEIRS)
    with Hostile(secrets({})) as server:
        ask(*RUN, SECRETSVC_URL=server.url)
    assert server.paths == [EXPORT.format("folder", "one")]


@pytest.mark.parametrize("is_ours", [True, pytest.param(False, marks=ROOT)], ids=["ours", "theirs"])
def test_a_folder_that_everybody_can_write_has_no_file_that_counts(ask, file, is_ours):
    file.parent.chmod(0o1777)
    if not is_ours:
        give_away(file)
    with Hostile(secrets({})) as server:
        done = ask(*RUN, SECRETSVC_URL=server.url)
    assert server.paths == [EXPORT.format("user", "default")]
    assert (f"{file} is not used: everybody can write its folder" in done.err) is is_ours


@pytest.mark.parametrize("depth", ["work", "work/deep"])
@ROOT
def test_the_top_of_a_mount_is_the_last_folder_looked_in(home, file, depth):
    """A bind mount has the device of its source: only the mount's own number tells it."""
    code = (
        "import os; from pathlib import Path; from secretsvc_client.folder_file import find_folder_file;"
        "print(find_folder_file(Path(), None).path)"
    )
    (home / "work" / "deep").mkdir()
    mounted = home / depth
    script = 'mount --bind "$0" "$0" && cd "$0" && exec "$1" -c "$2"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, str(mounted), sys.executable, code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("this machine mounts nothing")
    assert done.stdout.strip() == (str(file) if depth == "work" else "None")


@pytest.mark.parametrize("variables", [{}, {"SECRETSVC_PROJECT": "shop"}], ids=["both", "one"])
def test_run_names_the_environment_of_a_file_unless_quiet(ask, file, variables):
    project = variables.get("SECRETSVC_PROJECT", "folder")
    with Hostile(secrets({})) as server:
        done = ask(*RUN, SECRETSVC_URL=server.url, **variables)
        quiet = ask("run", "--quiet", "--", "true", SECRETSVC_URL=server.url, **variables)
    assert f"{project}/one, named by {file}" in done.err
    assert done.started
    assert quiet.started
    assert quiet.err == ""


def test_run_names_no_environment_that_flags_or_variables_name(ask, file):
    with Hostile(secrets({})) as server:
        done = ask(*RUN, SECRETSVC_URL=server.url, SECRETSVC_PROJECT="shop", SECRETSVC_ENVIRONMENT="prod")
    assert done.started
    assert done.err == ""


@pytest.mark.parametrize(("spoil", "_why"), SPOILT[2:4] + SPOILT[:1])
def test_use_makes_a_file_that_is_trusted(ask, file, spoil, _why):
    spoil(file)
    with Hostile(told(200, {"slug": "prod"})) as server:
        assert ask("use", "shop", "prod", SECRETSVC_URL=server.url).code == 0
    with Hostile(secrets({})) as server:
        assert ask(*RUN, SECRETSVC_URL=server.url).started
    assert server.paths == [EXPORT.format("shop", "prod")]


def test_use_refuses_a_folder_whose_file_would_not_count(ask, file):
    file.parent.chmod(0o777)
    with Hostile(told(200, {"slug": "prod"})) as server:
        done = ask(
            "use", "shop", "prod", SECRETSVC_URL=server.url, SECRETSVC_PROJECT="a", SECRETSVC_ENVIRONMENT="b"
        )
    assert (done.code, server.requests) == (2, [])
    assert f"chmod o-w on {file.parent}" in done.err


@pytest.mark.parametrize(("before", "after"), [(None, 0o644), (0o640, 0o640), (0o664, 0o644), (0o600, 0o600)])
def test_use_lets_colleagues_read_the_file_as_before(ask, file, before, after):
    file.unlink()
    if before is not None:
        file.touch()
        file.chmod(before)
    with Hostile(told(200, {"slug": "prod"})) as server:
        assert ask("use", "shop", "prod", SECRETSVC_URL=server.url).code == 0
    assert file.stat().st_mode & 0o777 == after
