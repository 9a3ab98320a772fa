"""The wheel, from `make dist` to serving and through an upgrade, on both engines, with no file of the source.

Where the machine allows it, each command runs as `nobody` on a read-only root file system, and the source is
hidden from it; those that install may write to the environment as well, which no other may. It takes a minute
and a half: the packages are installed into an environment of their own.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from processes import START_SECONDS, HttpClient, free_port
from sandbox import USER, confined, is_possible
from service import ADMIN
from sqlalchemy.engine import make_url
from wheels import copy_source, make_dist

from secretsvc.db.schema import REVISION

OLD = f"{int(REVISION) - 2:04}"
NEXT = "0.1.1"
SECONDS = 900
SECRET = "/projects/shop/environments/prod/secrets"


class Installation:
    """An environment with the wheel, and a folder that holds the data, both of the service's user."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self.folder, self.data, self.venv = folder, folder / "data", folder / "venv"
        for own in (self.data, self.venv):
            own.mkdir()
            if os.geteuid() == 0:
                os.chown(own, int(USER), int(USER))
        self.is_confined = is_possible(self.data)
        self.source = copy_source(folder / "source")
        self.into_venv(
            Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}"), "-m", "venv", self.venv
        )
        self.install()

    def install(self) -> None:
        """The wheel and exactly the versions beside it, which somebody else got from wherever pip does."""
        exactly = ["--quiet", "--require-hashes", "-r", make_dist(self.source) / "requirements.txt"]
        got = self.folder / "packages"
        # An upgrade has them; and the one package that comes as source is built by `wheel`.
        for wanted in () if got.exists() else (exactly, ["--quiet", "wheel"]):
            command = [sys.executable, "-m", "pip", "download", *wanted, "--dest", got]
            subprocess.run(command, check=True, timeout=SECONDS)
        self.into_venv(self.program("pip"), "install", *exactly, "--no-index", "--find-links", got)

    def into_venv(self, *command: str | Path) -> None:
        """Runs a command that may write to the environment."""
        whole = confined(self.data, *command, target=self.venv) if self.is_confined else command
        options = {"cwd": self.data, "check": True, "timeout": SECONDS}
        subprocess.run(whole, env=self.environment({"TMPDIR": str(self.data)}), **options)

    def upgrade(self) -> None:
        """The same by another version, over the first."""
        setup = self.source / "setup.cfg"
        setup.write_text(setup.read_text().replace("version = 0.1.0", f"version = {NEXT}", 1))
        self.install()

    def program(self, name: str) -> Path:
        return self.venv / "bin" / name

    def command(self, name: str, *arguments: str | Path) -> list[str]:
        command = [self.program(name), *arguments]
        return confined(self.data, *command) if self.is_confined else [str(part) for part in command]

    def run(self, name: str, *arguments: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
        """Runs a program of the environment to its end."""
        options = {"cwd": self.data, "capture_output": True, "text": True, "timeout": SECONDS}
        command = self.command(name, *arguments)
        return subprocess.run(command, env=self.environment(settings), check=False, **options)

    def done(self, *arguments: str | Path, **settings: str) -> str:
        """What a subcommand prints that succeeds."""
        done = self.run("secretsvc-server", *arguments, **settings)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def environment(self, settings: dict[str, str]) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.data), "PYTHONWARNINGS": "ignore", **settings}

    @contextmanager
    def serving(self, ini: Path, token: str, **settings: str):
        """A client of a service that runs as long as the context."""
        port = free_port()
        command = self.command("pserve", "-q", ini, f"listen=127.0.0.1:{port}")
        with subprocess.Popen(command, cwd=self.data, env=self.environment(settings)) as process:
            client = HttpClient(port, token)
            try:
                wait_for(client, process)
                yield client
            finally:
                client.close()
                process.send_signal(signal.SIGTERM)
        assert process.returncode == 0


def wait_for(client, process):
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            client.expect(200, "GET", "/health")
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"no answer; pserve: {process.poll()}")


@pytest.fixture(scope="module")
def installation():
    folder = Path(tempfile.mkdtemp(prefix="secretsvc-installation-"))
    yield Installation(folder)
    shutil.rmtree(folder)


