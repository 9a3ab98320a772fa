"""One row of the fault table: a fault is injected under load, and the history that clients saw is judged."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from databases import SqliteDatabases
from history import OK, UNKNOWN, History, violations
from jwks_server import KeyServer
from load.workload import ENVIRONMENT, KEYS, Workload, arrange
from postgresql_proxy import Relay, relayed
from postgresql_server import PostgresqlServer, own_server
from processes import Deployment, free_port
from tokens import TestIssuer

from secretsvc.db.error_mapping import UNKNOWN_OUTCOME

WRITERS = READERS = 4
#: Between two requests of a client: the machine is to have time for what is injected.
PAUSE = 0.02
#: How long the load goes on before and after.
BEFORE, AFTER = 1.0, 3.0
#: So long the samples in `deploy/` wait for `/ready`.
PROBE_SECONDS = 3
#: What is always right; 500 is right where an answer to COMMIT was lost, and says so.
EXPECTED = frozenset({200, 409, 412})
AWAY = EXPECTED | {500, 503}
#: A process was ended.
CUT = frozenset({0})


@dataclass
class Scene:
    """What a fault has at hand, and what it notes."""

    deployment: Deployment
    load: Workload
    #: For how many seconds the cause lasts, unless the fault ends by itself.
    seconds: float
    #: What is ended with the scene.
    stack: ExitStack
    server: PostgresqlServer | None = None
    relay: Relay | None = None
    standby: PostgresqlServer | None = None
    #: The small file system of a fault that fills one.
    folder: Path = Path()
    began: float = 0.0
    ended: float = 0.0
    #: What was measured beside what every row has.
    notes: list[str] = field(default_factory=list)
    #: What is wrong beside the history.
    problems: list[str] = field(default_factory=list)
    #: The keys of writes that were answered once more.
    replayed: list[str] = field(default_factory=list)
    _source: KeyServer | None = None

    @property
    def source(self) -> KeyServer:
        """Where the issuer's keys are, if `prepare` has put it there."""
        assert self._source is not None
        return self._source

    @source.setter
    def source(self, source: KeyServer) -> None:
        self._source = source

    @property
    def postgresql(self) -> PostgresqlServer:
        assert self.server is not None
        return self.server

    @property
    def wire(self) -> Relay:
        assert self.relay is not None
        return self.relay

    @contextmanager
    def cause(self) -> Iterator[None]:
        """The time during which the cause is there."""
        self.began = time.monotonic()
        yield
        self.ended = time.monotonic()

    def wait(self) -> None:
        time.sleep(self.seconds)

    def read_names(self) -> None:
        """What shows no value is answered though nothing can be written."""
        client = self.deployment.client()
        secrets = f"{ENVIRONMENT}/secrets"
        for path in ("/whoami", "/projects", secrets, f"{secrets}/{KEYS[0]}/versions"):
            status = client.request("GET", path).status
            if status != 200:
                self.problems.append(f"{path} was {status}")
        client.close()

    def watch_ready(self, reason: str = "") -> None:
        """While the cause lasts, `/ready` must be 503 and name that reason; 200 where there is none."""
        ends = self.began + self.seconds
        right = 503 if reason else 200
        asked = 0
        while time.monotonic() < ends:
            status, told = readiness(self.deployment)
            asked += 1
            if status != right or reason not in told:
                self.problems.append(f"/ready was {status} {told}")
            time.sleep(0.5)
        if not asked:
            self.problems.append("/ready was never asked")


@dataclass(frozen=True)
class Fault:
    """A row. Bounds are in seconds; statuses are those that may be seen."""

    name: str
    #: What was done, for the table.
    injected: str
    inject: Callable[[Scene], None]
    engine: str = "postgresql"
    seconds: float = 10.0
    statuses: frozenset[int] = AWAY
    #: Statuses of which there must be some: a fault that nobody met proves nothing.
    met: frozenset[int] = frozenset({503})
    slowest: float = 30.0
    recovery: float = 10.0
    settings: dict[str, str] = field(default_factory=dict, hash=False)
    is_relayed: bool = False
    #: The invariant that must be seen to be broken: the proof that the checker would see it.
    breaks: str = ""
    #: What more the workload and its deployment need; called before the processes start.
    prepare: Callable[[Scene], None] | None = None
    ini: str = ""
    #: The size of a file system of its own for the database; 0 for the machine's.
    bytes: int = 0
    #: Whether every write must have been answered in the end.
    all_answered: bool = False
    #: Why this machine cannot inject it; empty where it can.
    needs: Callable[[], str] = lambda: ""


