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

from secretsvc.authentication.rate_limit import PAUSE_SECONDS

#: No request may be slower by more.
BOUND = 0.25
#: How often Redis is taken away: it is the first requests after it that wait.
ROUNDS = 6
#: For how long: until the process has asked it once more; and it takes as long until Redis is asked again.
SECONDS = PAUSE_SECONDS + 1
ASKERS = 4
#: Of a round, fewer pairs prove nothing.
ENOUGH = 20
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


def slower_by_rank(pairs: list[Pair]) -> float:
    """By how much the n-th slowest of one side is slower than the n-th slowest of the other, at most.

    The medians and the slowest are among them.
    """
    well, ill = (sorted(pair[side] for pair in pairs) for side in (WELL, ILL))
    return max(after - before for before, after in zip(well, ill, strict=True))


def slower_in_pair(rounds: list[list[Pair]]) -> float:
    """By how much one of a pair is slower than its twin, at most, in the best of the rounds.

    What Redis does to a request it does in each round; what else delays one of a pair, not in each.
    """
    return min(max(after - before for before, after in pairs) for pairs in rounds)


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
        rounds: list[list[Pair]] = []
        with scene.cause():
            for _ in range(ROUNDS):
                with Pairs(scene.deployment) as sent:
                    time.sleep(1)
                    with self._away(self._ill):
                        scene.wait()
                rounds.append(sent.found)
                scene.problems += sent.problems
                # The load goes on, and the process finds Redis again.
                time.sleep(SECONDS)
        _judge(scene, rounds)


def _judge(scene: Scene, rounds: list[list[Pair]]) -> None:
    told = scene.deployment.processes[ILL].output.decode()
    if (told.count(AWAY), told.count(BACK)) != (ROUNDS, ROUNDS):
        scene.problems.append(f"Redis was away {told.count(AWAY)} and back {told.count(BACK)} times")
    if min(map(len, rounds)) < ENOUGH:
        scene.problems.append(f"only {[len(one) for one in rounds]} pairs were sent")
        return
    pairs = [pair for one in rounds for pair in one]
    by_rank, in_pair = slower_by_rank(pairs), slower_in_pair(rounds)
    if max(by_rank, in_pair) > BOUND:
        scene.problems.append("requests were slower without Redis")
    well, ill = ([1000 * pair[side] for pair in pairs] for side in (WELL, ILL))
    scene.notes.append(
        f"{len(pairs)} pairs, Redis well and not: medians {median(well):.0f} and {median(ill):.0f} ms,"
        f" slowest {max(well):.0f} and {max(ill):.0f} ms; slower by {1000 * by_rank:.0f} ms at most by rank,"
        f" {1000 * in_pair:.0f} ms than its twin"
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
        seconds=SECONDS,
        statuses=EXPECTED,
        met=frozenset({200}),
        needs=_redis_is_there,
    )
    for name, injected, row in (
        ("Redis frozen", "SIGSTOP to it, then SIGCONT", _Beside(_frozen)),
        ("Redis stopped", "it ends, and is started again", _Beside(_gone)),
    )
)
