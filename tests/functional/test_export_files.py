"""The files of an export: what is in them and was never sealed, what is missing, how they are written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from resource_fields import log

from secretsvc.db.engine import snapshot
from secretsvc.deployment import audit, audit_prune
from secretsvc.kernel.ids import earliest_id
from secretsvc.sealedlog.retention.files import Files
from secretsvc.sealedlog.retention.pruned_state import led_to
from secretsvc.sealedlog.verification.verify import verify_files

INI = "production.ini"
OLD = 300


@pytest.fixture
def files(service, request, tmp_path):
    """An export of 300 old records, and of what a vault leaves behind them."""
    log(service, OLD, ids=[earliest_id(1000 * number) for number in range(OLD)])
    request.getfixturevalue("vault").set(A="x")
    found = Files(Path(tmp_path / "export"))
    audit.export_to(service.app.registry, found)
    return found


def signers(service):
    with snapshot(service.engine) as connection:
        return audit.own_key(connection, service.app.registry)


def problems(service, files):
    return [*verify_files(files, signers(service), [])]


def size_of(files):
    """How many entries the checkpoint speaks of."""
    return int(files.text("checkpoint").split()[1])


SURPLUS = {"entries/000": (b"\0\2{}", 256), "entries/000 ": (b"\0", 256), "0/000": (bytes(32), 256)}


@pytest.mark.slow
def test_what_was_never_sealed_is_named_in_whichever_file_it_is(files, service):
    size = size_of(files)
    partial = f".p/{size - 256}"
    more = {f"entries/001{partial}": (b"\0\2{}", size), f"0/001{partial}": (bytes(32), size)}
    for name, (surplus, index) in {**SURPLUS, **more, "1/000.p/1": (bytes(32), 256)}.items():
        path = f"tile/{name.strip()}"
        whole = files.read(path)
        files.write(path, whole + surplus)
        assert problems(service, files) == [f"index {index}: {path} holds more than was sealed"]
        files.write(path, whole)
    assert problems(service, files) == []


def test_a_wider_tile_stands_in_for_a_partial_one_also_with_what_is_not_signed_yet(files, service):
    [partial] = (files.folder / "tile" / "0" / "001.p").iterdir()
    files.write("tile/0/001", partial.read_bytes() + bytes(32))
    partial.unlink()
    assert problems(service, files) == []


def test_a_state_that_is_not_as_it_was_signed_is_named_with_nothing_else_at_hand(files, service):
    audit_prune._record(service.app.registry, files, 1_000_000, size_of(files))
    [state] = (files.folder / "state").glob("*.json")
    assert problems(service, files) == []
    note = state.with_suffix(".note")
    whole = state.read_bytes()
    state.write_bytes(whole + b" ")
    told = "the state that a replay begins with is not signed by this key"
    assert problems(service, files) == [f"state/{note.name}: {told}"]
    state.write_bytes(whole)
    for one in (state, note):
        one.rename(one.with_stem("7"))
    assert problems(service, files) == ["state/7.note: the state that it has is another"]


def test_no_state_is_found_where_entries_that_lead_to_it_are_missing(files, service):
    with pytest.raises(ValueError, match="index 256: its entry is missing in the export"):
        led_to(files, signers(service), None, OLD, OLD - 1)
    (files.folder / "tile" / "entries" / "000").unlink()
    with pytest.raises(ValueError, match="index 0: its entry is missing in the export"):
        led_to(files, signers(service), None, OLD, size_of(files))


@pytest.mark.slow
def test_a_folder_without_an_export_and_a_key_that_is_none_are_told_apart(files, secretsvc):
    def fails(*arguments):
        done = secretsvc("audit", "verify", *map(str, arguments))
        assert done.returncode == 1
        # Of a database the settings that are missing are logged before.
        return (done.stdout + done.stderr).splitlines()[-1]

    key, empty = files.text("key").strip(), files.folder / "empty"
    assert fails(empty) == f"Error: {empty}: no key is there, so that it is no export, or not all of one"
    assert fails(empty, "--key", key) == "export: the checkpoint is missing"
    told = "Error: --key: not a verifier key"
    assert fails(files.folder, "--key", "key") == fails("--ini", INI, "--key", "key") == told
    files.write("replaced/7.note", b"x")
    other = f"{files.folder / 'replaced' / '7.note'}: not a note on the replacement of a key"
    assert fails(files.folder, "--key", key).startswith(f"Error: {other}")
    files.write("key", b"key\n")
    assert fails(files.folder) == f"Error: {files.folder / 'key'}: not a verifier key"


def test_a_full_disk_is_told_with_the_file_and_leaves_nothing_half_written(files, monkeypatch):
    def full(_file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = sorted(files.folder.rglob("*"))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        files.write("tile/0/002", b"x")
    assert raised.value.filename == str(files.folder / "tile" / "0" / "002")
    assert sorted(files.folder.rglob("*")) == before


def test_names_of_files_outlast_a_failure_of_power_before_the_checkpoint_tells_of_them(
    files, service, monkeypatch
):
    # What is exported may be pruned right after.
    synced, fsync = [], os.fsync

    def noting(file):
        synced.append(Path(os.readlink(f"/proc/self/fd/{file}")))
        fsync(file)

    monkeypatch.setattr(os, "fsync", noting)
    another = Files(files.folder.parent / "another")
    audit.export_to(service.app.registry, another)
    [last] = [at for at, path in enumerate(synced) if path.name.startswith(".checkpoint")]
    folders = {path.parent for path in another.folder.rglob("*")} | {another.folder.parent}
    assert folders <= {*synced[:last]}
    assert synced[last + 1 :] == [another.folder.parent, another.folder]


def test_two_who_write_one_file_at_once_leave_it_whole(files, monkeypatch):
    fsync, others = os.fsync, [Files(files.folder)]

    def meeting(file):
        if others:
            others.pop().write("key", b"other")
        fsync(file)

    monkeypatch.setattr(os, "fsync", meeting)
    files.write("key", b"one")
    assert files.read("key") == b"one"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids=oct)
def test_a_new_export_is_its_owners_alone_from_the_first_byte(files, service, tmp_path, monkeypatch, umask):
    written, fsync = [], os.fsync

    def noting(file):
        written.append(
            (os.path.basename(os.readlink(f"/proc/self/fd/{file}")), os.fstat(file).st_mode & 0o777)
        )
        fsync(file)

    monkeypatch.setattr(os, "fsync", noting)
    made = Files(tmp_path / "new" / "export")
    before = os.umask(umask)
    try:
        size = audit.export_to(service.app.registry, made).size
        audit_prune._record(service.app.registry, made, 1_000_000, size)
    finally:
        os.umask(before)
    assert (made.folder / "state").exists()
    found = {(one.is_dir(), one.stat().st_mode & 0o777) for one in (tmp_path / "new").rglob("*")}
    assert found == {(True, 0o700), (False, 0o600)}
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert {mode for name, mode in written if name.startswith(".")} == {0o600}


def test_files_and_folders_of_an_export_keep_the_mode_that_they_have(files, service):
    for one in files.folder.rglob("*"):
        one.chmod(0o750 if one.is_dir() else 0o640)
    checkpoint = files.read("checkpoint")
    log(service, 10)
    audit.export_to(service.app.registry, files)
    assert files.read("checkpoint") != checkpoint
    for name, mode in {"checkpoint": 0o640, "key": 0o640, "tile": 0o750, "tile/entries/000": 0o640}.items():
        assert (files.folder / name).stat().st_mode & 0o777 == mode


class Crash(BaseException):
    """Stands for the end of a process."""


@pytest.mark.slow
def test_an_export_that_ends_at_any_file_is_whole_up_to_its_checkpoint_and_goes_on(
    files, service, monkeypatch
):
    another, write = Files(files.folder.parent / "another"), Files.write
    for most in range(50):
        numbers = iter(range(most))

        def crashing(self, path, content, numbers=numbers):
            if next(numbers, None) is None:
                raise Crash
            write(self, path, content)

        monkeypatch.setattr(Files, "write", crashing)
        try:
            audit.export_to(service.app.registry, another)
            break
        except Crash:
            assert problems(service, another) in ([], ["the checkpoint is missing"])
        log(service, 10)
    assert most > 5
    assert problems(service, another) == []
