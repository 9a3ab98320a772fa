"""Redis, which counts for the rate limit, frozen or gone: beside a process whose own Redis is well.

Each request is sent to both processes, one after the other, the first of them by turns. What else the machine
does makes both slower; only Redis makes one slower than the other.
"""

from __future__ import annotations

import importlib.util
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from statistics import median

from faults.fault import EXPECTED, Fault, Scene
from processes import Deployment, HttpClient, free_port

from secretsvc.authentication.counting import PAUSE_SECONDS

#: No request may be slower by more.
BOUND = 0.25
#: How often Redis is taken away: it is the first requests after it that wait.
ROUNDS = 3
ASKERS = 4
PAUSE = 0.02
ENVIRONMENT = "/projects/pairs/environments/prod"
AWAY, BACK = (f"the rate limit's storage is {state}" for state in ("away", "back"))
#: The process whose Redis is well, and the other.
WELL, ILL = 0, 1


class Redis:
    """A server of a row's own."""

    def __init__(self) -> None:
        self.port = free_port()
        self.start()

    def start(self) -> None:
        """Starts it, also after it has ended."""
        command = ["redis-server", "--port", str(self.port), "--save", "", "--bind", "127.0.0.1"]
        self._server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        time.sleep(0.5)

    def send(self, number: signal.Signals) -> None:
        self._server.send_signal(number)

    def end(self) -> None:
        """Ends it, in whatever state it is."""
        self._server.kill()
        self._server.wait()

    @property
    def settings(self) -> dict[str, str]:
        """Of a process that counts there."""
        return {"RATE_LIMIT": "1000000/minute", "RATE_LIMIT_STORAGE": f"redis://127.0.0.1:{self.port}/0"}


#: What one request took in the process whose Redis is well, and in the other.
Pair = tuple[float, float]


class Pairs:
    """Sends the same requests to both processes, within a `with`; `found` is what they took."""

    def __init__(self, deployment: Deployment) -> None:
        self.found: list[Pair] = []
        self.problems: list[str] = []
        self._deployment = deployment
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(ASKERS)]

    def __enter__(self) -> Pairs:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, number: int) -> None:
        clients = [self._deployment.client(index) for index in (WELL, ILL)]
        turn = number
        while not self._over.is_set():
            turn += 1
            request = _REQUESTS[turn % len(_REQUESTS)]
            # By turns also for each kind of request, of which there is an odd number.
            order = (WELL, ILL) if turn % 2 else (ILL, WELL)
            try:
                took = {index: _seconds(clients[index], request) for index in order}
            except Exception as error:
                self.problems.append(f"a request of a pair: {error!r}")
                return
            self.found.append((took[WELL], took[ILL]))
            time.sleep(PAUSE)
        for client in clients:
            client.close()


def _seconds(client: HttpClient, request: Callable[[HttpClient], object]) -> float:
    began = time.monotonic()
    request(client)
    return time.monotonic() - began


#: No batch: those are what the history is made of.
_BODY = {"format": "env", "content": "A=1", "mode": "merge"}
_REQUESTS: tuple[Callable[[HttpClient], object], ...] = (
    lambda client: client.expect(200, "GET", f"{ENVIRONMENT}/secrets"),
    lambda client: client.expect(200, "GET", f"{ENVIRONMENT}/secrets/A"),
    lambda client: client.expect(200, "POST", f"{ENVIRONMENT}/secrets:import", _BODY),
)


def slower_by(pairs: list[Pair]) -> float:
    """By how much the n-th slowest of one side is slower than the n-th slowest of the other, at most.

    The medians and the slowest are among them. Twins of one pair are compared by nobody: what else delays one
    of them would be laid to Redis.
    """
    well, ill = (sorted(pair[side] for pair in pairs) for side in (WELL, ILL))
    return max(after - before for before, after in zip(well, ill, strict=True))


def _arrange(scene: Scene) -> None:
    client = scene.deployment.client()
    client.expect(201, "POST", "/projects", {"slug": "pairs", "name": "Pairs"})
    client.expect(201, "POST", "/projects/pairs/environments", {"slug": "prod", "name": "Prod"})
    _REQUESTS[-1](client)
    client.close()


@contextmanager
def _frozen(redis: Redis) -> Iterator[None]:
    redis.send(signal.SIGSTOP)
    yield
    redis.send(signal.SIGCONT)


@contextmanager
def _gone(redis: Redis) -> Iterator[None]:
    redis.send(signal.SIGTERM)
    yield
    redis.end()
    redis.start()


class _Beside:
    """A row: `away` takes Redis from the second of two processes, and gives it back."""

    def __init__(self, away: Callable[[Redis], AbstractContextManager[None]]) -> None:
        self._away = away

    def prepare(self, scene: Scene) -> None:
        well, self._ill = Redis(), Redis()
        scene.stack.callback(well.end)
        scene.stack.callback(self._ill.end)
        scene.deployment.add({**well.settings, "OPERATIONS_LISTEN": f"127.0.0.1:{free_port()}"})
        scene.deployment.settings |= self._ill.settings

    def inject(self, scene: Scene) -> None:
        _arrange(scene)
        pairs: list[Pair] = []
        with scene.cause():
            for _ in range(ROUNDS):
                with Pairs(scene.deployment) as sent:
                    time.sleep(1)
                    with self._away(self._ill):
                        scene.wait()
                pairs += sent.found
                scene.problems += sent.problems
                # The load goes on, and the process finds Redis again.
                time.sleep(PAUSE_SECONDS + 1)
        _judge(scene, pairs)


def _judge(scene: Scene, pairs: list[Pair]) -> None:
    told = scene.deployment.processes[ILL].output.decode()
    if (told.count(AWAY), told.count(BACK)) != (ROUNDS, ROUNDS):
        scene.problems.append(f"Redis was away {told.count(AWAY)} and back {told.count(BACK)} times")
    if len(pairs) < 100:
        scene.problems.append(f"only {len(pairs)} pairs were sent")
        return
    slower = slower_by(pairs)
    if slower > BOUND:
        scene.problems.append(f"requests were slower by {slower:.2f} s")
    well, ill = ([1000 * pair[side] for pair in pairs] for side in (WELL, ILL))
    scene.notes.append(
        f"{len(pairs)} pairs, Redis well and not: medians {median(well):.0f} and {median(ill):.0f} ms,"
        f" slowest {max(well):.0f} and {max(ill):.0f} ms, by rank {1000 * slower:.0f} ms apart at most"
    )


def _redis_is_there() -> str:
    if shutil.which("redis-server") is None:
        return "redis-server is not on this machine"
    return "" if importlib.util.find_spec("redis") else "the package redis is not installed"


COUNTING = tuple(
    Fault(
        name,
        f"{injected}, {ROUNDS} times, beside a process whose Redis is well",
        row.inject,
        prepare=row.prepare,
        statuses=EXPECTED,
        met=frozenset({200}),
        needs=_redis_is_there,
    )
    for name, injected, row in (
        ("Redis frozen", "SIGSTOP to it, then SIGCONT", _Beside(_frozen)),
        ("Redis stopped", "it ends, and is started again", _Beside(_gone)),
    )
)
