"""deploy/compose.yaml by the commands of the page of installing, where Docker answers and has the images."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml
from doc_blocks import blocks
from processes import ROOT, free_port
from service import ADMIN
from waiting import eventually
from wheels import copy_source, make_dist

PAGE = (ROOT / "docs" / "operations" / "installing.md").read_text("utf-8")
COMPOSE = ROOT / "deploy" / "compose.yaml"
#: The plugin, or the program that came before it.
PROGRAMS = ("docker compose", "docker-compose")
SETTINGS = {
    **{f"{role}_PASSWORD": f"of{role}" for role in ("POSTGRES", "OWNER", "SERVICE")},
    "BOOTSTRAP_ADMINS": ADMIN,
    "ACCESS_ISSUER": "https://access.example.com",
    "ACCESS_AUDIENCE": "audience",
    # Nobody asks it: what is looked at here needs no assertion.
    "ACCESS_JWKS_URL": "http://127.0.0.1:1/keys",
}


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["sh", "-c", script], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def program() -> str:
    """What understands the file; the base images are there or can be had."""
    if shutil.which("docker") is None or shell("docker info", ROOT).returncode:
        pytest.skip("no Docker daemon answers here")
    found = [one for one in PROGRAMS if shell(f"{one} version", ROOT).returncode == 0]
    if not found:
        pytest.skip("docker has no compose")
    services = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
    (base,) = re.findall(r"(?m)^ARG BASE=(\S+)$", (ROOT / "deploy" / "Dockerfile").read_text("utf-8"))
    # The shell takes the default of the variable in the second.
    for image in (base, services["database"]["image"]):
        if shell(f"docker image inspect {image} || docker pull {image}", ROOT).returncode:
            pytest.skip(f"{image} is not to be had here")
    return found[0]


class Composed:
    """A folder as the page has it, and its commands."""

    def __init__(self, folder: Path, program: str) -> None:
        self.folder, self.program, self.port = copy_source(folder / "source"), program, free_port()
        make_dist(self.folder)
        file = self.folder / "deploy" / "compose.yaml"
        file.write_text(file.read_text("utf-8").replace("127.0.0.1:6543:", f"127.0.0.1:{self.port}:"))
        lines = (f"{name}={value}\n" for name, value in SETTINGS.items())
        (self.folder / "deploy" / ".env").write_text("".join(lines))
        (block,) = (one for one in blocks(PAGE, "Under a service manager", "sh") if "docker build" in one)
        *self.start, self.check = block.splitlines()

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        # Without a terminal `exec` is not to ask for one.
        said = line.replace(" exec ", " exec -T ").replace("docker compose", self.program)
        return shell(said, self.folder)

    def compose(self, rest: str) -> str:
        return self.run(f"docker compose -f deploy/compose.yaml {rest}").stdout

    def is_healthy(self) -> bool:
        """An answer with another status than 200 is an OSError, too."""
        with suppress(OSError), urlopen(f"http://127.0.0.1:{self.port}/api/v1/health", timeout=5):
            return True
        return False


@pytest.fixture(scope="module")
def composed(program: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    made = Composed(tmp_path_factory.mktemp("composed"), program)
    yield made
    made.compose("down --volumes")


def test_the_services_of_compose_start_as_the_page_says_serve_and_stop(composed: Composed) -> None:
    for line in composed.start:
        done = composed.run(line)
        assert done.returncode == 0, done.stdout + done.stderr
    assert eventually(composed.is_healthy, pause=0.5)
    said = composed.run(composed.check).stdout.splitlines()
    # The levels and the names of what was looked at.
    assert {line[6:16].strip() for line in said if not line.startswith("ok ")} == {"key source"}
    assert "ok    schema " in "\n".join(said)
    status = "print(open('/proc/self/status').read())"
    told = composed.compose(f'exec secretsvc python -c "{status}"')
    for line in (r"Uid:\s65532\s", r"CapBnd:\s0+\n", r"NoNewPrivs:\s1\n"):
        assert re.search(line, told)
    composed.compose("stop secretsvc")
    assert composed.compose("logs secretsvc").count("stopping: what is under way has") == 1
    assert not composed.is_healthy()
