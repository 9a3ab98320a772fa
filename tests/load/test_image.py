"""deploy/Dockerfile: the image is built and run as its head says, and answers."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest
from processes import ROOT, free_port
from service import MASTER_KEY
from waiting import eventually
from wheels import copy_source, make_dist

HEAD = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
BASE = "python:{}-slim".format(*re.findall(r"(?m)^ARG PYTHON=(\S+)$", HEAD))
BUILD, RUN = re.findall(r"(?m)^#.*docker ((?:build|run) .*)$", HEAD)


def docker(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], cwd=folder, capture_output=True, text=True, check=False)


def is_healthy(port: int) -> bool:
    """An answer with another status than 200 is an OSError, too."""
    with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/health", timeout=5):
        return True
    return False


@pytest.mark.engine_neutral
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
