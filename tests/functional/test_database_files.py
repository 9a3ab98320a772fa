"""SQLite files are private where the service makes them, and named in the log where others may open them."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from databases import migrate
from service import Service, arrange
from sqlalchemy import text

from secretsvc.db.engine import make_engine, write_transaction
from secretsvc.db.sqlite_files import open_to_others
from secretsvc.db.sqlite_write_lock import WriteLock

SUFFIXES = ("", "-wal", "-shm", "-lock")


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.sqlite"


def modes(path: Path) -> dict[str, int]:
    """The permission bits of the database's files, by what is added to its name."""
    return {
        file.name.removeprefix(path.name): stat.S_IMODE(file.stat().st_mode)
        for file in path.parent.iterdir()
        if file.name.startswith(path.name)
    }


def write(path: Path, url: str = "sqlite:///{}") -> dict[str, int]:
    """Writes to the database and tells the modes of its files while it is open."""
    engine = make_engine(url.format(path))
    try:
        with write_transaction(engine) as connection:
            connection.execute(text("CREATE TABLE IF NOT EXISTS some (thing TEXT)"))
        return modes(path)
    finally:
        engine.dispose()


@pytest.mark.usefixtures("_umask")
def test_what_is_made_for_a_database_is_its_owners_alone_whatever_the_umask(path: Path) -> None:
    assert write(path) == dict.fromkeys(SUFFIXES, 0o600)


@pytest.mark.usefixtures("_umask")
def test_so_is_what_a_migration_makes(path: Path) -> None:
    migrate(f"sqlite:///{path}")
    assert modes(path) == {"": 0o600, "-lock": 0o600, "-migrating": 0o600}


def test_what_was_there_stays_as_it_was(path: Path) -> None:
    for suffix in ("", "-lock"):
        file = path.with_name(path.name + suffix)
        file.touch()
        file.chmod(0o640)
    assert write(path) == dict.fromkeys(SUFFIXES, 0o640)


def test_a_lock_file_is_made_anew_by_whoever_finds_it_gone(path: Path) -> None:
    lock = WriteLock(str(path))
    for _ in range(2):
        lock.acquire()
        lock.release()
        assert modes(path) == {"-lock": 0o600}
        path.with_name(path.name + "-lock").unlink()


def test_a_database_is_made_where_a_link_points_to(path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.sqlite"
    path.symlink_to(elsewhere)
    write(path)
    assert path.is_symlink()
    assert modes(elsewhere)[""] == 0o600


def test_a_database_that_cannot_be_made_is_refused_by_sqlite_itself(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="unable to open database file"):
        write(tmp_path / "nowhere" / "some.sqlite")


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:shared?mode=memory&uri=true",
        "sqlite:///file::memory:?uri=true",
        "sqlite:///file:/shared?vfs=memdb&uri=true",
        "postgresql+psycopg://localhost/some",
    ],
)
def test_what_has_no_file_of_ours_has_nothing_to_tell(url: str) -> None:
    assert [*open_to_others(url)] == []


@pytest.mark.usefixtures("_umask")
@pytest.mark.parametrize("url", ["sqlite:///file:{}?uri=true", "sqlite:///file://{}?uri=true&mode=rwc"])
def test_what_sqlite_reads_as_a_uri_is_its_owners_alone_too(path: Path, url: str) -> None:
    assert write(path, url) == dict.fromkeys(SUFFIXES, 0o600)
    path.chmod(0o640)
    assert [*open_to_others(url.format(path))] == [(str(path), 0o640)]


@pytest.mark.usefixtures("_umask")
@pytest.mark.parametrize("name", ["file:some.sqlite", ":some.sqlite"])
def test_so_is_a_file_with_an_odd_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert write(Path(name), "sqlite:///{}") == dict.fromkeys(SUFFIXES, 0o600)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [entry.getMessage() for entry in caplog.records if entry.levelno == logging.WARNING]


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0o640, 0o602, 0o666])
def test_a_start_names_each_file_that_others_may_open(path, issuer, caplog, mode) -> None:
    url = f"sqlite:///{path}"
    migrate(url)
    service = Service(url, issuer)
    arrange(service)
    assert warnings(caplog) == []
    for suffix in SUFFIXES:
        path.with_name(path.name + suffix).chmod(mode)
    admin = service.restarted().user()
    told = warnings(caplog)
    assert [sum(f" {path}{suffix} " in line for line in told) for suffix in SUFFIXES] == [1] * 4
    said = "others than its owner may read or write"
    assert all(said in line and f"(mode {mode:04o})" in line for line in told)
    admin.get("/whoami")
    assert len(warnings(caplog)) == 4
    service.close()


def test_a_start_before_the_first_migration_has_nothing_to_tell(path, issuer, caplog) -> None:
    Service(f"sqlite:///{path}", issuer).close()
    assert warnings(caplog) == []
    assert not path.exists()


def test_a_commit_waits_for_the_disk_and_readers_wait_for_no_writer(path: Path) -> None:
    engine = make_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        found = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("synchronous", "journal_mode")
        ]
    engine.dispose()
    # 2 is FULL.
    assert found == [2, "wal"]
