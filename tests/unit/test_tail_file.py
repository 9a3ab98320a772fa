"""A tail's file and the two beside it: rotations, ends at any moment, modes."""

from __future__ import annotations

import json
import os
import re
import shutil
from contextlib import contextmanager, suppress

import pytest

from secretsvc.sealedlog.retention import tail_file as tail_file_rules
from secretsvc.sealedlog.retention.tail_file import TailFile, tail_file


class Kill(BaseException):
    """Stands for the end of a process."""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.jsonl"


def line(index):
    return b'{"index":%d,"id":"%s"}\n' % (index, b"x" * (index % 7))


def write(file, size):
    """Append all of a log of that size that the file lacks."""
    indexes = range(file.following or 0, size)
    file.append(indexes, ((index, line(index)) for index in indexes))


def tail(path, size, first=None):
    with tail_file(path, first) as file:
        write(file, size)


def numbered(path):
    """The rotated files and the present one, oldest first."""
    rotated = [one for one in path.parent.iterdir() if re.search(r"\.\d+$", one.name)]
    return [*sorted(rotated, key=lambda one: -int(one.suffix[1:])), *([path] if path.exists() else [])]


def written(path):
    return [json.loads(found)["index"] for one in numbered(path) for found in one.read_bytes().splitlines()]


def rename(path, *, create=True):
    """What logrotate does with `create`."""
    for one in numbered(path):
        one.rename(path.with_name(f"{path.name}.{int(one.suffix[1:]) + 1 if one != path else 1}"))
    if create:
        path.touch()


def copy_and_truncate(path):
    for one in numbered(path)[:-1]:
        one.rename(path.with_name(f"{path.name}.{int(one.suffix[1:]) + 1}"))
    shutil.copy(path, path.with_name(f"{path.name}.1"))
    os.truncate(path, 0)


ROTATIONS = [rename, copy_and_truncate, lambda path: rename(path, create=False)]
each_rotation = pytest.mark.parametrize("rotate", ROTATIONS, ids=["rename", "copytruncate", "nocreate"])


@each_rotation
def test_an_open_tail_goes_on_in_the_new_file(path, rotate):
    with tail_file(path, None) as file:
        for size in (3, 3, 5, 9):
            file.reopen()
            write(file, size)
            rotate(path)
        file.reopen()
        file.reopen()
        write(file, 12)
    assert written(path) == [*range(12)]
    assert path.read_bytes() == b"".join(map(line, range(9, 12)))


@each_rotation
def test_a_tail_that_starts_after_a_rotation_repeats_nothing(path, rotate):
    for size in (3, 3, 5, 9, 12):
        tail(path, size)
        rotate(path)
    tail(path, 13, first=0)
    assert written(path) == [*range(13)]
    assert path.read_bytes() == line(12)


def test_a_missing_file_is_left_to_logrotate_for_one_call(path):
    with tail_file(path, None) as file:
        write(file, 2)
        rename(path, create=False)
        file.reopen()
        assert not path.exists()
        write(file, 3)
        file.reopen()
        write(file, 4)
        rename(path)
        file.reopen()
        write(file, 5)
    assert written(path) == [*range(5)]


def test_a_file_that_came_back_is_continued_where_it_ends(path):
    with tail_file(path, None) as file:
        write(file, 2)
        path.rename(path.with_name("moved"))
        path.write_bytes(line(7) + line(8)[:-5])
        file.reopen()
        write(file, 11)
    assert written(path) == [7, 8, 9, 10]


def test_the_file_of_another_tail_is_not_taken_for_a_rotated_one(path):
    tail(path, 4)
    tail(path.with_name(f"{path.name}-copy"), 7)
    path.with_name(f"{path.name}.position").write_text('{"next":4,"until":9}')
    tail(path, 9)
    assert written(path) == [*range(9)]


def test_without_a_position_the_last_whole_line_tells_where_to_go_on(path):
    tail(path, 4)
    path.with_name("audit.jsonl.position").unlink()
    os.truncate(path, len(path.read_bytes()) - 3)
    tail(path, 6)
    assert written(path) == [*range(6)]


def test_of_position_and_last_line_the_greater_counts(path):
    tail(path, 4)
    older = path.with_name("audit.jsonl.position").read_bytes()
    tail(path, 6)
    path.with_name("audit.jsonl.position").write_bytes(older)
    tail(path, 7)
    assert written(path) == [*range(7)]
    path.write_bytes(line(2))
    tail(path, 8)
    assert written(path) == [2, 7]


