"""deploy/Dockerfile: the image is built and run as its head says, and answers.

By Docker where a daemon and its base are; by buildah where that is, over a stand-in for the base.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from built_image import VOLUME, BuiltImage, NotBuildableHereError
from databases import ENGINES
from postgresql_server import own_server
from processes import ROOT, HttpClient, free_port
from service import ADMIN, MASTER_KEY
from waiting import eventually
from wheels import copy_source, make_dist

from secretsvc.db.schema import REVISION

HEAD = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
(BASE,) = re.findall(r"(?m)^ARG BASE=(\S+)$", HEAD)
BUILD, RUN = re.findall(r"(?m)^#.*docker ((?:build|run) .*)$", HEAD)


def docker(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], cwd=folder, capture_output=True, text=True, check=False)


def is_healthy(port: int) -> bool:
    """An answer with another status than 200 is an OSError, too."""
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/health", timeout=5):
        return True
    return False


def test_the_image_is_built_and_run_as_its_file_says_and_answers(tmp_path, issuer, request):
    if shutil.which("docker") is None or docker("info").returncode:
        pytest.skip("no Docker daemon answers here")
    if docker("pull", BASE).returncode:
        pytest.skip(f"{BASE} is not to be had here")
    source = copy_source(tmp_path / "source")
    make_dist(source)
    built = docker(*shlex.split(BUILD), folder=source)
    assert built.returncode == 0, built.stderr
    settings = {"DATABASE_URL": "sqlite:////tmp/secretsvc.sqlite", "MASTER_KEY": MASTER_KEY}
    lines = (f"{name}={value}\n" for name, value in (settings | issuer.environment()).items())
    (source / "environment").write_text("".join(lines))
    port = free_port()
    verb, *rest = shlex.split(RUN.replace(":6543:", f":{port}:"))
    started = docker(verb, "--detach", "--rm", *rest, folder=source)
    assert started.returncode == 0, started.stderr
    request.addfinalizer(lambda: docker("stop", started.stdout.strip()))
    assert eventually(lambda: is_healthy(port), pause=0.5)


INI = "/etc/secretsvc/production.ini"
SECRET = "/projects/shop/environments/prod/secrets"


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> Iterator[BuiltImage]:
    if shutil.which("buildah") is None:
        pytest.skip("buildah is missing; on Debian: apt-get install buildah")
    if os.geteuid() != 0:
        pytest.skip("to build and to mount an image takes root here")
    folder = tmp_path_factory.mktemp("image")
    source = copy_source(folder / "source")
    make_dist(source)
    made = BuiltImage(folder)
    base = f"python:3.{sys.version_info.minor}-slim"
    try:
        made.provide(base)
        made.build(source, "secretsvc", "--file", "deploy/Dockerfile", "--build-arg", f"BASE={base}")
    except NotBuildableHereError as error:
        pytest.skip(f"buildah cannot build here: {error}")
    yield made
    made.remove()


@pytest.fixture
def volume(image: BuiltImage, tmp_path: Path) -> Path:
    """A folder of the image's user."""
    folder = tmp_path / "volume"
    folder.mkdir()
    user, group = image.config["User"].split(":")
    os.chown(folder, int(user), int(group))
    if image.run(folder, {}, "python", "--version").returncode:
        pytest.skip("to mount takes root, with the right to do so")
    return folder


@pytest.fixture(params=ENGINES)
def settings(request, issuer, volume) -> Iterator[dict[str, str]]:
    shutil.copy(issuer.jwks_url.removeprefix("file://"), volume / "jwks.json")
    (volume / "jwks.json").chmod(0o644)
    usual = {"MASTER_KEY": MASTER_KEY, "BOOTSTRAP_ADMINS": ADMIN, "DRAIN_SECONDS": "1"}
    usual |= issuer.environment(ACCESS_JWKS_URL=f"file:{VOLUME}/jwks.json")
    if request.param == "sqlite":
        yield {**usual, "DATABASE_URL": f"sqlite:///{VOLUME}/secretsvc.sqlite"}
        return
    with own_server() as server:
        yield {**usual, "DATABASE_URL": server.url("postgres")}


@contextmanager
def serving(image: BuiltImage, volume: Path, settings: dict[str, str]) -> Iterator[int]:
    """The port of the image's own command, as long as the context; it ends as the image says."""
    port = free_port()
    command = [word.replace(":6543", f":{port}") for word in image.config["Cmd"]]
    started = image.command(volume, *command)
    with subprocess.Popen(started, env=image.environment(settings)) as process:
        try:
            assert eventually(lambda: process.poll() is not None or is_healthy(port), pause=0.1)
            yield port
        finally:
            process.send_signal(signal.Signals[image.config["StopSignal"]])
    assert process.returncode == 0


def test_the_image_migrates_serves_and_ends_as_its_user_on_a_read_only_root(image, volume, settings, issuer):
    migrated = image.run(volume, settings, "secretsvc-server", "migrate", INI)
    assert migrated.stdout == f"The schema is at {REVISION}.\n", migrated.stderr
    with serving(image, volume, settings) as port:
        client = HttpClient(port, issuer.sign(ADMIN))
        client.expect(201, "POST", "/projects", {"slug": "shop", "name": "Shop"})
        client.expect(201, "POST", "/projects/shop/environments", {"slug": "prod", "name": "Prod"})
        client.expect(200, "POST", f"{SECRET}:batch", {"mode": "merge", "set": {"KEY": "kept"}})
        assert client.expect(200, "GET", f"{SECRET}/KEY:reveal").json["value"] == "kept"
        client.close()
        verb, *check = image.config["Healthcheck"]["Test"]
        own = [word.replace(":6543", f":{port}") for word in check]
        assert verb == "CMD"
        assert image.run(volume, settings, *own).returncode == 0
    assert image.run(volume, settings, *own).returncode != 0


def test_a_command_of_the_image_is_nobody_in_particular_and_finds_nothing_to_write_to(image, volume):
    script = "import os\nprint(os.getuid(), os.getgid(), os.getgroups())\n"
    script += "print([folder for folder, *_ in os.walk('/') if not folder.startswith(('/proc', '/dev'))"
    script += " and os.access(folder, os.W_OK)])"
    done = image.run(volume, {}, "python", "-c", script)
    assert done.stdout == f"65532 65532 []\n['/tmp', '{VOLUME}']\n", done.stderr


def test_a_command_of_the_image_leaves_no_core_dump(image, volume):
    script = "import resource; print(resource.getrlimit(resource.RLIMIT_CORE))"
    done = image.run(volume, {}, "python", "-c", script)
    assert done.stdout == "(0, 0)\n", done.stderr


def test_the_image_makes_a_master_key_and_holds_none(image, volume):
    made = image.run(volume, {}, "secretsvc-server", "keygen")
    assert re.fullmatch(r"[A-Za-z0-9+/_-]{43}=\n", made.stdout), made.stderr
    names = {entry.split("=")[0] for entry in image.config["Env"]}
    assert names == {"PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
