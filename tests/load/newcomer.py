"""A newcomer's machine: the wheel, the pages and what the wheel writes. systemd is played."""

from __future__ import annotations

import itertools
import json
import os
import re
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from doc_blocks import blocks, pasted
from postgresql_server import PostgresqlServer
from processes import ROOT, STOP_SECONDS, WORKER
from service import HEADER
from waiting import eventually

# As in processes.py: a range for each worker, and no port again before all others had their turn.
_FIRST = 6_600 + 640 * WORKER
_ports = itertools.cycle([*range(_FIRST + os.getpid() % 600, _FIRST + 640), *range(_FIRST, _FIRST + 600)])


#: What is not done to the machine of the tests: these say how they were called.
PLAYED = ("systemctl", "useradd")


def page(name: str) -> str:
    return (ROOT / "docs" / "operations" / name).read_text("utf-8")


def ports() -> tuple[int, int]:
    """A port and that with a 1 before it, as the unit has them, on which nobody listens."""
    for port in itertools.islice(_ports, 640):
        with socket.socket() as one, socket.socket() as other, suppress(OSError):
            one.bind(("127.0.0.1", port))
            other.bind(("127.0.0.1", 10_000 + port))
            return port, 10_000 + port
    raise AssertionError("no port is free")


def fetched(url: str, **options: Any) -> tuple[int, bytes]:
    """The status and the body of an answer; 0 where there is none."""
    try:
        request = urllib.request.Request(url, **options.pop("request", {}))  # noqa: S310 - loopback
        with urllib.request.urlopen(request, **options) as answer:  # noqa: S310 - loopback
            return answer.status, answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()
    except (URLError, OSError):
        return 0, b""


class Unit:
    """One instance of `secretsvc@.service`, by what its file says."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.port, self.operations = ports()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it with the environment of now, and waits until it is ready."""
        unit = (self.machine.units_folder / "secretsvc@.service").read_text("utf-8")
        text = self.machine.placed(unit.replace("%i", str(self.port)))
        (command,) = re.findall(r"(?m)^ExecStart=(.*)$", text)
        (settings,) = re.findall(r"(?m)^EnvironmentFile=(.*)$", text)
        given = dict(line.split("=", 1) for line in Path(settings).read_text("utf-8").splitlines())
        given |= dict(re.findall(r"(?m)^Environment=(OPERATIONS_LISTEN)=(.*)$", text))
        with (self.machine.folder / f"journal-{self.port}").open("ab") as journal:
            self._process = subprocess.Popen(
                command.split(),
                cwd=self.machine.data,
                env={"PATH": os.environ["PATH"], **given},
                stdout=journal,
                stderr=journal,
            )
        url = f"http://127.0.0.1:{self.operations}/ready"
        assert eventually(lambda: fetched(url)[0] == 200, pause=0.1), fetched(url)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            assert process.wait(STOP_SECONDS) == 0

    def restart(self) -> None:
        self.stop()
        self.start()


