"""PgBouncer in transaction mode before a server, where the machine has it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from processes import free_port
from sqlalchemy import make_url

SECONDS = 120
#: Connections to the server: fewer than there are clients, so that these change places.
POOL = 3


def is_there() -> bool:
    return program() is not None


def program() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def pgbouncer(url: str) -> Iterator[str]:
    """The URL by which the database is reached through one; `url` is its own, of a server on TCP."""
    parts, port = make_url(url), free_port()
    folder = Path(tempfile.mkdtemp(prefix="secretsvc-pgbouncer-"))
    folder.chmod(0o755)
    (folder / "ini").write_text(
        f"[databases]\n{parts.database} = host={parts.host} port={parts.port} dbname={parts.database}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = any\npool_mode = transaction\ndefault_pool_size = {POOL}\nmax_client_conn = 100\n"
    )
    # `any` takes whoever comes for the one that its line of the database names.
    text = (folder / "ini").read_text().replace("dbname=", f"user={parts.username} dbname=")
    (folder / "ini").write_text(text)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([str(program()), folder / "ini"], stdout=log, stderr=log, **_as_nobody())
    try:
        reached = parts.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
        _wait_for(reached.replace("postgresql+psycopg://", "postgresql://"), folder / "log")
        yield reached
    finally:
        process.terminate()
        process.wait(SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _as_nobody() -> dict[str, object]:
    # It refuses to be root.
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _wait_for(url: str, log: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.05)
