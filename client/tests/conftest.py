"""Fixtures: the client in this process, in a folder and a home of its own."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from secretsvc_client.cli import main


@dataclass
class Done:
    """What a command did; `started` is the program, its arguments and environment, where one was started."""

    code: int
    out: str
    err: str
    started: tuple[str, list[str], dict[bytes, bytes]] | None = None
    raw: bytes = field(default=b"", repr=False)

    @property
    def reason(self) -> int | None:
        """The code of contract 9.1 that the last line of stderr names after a failure of `run`."""
        last = self.err.rstrip("\n").rpartition("\n")[2]
        found = re.match(r"secretsvc: exit (\d): ", last)
        return int(found[1]) if found and self.code in (125, 126, 127) else None


#: Variables of the machine that runs the tests.
OUTSIDE = ("SECRETSVC_", "ACTIONS_", "XDG_", "SSL_", "NO_COLOR", "HTTPS_PROXY", "NO_PROXY")
_SIGNALS = {"SIGPIPE": 0, "SIGXFSZ": 0, "SIG_DFL": 0, "signal": lambda *_: None}


class _Started(BaseException):
    """What stands for the command that replaces the client."""


Ask = Callable[..., Done]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home; nothing of whoever runs the tests reaches the client."""
    for name in list(os.environ):
        if name.upper().startswith(OUTSIDE):
            monkeypatch.delenv(name)
    made = tmp_path / "home"
    (made / "work").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.chdir(made / "work")
    return made


@pytest.fixture
def ask(home: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> Ask:
    """Runs the client with these arguments; keywords are variables of its environment, `stdin` its input."""

    def run(*arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        started: list[Any] = []

        def execve(*given: Any) -> None:
            started.append(given)
            raise _Started

        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            patch.setattr(os, "execve", execve)
            # What `run` gives back to the command, this process still needs.
            patch.setattr("secretsvc_client.commands.run.signal", SimpleNamespace(**_SIGNALS))
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
            try:
                code = main(arguments)
            except _Started:
                code = 0
        out, err = capfdbinary.readouterr()
        return Done(code, out.decode(), err.decode(), started[0] if started else None, out)

    return run


@pytest.fixture
def at() -> Callable[[Any], dict[str, str]]:
    """The variables that name the environment shop/prod of a server."""

    def variables(server: Any, **more: str) -> dict[str, str]:
        url = server if isinstance(server, str) else server.url
        return {
            "SECRETSVC_URL": url,
            "SECRETSVC_PROJECT": "shop",
            "SECRETSVC_ENVIRONMENT": "prod",
            "SECRETSVC_TOKEN": "the-token",
            **more,
        }

    return variables


@pytest.fixture(scope="session")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An access proxy's signing keys."""
    from tokens import TestIssuer

    return TestIssuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture(scope="session")
def databases() -> Iterator[Any]:
    from databases import SqliteDatabases, memory_folder

    with memory_folder() as folder:
        yield SqliteDatabases(folder)


@pytest.fixture
def service(databases: Any, issuer: Any, home: Path) -> Iterator[Any]:
    """The real service, with the project `shop` and its environments `prod` and `dev`."""
    from service import Service, arrange

    url = databases.lend()
    made = Service(url, issuer)
    arrange(made, "shop", "prod", "dev")
    yield made
    made.close()
    databases.take_back(url)


@pytest.fixture
def real(service: Any, issuer: Any, at: Any) -> Iterator[Any]:
    """Variables for the real service over HTTP, as the administrator or as somebody else."""
    from server import served
    from service import ADMIN

    with served(service.app) as port:

        def variables(who: str = ADMIN, **more: str) -> dict[str, str]:
            return at(f"http://127.0.0.1:{port}", **{"SECRETSVC_TOKEN": issuer.sign(who), **more})

        yield variables


@pytest.fixture
def machine(service: Any, issuer: Any, tmp_path: Path) -> Iterator[Any]:
    """A machine with the client, and the real service with the values of the recipes in shop/prod."""
    from recipes import VALUES, Machine
    from server import served
    from service import ADMIN

    service.user().post("/projects/shop/environments/prod/secrets:batch", {"mode": "merge", "set": VALUES})
    with served(service.app) as port:
        yield Machine(tmp_path, f"http://127.0.0.1:{port}", issuer.sign(ADMIN))
