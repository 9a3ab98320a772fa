"""What deploy/haproxy.cfg has in its comments: TLS, and asking each process whether it is ready."""

from __future__ import annotations

import re
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from databases import SqliteDatabases
from processes import Deployment, free_port
from programs import need
from tls import authority
from tokens import TestIssuer
from waiting import eventually


@pytest.fixture
def operations(sqlite_databases: SqliteDatabases, issuer: TestIssuer, tmp_path: Path) -> Iterator[Deployment]:
    """One process, with the listener of its own that HAProxy asks."""
    settings = {"OPERATIONS_LISTEN": f"127.0.0.1:{free_port()}"}
    with Deployment(tmp_path, sqlite_databases.create(), issuer, **settings) as made:
        yield made.start(1)


def uncommented(text: str, places: Sequence[tuple[int, int]], port: int, certificate: Path) -> str:
    """The file with its other choices, for the ports of a test: each process's, and its `/ready`'s."""
    text = re.sub(r"(?m)^    (option httpchk|server|bind) .*\n", "", text)
    text, count = re.subn(r"(?m)^    # (option httpchk|server|bind) ", r"    \1 ", text)
    assert count == 4
    text = text.replace("bind :443", f"bind 127.0.0.1:{port}").replace(
        "/etc/haproxy/secretsvc.pem", str(certificate)
    )
    for shown, (clients, ready) in zip((6543, 6544), places, strict=True):
        text = text.replace(f"127.0.0.1:{shown} port 1{shown}", f"127.0.0.1:{clients} port {ready}")
    return text


def test_haproxy_ends_tls_and_serves_by_whoever_is_ready(
    operations: Deployment, here: Path, tmp_path: Path
) -> None:
    haproxy = need("haproxy")
    certificate, port, file = authority(tmp_path, "front"), free_port(), tmp_path / "haproxy.cfg"
    ready = int(operations.settings["OPERATIONS_LISTEN"].rpartition(":")[2])
    # Of the two processes one is not there.
    places = [(operations.processes[0].port, ready), (free_port(), free_port())]
    file.write_text(uncommented((here / "deploy/haproxy.cfg").read_text(), places, port, certificate))
    context = ssl.create_default_context(cafile=certificate)
    with (tmp_path / "said").open("wb") as told:
        process = subprocess.Popen([haproxy, "-db", "-f", file], stdout=told, stderr=told)
    said = tmp_path / "said"

    def served() -> bool:
        try:
            with urlopen(f"https://127.0.0.1:{port}/api/v1/health", context=context) as answer:
                return bool(answer.status == 200)
        except URLError:
            return False

    try:
        # By then each was asked twice.
        assert eventually(lambda: b"Server processes/two is DOWN" in said.read_bytes(), 20), said.read_text()
        assert b"processes/one is DOWN" not in said.read_bytes()
        assert [served() for _ in range(5)] == [True] * 5
    finally:
        process.terminate()
        process.wait()