@pytest.fixture
def settings(issuer, installation, postgresql_databases):
    """Of each engine, the environment of the service; its key source is where its user can read it."""
    jwks = installation.data / "jwks.json"
    shutil.copy(issuer.jwks_url.removeprefix("file://"), jwks)
    jwks.chmod(0o644)
    usual = {
        **issuer.environment(ACCESS_JWKS_URL=f"file:{jwks}"),
        "BOOTSTRAP_ADMINS": ADMIN,
        "DRAIN_SECONDS": "1",
    }
    url = postgresql_databases.create_empty()
    # The server's socket is in a folder of its own user's.
    socket = Path(str(make_url(url).query.get("host", "")))
    if installation.is_confined and socket.is_absolute():
        socket.chmod(socket.stat().st_mode | 0o011)
    yield {"sqlite": usual, "postgresql": {**usual, "DATABASE_URL": url}}
    postgresql_databases.drop(url)


def failures(installation, ini, settings):
    """The checks that fail. The server of the tests does not write to its disk."""
    done = installation.run("secretsvc-server", "check", ini, **settings)
    found = {line[6:16].strip() for line in done.stdout.splitlines() if line.startswith("fail")}
    assert done.returncode == bool(found), done.stdout + done.stderr
    return found - {"durability"}


def test_a_command_is_confined_as_it_is_said(installation):
    if not installation.is_confined:
        pytest.skip("to mount takes root, with the right to do so")
    script = "import os, sys, pathlib\nprint(os.getuid(), os.access('/', os.W_OK), os.access('.', os.W_OK))\n"
    script += f"print([*pathlib.Path({str(Path(__file__).parents[2])!r}).iterdir()])\n"
    script += "import secretsvc; print(secretsvc.__file__)\n"
    script += "print([path for path in ('/tmp', '/dev/shm', sys.prefix) if os.access(path, os.W_OK)])\n"
    script += "open(sys.prefix + '/new', 'w')"
    done = installation.run("python", "-c", script)
    where = installation.program("").parent / "lib"
    assert done.stdout.splitlines()[:2] == [f"{USER} False True", "[]"]
    assert done.stdout.splitlines()[2].startswith(str(where))
    assert done.stdout.splitlines()[3] == "[]"
    assert {path.stat().st_uid for path in where.rglob("*")} == {int(USER)}
    assert "Read-only file system" in done.stderr


def test_the_wheel_goes_to_serving_and_through_an_upgrade_on_both_engines(installation, settings, issuer):
    token = issuer.sign(ADMIN, lifetime=3600)
    inis = {engine: installation.data / engine / "production.ini" for engine in settings}
    for engine, ini in inis.items():
        installation.done("init", ini.parent)
        assert installation.done("migrate", ini, **settings[engine]) == f"The schema is at {REVISION}.\n"
        with installation.serving(ini, token, **settings[engine]) as client:
            write(client)
            assert client.expect(200, "GET", f"{SECRET}/KEY:reveal").json["value"] == "kept"
        installation.done("migrate", ini, "--down-to", OLD, "--lose-data", **settings[engine])
    installation.upgrade()
    assert installation.done("--version").split()[-1] == NEXT
    installation.done("migrate", inis["postgresql"], **settings["postgresql"])
    # Alembic by hand does the same.
    done = installation.run("alembic", "-c", inis["sqlite"], "upgrade", "head", **settings["sqlite"])
    assert done.returncode == 0, done.stderr
    for engine, ini in inis.items():
        assert failures(installation, ini, settings[engine]) == set()
        with installation.serving(ini, token, **settings[engine]) as client:
            assert client.expect(200, "GET", f"{SECRET}/KEY:reveal").json["value"] == "kept"


def write(client):
    """A project with an environment and a secret in it."""
    client.expect(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
    client.expect(201, "POST", "/projects/shop/environments", {"slug": "prod", "name": "Prod"})
    client.expect(200, "POST", f"{SECRET}:batch", {"mode": "merge", "set": {"KEY": "kept"}})
