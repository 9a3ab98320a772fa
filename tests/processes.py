"""The service as an operator runs it: `pserve` over a copy of production.ini, in processes of their own.

Everything listens on 127.0.0.1, and only processes that were started here are ever ended.
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from service import ADMIN, API, HEADER, MASTER_KEY
from tokens import TestIssuer

import secretsvc

# The package under test, which is not always the one that is installed.
ROOT = Path(secretsvc.__file__).parent.parent
# No rules: what a busy machine may take.
START_SECONDS = 180.0
STOP_SECONDS = 60.0
REQUEST_SECONDS = 60.0
# Below what the kernel gives to outgoing connections, so that a restarted process finds its port free.
# Each worker has a range of its own: two that look at the same moment would both find the same port free.
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 5
_FIRST = 20_000 + 2_400 * WORKER
# As systemd does it: the socket is its third file, the first that it is handed.
_HANDED = 'exec 3<&{}; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'
_ports = itertools.cycle(
    [*range(_FIRST + os.getpid() % 2_000, _FIRST + 2_400), *range(_FIRST, _FIRST + 2_000)]
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back over the wire; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class HttpClient:
    """One persistent connection of one caller to one process; for one thread.

    Raises `OSError` or `http.client.HTTPException` where no answer came, and connects anew afterwards.
    """

    def __init__(self, port: int, token: str | None = None, prefix: str = API) -> None:
        self.token, self.prefix = token, prefix
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)

    def request(
        self,
        method: str,
        path: str,
        json_body: Any = None,
        *,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """A request below the prefix, which is the API's unless another was named."""
        sent = {HEADER: self.token} if self.token is not None else {}
        if json_body is not None:
            body = json.dumps(json_body).encode()
            sent["Content-Type"] = "application/json"
        try:
            self._connection.request(method, self.prefix + path, body, {**sent, **(headers or {})})
            response = self._connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, response.read())
        except BaseException:
            self._connection.close()
            raise

    def expect(self, status: int, method: str, path: str, json_body: Any = None, **options: Any) -> Answer:
        """As `request`; any other status is a failure of the test."""
        answer = self.request(method, path, json_body, **options)
        assert answer.status == status, (answer.status, method, path, answer.body[:500])
        return answer

    def connect(self) -> None:
        """Connects if it is not connected: whoever fails here has sent nothing."""
        if self._connection.sock is None:
            self._connection.connect()

    def close(self) -> None:
        self._connection.close()


class ServiceProcess:
    """One `pserve`, with its own ini file and its output on file; it can be ended and started again."""

    def __init__(
        self,
        directory: Path,
        settings: dict[str, str],
        *,
        debug: bool = False,
        ini: str = "",
        threads: int | None = None,
        listener: socket.socket | None = None,
    ) -> None:
        """`settings` are environment variables; `debug` logs everything; `ini` is added to `[app:main]`.

        `threads` are those that the sample ini has, unless they are given. A `listener` is handed over as by
        systemd, and may be shared: that this process has started is then seen by its operations.
        """
        directory.mkdir(parents=True, exist_ok=True)
        self.directory, self.settings, self._listener = directory, settings, listener
        self.port = self._seen_at = free_port()
        if listener is not None:
            self.port = listener.getsockname()[1]
            settings["OPERATIONS_LISTEN"] = f"127.0.0.1:{self._seen_at}"
        self.ini = directory / "production.ini"
        self.ini.write_text(_ini(ini, debug, threads))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def output(self) -> bytes:
        """What it and those before it in this place wrote to stdout and stderr."""
        return b"".join(path.read_bytes() for path in sorted(self.directory.glob("std*")))

    def start(self) -> float:
        """Starts it and waits for it to answer; the seconds that this took."""
        assert self._process is None
        began = time.monotonic()
        pserve = [sys.executable, "-m", "pyramid.scripts.pserve", self.ini, f"listen=127.0.0.1:{self.port}"]
        handed = [] if self._listener is None else [self._listener.fileno()]
        before = ["bash", "-c", _HANDED.format(*handed), "bash"] if handed else []
        with self._stream("stdout") as out, self._stream("stderr") as err:
            self._process = subprocess.Popen(
                [*before, *pserve],
                cwd=self.directory,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                pass_fds=handed,
            )
        try:
            self._wait_until_it_answers(began + START_SECONDS)
        except BaseException:
            self.kill()
            raise
        return time.monotonic() - began

    def kill(self) -> None:
        """`kill -9`: nothing is tidied up."""
        self._end(signal.SIGKILL)

    def stop(self, seconds: float = STOP_SECONDS) -> int | None:
        """Asks it to end, as a service manager does, which waits for so long; its exit code."""
        return self._end(signal.SIGTERM, seconds)

    def client(self, token: str | None = None) -> HttpClient:
        return HttpClient(self.port, token)

    def _stream(self, name: str) -> IO[bytes]:
        return (self.directory / name).open("ab")

    def _environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
        return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **self.settings}

    def _wait_until_it_answers(self, deadline: float) -> None:
        # Any answer will do: with a bad master key the process serves, and says so with a 500.
        while True:
            assert self._process is not None
            code = self._process.poll()
            assert code is None, f"pserve ended with {code}:\n{self.output.decode(errors='replace')}"
            assert time.monotonic() < deadline, f"no answer:\n{self.output.decode(errors='replace')}"
            client = HttpClient(self._seen_at)
            try:
                client.request("GET", "/health")
                return
            except OSError:
                time.sleep(0.02)
            finally:
                client.close()

    def _end(self, how: signal.Signals, seconds: float = STOP_SECONDS) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        if process.poll() is None:
            process.send_signal(how)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return process.returncode