class Machine:
    """Its paths are folders of one; `environment` is what `/etc/secretsvc/environment` holds."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.data, self.units_folder = folder, folder / "data", folder / "system"
        for made in (self.data, self.units_folder):
            made.mkdir()
        self.environment = environment
        self.units: list[Unit] = []

    def placed(self, text: str) -> str:
        """What a page or a file says, with this machine's paths."""
        python = f"{Path(sys.base_prefix, 'bin')}/python3.{sys.version_info.minor} -m venv"
        for shown, path in (
            ("python3 -m venv", python),
            ("/opt/secretsvc", self.folder / "opt"),
            ("/etc/secretsvc", self.folder / "etc"),
            ("/etc/systemd/system", self.units_folder),
            ("/var/lib/secretsvc", self.data),
            ("-o secretsvc -g secretsvc", f"-o {os.getuid()} -g {os.getgid()}"),
        ):
            text = text.replace(shown, str(path))
        return text

    def paste(self, script: str, **settings: str) -> str:
        """What a block says in the service's folder, with its environment and the commands of the wheel."""
        given = {**self.environment, **settings}
        return pasted(self.placed(script), self.data, given, self.folder / "opt" / "bin")

    def block(self, name: str, heading: str, number: int = 0) -> str:
        return blocks(page(name), heading)[number]

    def make_user(self) -> None:
        """The service's user, before `init`: the one that is there."""
        for name in PLAYED:
            script = self.folder / "opt" / "bin" / name
            script.write_text(f'#!/bin/sh\necho "{name} $*"\n')
            script.chmod(0o755)
        made = self.paste(self.block("installing.md", "The wheel and its commands", 1))
        assert made.startswith("useradd --system ")

    def serve_alone(self) -> None:
        """The page's command in the foreground, until it has answered; it ends as it is told to."""
        port, _ = ports()
        health = f"http://127.0.0.1:{port}/api/v1/health"
        command = self.block("installing.md", "The wheel and its commands", 4).strip()
        asked = f"python -c 'from urllib.request import urlopen; urlopen(\"{health}\")' 2> /dev/null"
        until = f"until {asked}; do sleep 0.2; kill -0 $!; done"
        self.paste(f"{command} listen=127.0.0.1:{port} &\n{until}\nkill $!\nwait $!")

    @contextmanager
    def serving(self, token: str, **settings: str) -> Iterator[Front]:
        """The page's command in the foreground with other settings, and a client of it."""
        port, _ = ports()
        command = self.placed(self.block("installing.md", "The wheel and its commands", 4)).split()
        given = {
            **self.environment,
            **settings,
            "PATH": f"{self.folder / 'opt' / 'bin'}:{os.environ['PATH']}",
        }
        with (self.folder / "foreground").open("ab") as said:
            process = subprocess.Popen(
                [*command, f"listen=127.0.0.1:{port}"], cwd=self.data, env=given, stdout=said, stderr=said
            )
        try:
            front = Front(f"http://127.0.0.1:{port}", token)
            assert eventually(lambda: front.ask("GET", "/health")[0] == 200, pause=0.1)
            yield front
        finally:
            process.terminate()
            assert process.wait(STOP_SECONDS) == 0

    def put_in_place(self) -> None:
        """What the page has root do after `check`, up to the units that it enables."""
        (self.data / "environment").write_text(self._settings())
        reload, enable = self.paste(self.block("installing.md", "Under a service manager")).splitlines()
        assert (self.data / "production.ini").samefile(self.folder / "etc" / "production.ini")
        assert reload == "systemctl daemon-reload"
        for _ in re.findall(r" secretsvc@\d+", enable.removeprefix("systemctl enable --now")):
            self.units.append(Unit(self))
            self.units[-1].start()

    def restart(self, **settings: str) -> None:
        """One after the other, with another environment."""
        self.environment |= settings
        (self.folder / "etc" / "environment").write_text(self._settings())
        for unit in self.units:
            unit.restart()

    def stop(self) -> None:
        for unit in self.units:
            unit.stop()

    def _settings(self) -> str:
        return "".join(f"{name}={value}\n" for name, value in self.environment.items())


def make_roles(server: PostgresqlServer, *, for_a_dump: bool = False) -> None:
    """The page's statements; the last two are given in the new database, or come with what is restored."""
    (block,) = blocks(page("installing.md"), "The roles on PostgreSQL", "sql")
    statements = [*filter(str.strip, block.split(";"))]
    for number, statement in enumerate(statements[:4] if for_a_dump else statements):
        server.execute(statement, "secretsvc" if number >= 4 else "postgres")


class Front:
    """A client of the service; by HTTPS where the certificate of a balancer is given."""

    def __init__(self, origin: str, token: str, certificate: Path | None = None) -> None:
        self.base, self.token = f"{origin}/api/v1", token
        self.context = ssl.create_default_context(cafile=certificate)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {HEADER: self.token, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = {"method": method, "headers": headers, "data": data}
        status, told = fetched(self.base + path, request=request, context=self.context, timeout=60)
        return status, json.loads(told) if told[:1] == b"{" else told
