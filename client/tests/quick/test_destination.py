"""Files, links, pipes and devices that a user names for output."""

from __future__ import annotations

import os
import pty
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hostile import Hostile, secrets

CLIENT = Path(__file__).parents[2]
WRITERS = {
    "output": ("export", "--format", "json", "--output"),
    "format": ("run", "--format"),
}
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a file away")


@pytest.fixture(params=list(WRITERS))
def write(request, ask, at):
    """Writes `{"A": VALUE}` into a path by `export --output` or `run --format`; the exit code and stderr."""

    def run(path, value="new", *more):
        command = ["--", "true"] if request.param == "format" else []
        with Hostile(secrets({"A": value})) as server:
            done = ask(*WRITERS[request.param], str(path), *more, *command, **at(server))
        return done.code, done.err

    return run


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private(write, home):
    path = home / "new.json"
    assert write(path)[0] == 0
    assert mode_of(path) == 0o600


def test_a_file_keeps_its_mode_and_takes_a_named_one(write, home):
    path = home / "old.json"
    path.write_text("old")
    path.chmod(0o640)
    code, err = write(path)
    assert (code, mode_of(path)) == (0, 0o640)
    assert "new" in path.read_text()
    assert "only you" not in err
    assert write(path, "new", "--mode", "0604")[0] == 0
    assert mode_of(path) == 0o604


@pytest.mark.parametrize("mode", ["", "8", "1777", "rw", "-1", "00600", "٠"])
def test_a_mode_that_is_not_octal_is_wrong_use(write, home, mode):
    path = home / "new.json"
    assert write(path, "new", f"--mode={mode}")[0] in (2, 125)
    assert not path.exists()


@AS_ROOT
def test_a_file_keeps_its_owner(write, home):
    path = home / "old.json"
    path.write_text("old")
    os.chown(path, 12345, 54321)
    code, err = write(path)
    assert code == 0
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)
    assert "only you" not in err


@pytest.mark.parametrize("is_there", [True, False], ids=["there", "dangling"])
def test_a_link_is_followed(write, home, is_there):
    path, link = home / "behind.json", home / "link.json"
    if is_there:
        path.write_text("old")
    link.symlink_to("behind.json")
    assert write(link)[0] == 0
    assert link.is_symlink()
    assert "new" in path.read_text()


def test_a_pipe_is_written_into(write, home):
    path, read = home / "pipe.json", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    code, err = write(path)
    reader.join()
    assert (code, err) == (0, "")
    assert "new" in read[0]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_device_is_written_into_and_its_mode_stays(write, home):
    ours, theirs = pty.openpty()
    (home / "terminal.json").symlink_to(os.ttyname(theirs))
    before = os.fstat(theirs).st_mode
    assert write(home / "terminal.json") == (0, "")
    assert b"new" in os.read(ours, 1000)
    assert write(home / "terminal.json", "new", "--mode", "600")[0] in (2, 125)
    assert os.fstat(theirs).st_mode == before
    os.close(ours)
    os.close(theirs)


def test_a_folder_is_refused(write, home):
    (home / "folder.json").mkdir()
    code, err = write(home / "folder.json")
    assert code != 0
    assert "Is a directory" in err


def test_stdout_is_written_into(ask, at):
    with Hostile(secrets({"A": "new"})) as server:
        done = subprocess.run(
            [sys.executable, "-m", "secretsvc_client", "export", "--output", "/dev/stdout"],
            env={**os.environ, **at(server), "PYTHONPATH": str(CLIENT)},
            capture_output=True,
            check=True,
        )
    assert b"new" in done.stdout


SCRIPT = """
set -e
mkdir full mounted && mount -t tmpfs -o size=64k none full
printf old > full/file.json
head -c 50000 /dev/zero > full/filler
touch mounted/file.json && mount --bind full/file.json mounted/file.json
cd full
for path in file.json ../mounted/file.json; do
    if python3 -c "$CODE" $path 30000; then exit 3; fi
    test "$(cat $path)" = old
done
rm filler
python3 -c "$CODE" ../mounted/file.json 30000
test $(wc -c < file.json) = 30000
python3 -c "$CODE" ../mounted/file.json 5
test "$(cat file.json)" = xxxxx
test "$(ls -A)" = file.json
"""
CODE = """
import sys, pathlib
from secretsvc_client.destination import write_to
from secretsvc_client.errors import Failure
try:
    write_to(pathlib.Path(sys.argv[1]), b"x" * int(sys.argv[2]))
except Failure as failure:
    assert "No space left" in failure.message, failure.message
    sys.exit(1)
"""


def test_a_full_disk_leaves_the_old_file_and_a_mounted_file_is_written(tmp_path):
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], check=False).returncode:
        pytest.skip("the system gives no namespace of mounts")
    subprocess.run(
        [unshare, "-rm", "sh", "-c", SCRIPT.replace("python3", sys.executable)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(CLIENT), "CODE": CODE},
        check=True,
    )


@AS_ROOT
@pytest.mark.parametrize("kind", ["file", "link", "pipe", "link to a file"])
def test_nothing_is_written_into_what_another_user_put_into_a_folder_of_everybody(write, tmp_path, kind):
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    shared.chmod(0o1777)
    own.write_text("kept")
    planted = path = shared / "planted.json"
    if kind == "pipe":
        os.mkfifo(planted)
    elif kind == "link":
        planted.symlink_to(own)
    else:
        planted.write_text("kept")
    if kind == "link to a file":
        path = tmp_path / "link.json"
        path.symlink_to(planted)
    os.chown(planted, 1000, 1000, follow_symlinks=False)
    code, err = write(path)
    assert code in (2, 125)
    assert "belongs to another user" in err
    assert own.read_text() == "kept"
    assert kind == "pipe" or planted.read_text() == "kept"


@AS_ROOT
def test_a_file_of_the_owner_of_a_shared_folder_is_written(write, tmp_path):
    tmp_path.chmod(0o1777)
    (tmp_path / "file.json").touch()
    assert write(tmp_path / "file.json")[0] == 0
