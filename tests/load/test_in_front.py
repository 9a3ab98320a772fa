"""What deploy/haproxy.cfg has in its comments, TLS and asking each process whether it is ready; and Caddy."""

from __future__ import annotations

import os
import re
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
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


def uncommented(text: str, ports: Sequence[tuple[int, int]], port: int, certificate: Path) -> str:
    """The file with its other choices, for the ports of a test: each process's, and its `/ready`'s."""
    text = re.sub(r"(?m)^    (option httpchk|server|bind) .*\n", "", text)
    text, count = re.subn(r"(?m)^    # (option httpchk|server|bind) ", r"    \1 ", text)
    assert count == 4
    text = text.replace("bind :443", f"bind 127.0.0.1:{port}").replace(
        "/etc/haproxy/secretsvc.pem", str(certificate)
    )
    for shown, (clients, ready) in zip((6543, 6544), ports, strict=True):
        text = text.replace(f"127.0.0.1:{shown} port 1{shown}", f"127.0.0.1:{clients} port {ready}")
    return text


def test_haproxy_ends_tls_and_serves_by_whoever_is_ready(
    operations: Deployment, here: Path, tmp_path: Path
) -> None:
    haproxy = need("haproxy")
    certificate, port, file = authority(tmp_path, "front"), free_port(), tmp_path / "haproxy.cfg"
    ready = int(operations.settings["OPERATIONS_LISTEN"].rpartition(":")[2])
    # Of the two processes one is not there.
    ports = [(operations.processes[0].port, ready), (free_port(), free_port())]
    file.write_text(uncommented((here / "deploy/haproxy.cfg").read_text(), ports, port, certificate))
    with (tmp_path / "said").open("wb") as told:
        process = subprocess.Popen([haproxy, "-db", "-f", file], stdout=told, stderr=told)
    said = tmp_path / "said"
    try:
        # By then each was asked twice.
        assert eventually(lambda: b"Server processes/two is DOWN" in said.read_bytes(), 20), said.read_text()
        assert b"processes/one is DOWN" not in said.read_bytes()
        assert [is_served(port, certificate) for _ in range(5)] == [True] * 5
    finally:
        process.terminate()
        process.wait()


def own_name(text: str, processes: Sequence[int], port: int, certificate: Path) -> str:
    """The file for Caddy with a certificate that is there, for the ports of a test."""
    text = text.replace(
        "secrets.example.com {", f"https://127.0.0.1:{port} {{\n\ttls {certificate} {certificate}"
    )
    for shown, process in zip((6543, 6544), processes, strict=True):
        text = text.replace(f"127.0.0.1:{shown}", f"127.0.0.1:{process}")
    return "{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text


def test_caddy_ends_tls_and_serves_by_whoever_is_there(
    operations: Deployment, here: Path, tmp_path: Path
) -> None:
    caddy = need("caddy")
    certificate, port, file = authority(tmp_path, "front"), free_port(), tmp_path / "Caddyfile"
    # Of the two processes one is not there.
    processes = [operations.processes[0].port, free_port()]
    file.write_text(own_name((here / "deploy/Caddyfile").read_text(), processes, port, certificate))
    homes = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    with (tmp_path / "said").open("wb") as told:
        process = subprocess.Popen(
            [caddy, "run", "--adapter", "caddyfile", "--config", file],
            env={**os.environ, **homes},
            stdout=told,
            stderr=told,
        )
    try:
        assert eventually(lambda: is_served(port, certificate), pause=0.1), (tmp_path / "said").read_text()
        assert [is_served(port, certificate) for _ in range(5)] == [True] * 5
    finally:
        process.terminate()
        process.wait()


def is_served(port: int, certificate: Path) -> bool:
    """Whether the balancer answers by HTTPS that the service is well."""
    context = ssl.create_default_context(cafile=certificate)
    try:
        with urlopen(f"https://127.0.0.1:{port}/api/v1/health", context=context) as answer:
            return bool(answer.status == 200)
    except OSError:
        # Also where the answer breaks off: a balancer that just starts, or whose process just went.
        return False