class Deployment:
    """Processes over one database and one issuer; a context manager that ends all of them."""

    def __init__(self, directory: Path, url: str, issuer: TestIssuer, **settings: str) -> None:
        self.directory, self.url, self.issuer = directory, url, issuer
        self.settings = {
            "DATABASE_URL": url,
            "MASTER_KEY": MASTER_KEY,
            "BOOTSTRAP_ADMINS": ADMIN,
            "RATE_LIMIT": "",
            "WRITE_LIMIT": "",
            "DRAIN_SECONDS": "1",
            **issuer.environment(),
            **settings,
        }
        self.processes: list[ServiceProcess] = []

    def __enter__(self) -> Deployment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Each of them drains for a second and more: all at the same time.
        with ThreadPoolExecutor() as pool:
            list(pool.map(ServiceProcess.stop, self.processes))

    def start(self, count: int = 2, **options: Any) -> Deployment:
        """Starts further processes."""
        for _ in range(count):
            self.add(**options)
        return self

    def add(self, settings: dict[str, str] | None = None, **options: Any) -> ServiceProcess:
        """Starts one further process, with settings of its own."""
        directory = self.directory / f"process-{len(self.processes)}"
        process = ServiceProcess(directory, {**self.settings, **(settings or {})}, **options)
        self.processes.append(process)
        process.start()
        return process

    def client(self, index: int = 0, token: str | None = None) -> HttpClient:
        """A client of one process; the administrator's unless a token is given."""
        return self.processes[index].client(token or self.issuer.sign(ADMIN))


def _ini(more: str, debug: bool, threads: int | None) -> str:
    text = (ROOT / "production.ini").read_text()
    if threads is not None:
        text = re.sub(r"(?m)^threads = .*", f"threads = {threads}", text)
    text = text.replace("use = egg:secretsvc\n", f"use = egg:secretsvc\n{more}\n")
    if debug:
        text = text.replace("level = WARNING", "level = DEBUG").replace("level = INFO", "level = DEBUG")
        # SQLAlchemy keeps its loggers quiet unless they are named.
        text = text.replace("keys = root, secretsvc", "keys = root, secretsvc, sqlalchemy")
        text += "\n[logger_sqlalchemy]\nlevel = DEBUG\nhandlers =\nqualname = sqlalchemy\n"
    return text


def free_port() -> int:
    """A port on which nobody listens."""
    for port in itertools.islice(_ports, 1_000):
        with socket.socket() as candidate:
            try:
                candidate.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
