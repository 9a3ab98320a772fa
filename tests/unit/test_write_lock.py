"""The lock that writers of an SQLite file queue behind."""

from __future__ import annotations

import fcntl
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url
from waiting import PATIENCE, eventually

from secretsvc.db import sqlite_write_lock
from secretsvc.db.error_mapping import WriteLockTimeout
from secretsvc.db.sqlite_files import file_of
from secretsvc.db.sqlite_write_lock import WriteLock

#: Seconds after which a writer gives up that is not to get the lock.
IMPATIENCE = 0.1


@pytest.fixture
def lock(tmp_path: Path) -> WriteLock:
    return WriteLock(str(tmp_path / "some.sqlite"))


@pytest.fixture
def other_process(tmp_path: Path) -> WriteLock:
    """As another process has it: the kernel tells open files apart, not processes."""
    return WriteLock(str(tmp_path / "some.sqlite"))


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_write_lock, "BUSY_TIMEOUT_SECONDS", IMPATIENCE)


def test_a_writer_gets_its_turn_when_the_one_before_it_is_done(
    lock: WriteLock, other_process: WriteLock
) -> None:
    order = []

    def write_after() -> None:
        other_process.acquire()
        order.append("second")
        other_process.release()

    lock.acquire()
    waiting = threading.Thread(target=write_after)
    waiting.start()
    waiting.join(IMPATIENCE)
    order.append("first")
    lock.release()
    waiting.join(PATIENCE)
    assert order == ["first", "second"]


def open_below(folder: Path) -> list[str]:
    """The files of a folder that this process has open."""
    found = []
    for one in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(str(one.readlink()))
    return [path for path in found if path.startswith(str(folder))]


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("same", [True, False], ids=["another thread", "another process"])
def test_a_writer_does_not_wait_for_ever(same: bool, lock: WriteLock, other_process: WriteLock) -> None:
    lock.acquire()
    with pytest.raises(WriteLockTimeout):
        (lock if same else other_process).acquire()
    lock.release()


@pytest.mark.usefixtures("_impatient")
def test_a_writer_that_gave_up_holds_nothing_later(
    lock: WriteLock, other_process: WriteLock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock.acquire()
    for _ in range(3):
        with pytest.raises(WriteLockTimeout):
            other_process.acquire()
    lock.release()
    # The threads that gave up may have the lock for a moment.
    monkeypatch.setattr(sqlite_write_lock, "BUSY_TIMEOUT_SECONDS", PATIENCE)
    for one in (lock, other_process) * 3:
        one.acquire()
        one.release()
    assert eventually(lambda: open_below(tmp_path) == [])


@pytest.mark.usefixtures("_impatient")
def test_a_wait_that_begins_after_it_was_given_up_locks_no_file_that_came_to_its_number(
    lock: WriteLock, other_process: WriteLock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, flock = threading.Event(), fcntl.flock

    def late(file: int, operation: int) -> None:
        if operation == fcntl.LOCK_EX:
            begun.wait(PATIENCE)
        flock(file, operation)

    monkeypatch.setattr(sqlite_write_lock.fcntl, "flock", late)
    lock.acquire()
    with pytest.raises(WriteLockTimeout):
        other_process.acquire()
    path = tmp_path / "another"
    with path.open("w"), path.open("w") as asking:
        begun.set()
        lock.release()
        assert eventually(lambda: open_below(tmp_path) == [str(path)] * 2)
        flock(asking, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_private_database_has_no_file_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for url in ("sqlite://", "sqlite:///:memory:", "sqlite:///file:shared?mode=memory&uri=true"):
        lock = WriteLock(file_of(make_url(url)))
        lock.acquire()
        lock.release()
    assert not list(tmp_path.iterdir())