@dataclass
class Outcome:
    """What came of it."""

    fault: Fault
    statuses: Counter[int]
    slowest: float
    recovery: float
    acknowledged: int
    lost: int
    landed: int
    notes: list[str]
    problems: list[str]

    @property
    def row(self) -> str:
        """Of the table."""
        seen = ", ".join(f"{count} x {status or 'cut'}" for status, count in sorted(self.statuses.items()))
        cells = (
            self.fault.name,
            self.fault.injected,
            seen,
            f"{self.slowest:.1f} s",
            f"{self.recovery:.2f} s",
            f"{self.acknowledged} / {self.lost} / {self.landed}",
            "; ".join([*self.notes, *(self.problems[:3] or ["holds"])]),
        )
        return f"| {' | '.join(cells)} |"


HEAD = """\
| Fault | Injected | Answers | Slowest | Normal after | Acknowledged / lost / landed unacknowledged | |
| --- | --- | --- | --- | --- | --- | --- |"""


def run(
    fault: Fault, issuer: TestIssuer, directory: Path, seconds: float | None = None, slack: float = 1.0
) -> Outcome:
    """Injects it under load, for `seconds` instead of its own.

    `slack` widens the bound of the way back, for a machine that has other things to do.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        scene = _scene(fault, issuer, directory, seconds or fault.seconds, stack)
        arrange(scene.deployment)
        with scene.load:
            time.sleep(BEFORE)
            fault.inject(scene)
            time.sleep(AFTER)
        return _judged(fault, scene, slack)


def _scene(fault: Fault, issuer: TestIssuer, directory: Path, seconds: float, stack: ExitStack) -> Scene:
    server, relay = None, None
    folder = stack.enter_context(file_system(directory / "small", fault.bytes)) if fault.bytes else None
    if fault.engine == "postgresql":
        server = stack.enter_context(own_server(folder))
        url = server.create_database()
    else:
        url = SqliteDatabases(folder or directory).create()
    reached = url
    if fault.is_relayed:
        relay = stack.enter_context(relayed(url))
        reached = relay.url
    watched = {"OPERATIONS_LISTEN": f"127.0.0.1:{free_port()}"}
    deployment = Deployment(directory, reached, issuer, **{**watched, **fault.settings})
    stack.enter_context(deployment)
    load = Workload(deployment, PAUSE, WRITERS, READERS)
    scene = Scene(deployment, load, seconds, stack, server, relay, folder=folder or directory)
    if fault.prepare is not None:
        fault.prepare(scene)
    deployment.start(1, ini=fault.ini)
    return scene


def _judged(fault: Fault, scene: Scene, slack: float) -> Outcome:
    history = scene.load.history()
    wrong = violations(history)
    answers = scene.load.answers
    statuses = Counter(status for status, _, _ in answers)
    late = [ended for status, _, ended in answers if status not in EXPECTED and ended > scene.ended]
    recovery = max(late, default=scene.ended) - scene.ended
    slowest = max((ended - began for _, began, ended in answers), default=0.0)
    lost = [one for one in wrong if one.startswith("I1")]
    problems = [*scene.problems, *(wrong if not fault.breaks else [])]
    if fault.breaks and not any(one.startswith(fault.breaks) for one in wrong):
        problems.append(f"{fault.breaks} was not broken, though it must be")
    if {*statuses} - fault.statuses:
        problems.append(f"answers {sorted({*statuses} - fault.statuses)}")
    if not all(UNKNOWN_OUTCOME in hint for hint in scene.load.hints):
        problems.append("a 500 that is not for a COMMIT without an answer")
    if fault.met and not fault.met & {*statuses}:
        problems.append("nobody met it")
    if fault.all_answered and any(one.outcome == UNKNOWN for one in history.writes):
        problems.append("a write was never answered")
    if slowest > fault.slowest:
        problems.append(f"a request took {slowest:.1f} s")
    if recovery > fault.recovery * slack:
        problems.append(f"normal only after {recovery:.1f} s")
    acknowledged = sum(one.outcome == OK for one in history.writes)
    return Outcome(
        fault, statuses, slowest, recovery, acknowledged, len(lost), _landed(history), scene.notes, problems
    )


@contextmanager
def file_system(folder: Path, size: int) -> Iterator[Path]:
    """A small one in memory, which takes root."""
    folder.mkdir()
    options = f"size={size},mode=755"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "secretsvc-faults", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _landed(history: History) -> int:
    recorded = {one.request_id for one in history.audited}
    return sum(one.outcome == UNKNOWN and one.request_id in recorded for one in history.writes)


def readiness(deployment: Deployment) -> tuple[int, str]:
    """The status of `/ready` of the first process, and all that it says; 0 where a probe has given it up."""
    address = deployment.settings["OPERATIONS_LISTEN"]
    try:
        with urlopen(f"http://{address}/ready", timeout=PROBE_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except TimeoutError:
        return 0, "nothing in time"