def test_a_new_tail_begins_where_it_is_told(path):
    tail(path, 8, first=5)
    tail(path, 9, first=5)
    assert written(path) == [5, 6, 7, 8]


@contextmanager
def killed_after(monkeypatch, steps):
    """Ends the process at one of its calls of the system: whole lines or a part of them, or a position."""
    left = iter(range(steps))
    write, note = TailFile.write, TailFile._note

    def writing(self, lines):
        for piece in (lines[: len(lines) // 3], lines[len(lines) // 3 :]):
            if next(left, None) is None:
                raise Kill
            write(self, piece)

    def noting(self, *position):
        if next(left, None) is None:
            raise Kill
        note(self, *position)

    with monkeypatch.context() as patch:
        patch.setattr(tail_file_rules, "_CHUNK_BYTES", 60)
        patch.setattr(TailFile, "write", writing)
        patch.setattr(TailFile, "_note", noting)
        with suppress(Kill):
            yield


@each_rotation
@pytest.mark.parametrize("when", ["before the end", "after the end", "twice after the end"])
def test_a_tail_that_ends_at_any_moment_repeats_nothing_and_leaves_nothing_out(
    path, monkeypatch, rotate, when
):
    size = 0
    for steps in range(16):
        with killed_after(monkeypatch, steps), tail_file(path, None) as file:
            if when == "before the end":
                # The process writes on to the file that was renamed.
                rotate(path)
            size += 10
            write(file, size)
        for _ in range({"before the end": 0, "after the end": 1, "twice after the end": 2}[when]):
            if path.exists():
                rotate(path)
    tail(path, size)
    assert written(path) == [*range(size)]


def test_what_lies_beside_the_file_does_not_mislead_a_tail(path, monkeypatch):
    tail(path, 4)
    others = {
        "audit.jsonl.bak": line(900),
        "audit.jsonl-note": b"a password",
        "audit.jsonl.1.gz": b"\x1f\x8b",
    }
    for name, content in others.items():
        path.with_name(name).write_bytes(content)
    with killed_after(monkeypatch, 1), tail_file(path, None) as file:
        write(file, 7)
    tail(path, 7)
    assert written(path) == [*range(7)]
    assert {name: path.with_name(name).read_bytes() for name in others} == others


@pytest.mark.parametrize("content", [b"", b"7", b"{}", b'{"next":"x","until":1}', b'{"next":1}', b"[1,2]"])
def test_a_position_file_that_holds_none_is_refused(path, content):
    position = path.with_name("audit.jsonl.position")
    position.write_bytes(content)
    with pytest.raises(ValueError, match=r"audit\.jsonl\.position: it holds no position"):
        tail(path, 1)
    position.unlink()
    tail(path, 1)


def test_a_second_tail_is_refused_also_after_a_rotation(path):
    with tail_file(path, None) as file:
        write(file, 1)
        rename(path)
        with pytest.raises(ValueError, match="another tail writes to this file"):
            tail(path, 2)
    tail(path, 2)
    assert written(path) == [0, 1]


def modes(folder):
    return {one.name: oct(one.stat().st_mode & 0o777) for one in folder.rglob("*")}


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_new_files_are_their_owners_alone_and_others_keep_their_mode(tmp_path):
    path = tmp_path / "new" / "folder" / "audit.jsonl"
    tail(path, 2)
    files = dict.fromkeys(("audit.jsonl", "audit.jsonl.position", "audit.jsonl.lock"), "0o600")
    assert modes(tmp_path) == {"new": "0o700", "folder": "0o700", **files}
    for one in path.parent.iterdir():
        one.chmod(0o640)
    path.parent.chmod(0o750)
    tail(path, 4)
    assert modes(tmp_path) == {"new": "0o700", "folder": "0o750", **dict.fromkeys(files, "0o640")}


def test_the_position_follows_the_records_to_the_disk(path, monkeypatch):
    synced, fsync = [], os.fsync

    def noting(file):
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{file}")))
        fsync(file)

    with tail_file(path, None) as file:
        monkeypatch.setattr(os, "fsync", noting)
        write(file, 2)
    draft, folder = ".audit.jsonl.position.", path.parent.name
    kinds = [draft if name.startswith(draft) else name for name in synced]
    assert kinds == [draft, folder, "audit.jsonl", draft, folder]
