"""The operations over the wire: the service and the floor, each behind waitress in a process of its own.

So the floor has in it what its goals count: the bare server. One client asks both in turns, over a
connection that stays open; a ratio is the median of the rounds' ratios.
"""

from __future__ import annotations

import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bench import compared, databases, in_turn, options_of
from operations import ADA, OPERATIONS, Operation, report
from processes import START_SECONDS, free_port
from wire import Client, deployment_over, filled

FLOOR = Path(__file__).parent / "floor.py"


class Asked:
    """One request of one client, to be sent any number of times."""

    def __init__(self, client: Client, operation: Operation, path: str) -> None:
        self.client, self.status = client, operation.status
        self.request = client.request(operation.method, path, operation.body, operation.tag)

    def send(self) -> None:
        if self.client.send(self.request) != self.status:
            raise SystemExit("a request failed")

    def timed(self) -> float:
        """The seconds that it took."""
        began = time.perf_counter()
        self.send()
        return time.perf_counter() - began


@contextmanager
def floor_process(engine: str, made: Any, token: str) -> Iterator[int]:
    """The port of the floor, over a database like the service's."""
    port = free_port()
    arguments = [engine, filled(made), str(port), token, ADA]
    command = [sys.executable, "-W", "ignore", FLOOR, *arguments]
    process = subprocess.Popen(command)  # noqa: S603 - our own script
    try:
        wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait()


def wait_for(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            Client(port, "").close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def measure(engine: str, options: Namespace) -> Iterator[tuple[Operation, float, float, float]]:
    """Each operation with the medians of the floor and of the service, and their ratio."""
    with databases(engine) as made, deployment_over(made, 1) as deployed:
        token = deployed.issuer.sign(ADA, exp=int(time.time()) + 3600)
        with (
            floor_process(engine, made, token) as port,
            closing(Client(port, token)) as base,
            closing(Client(deployed.processes[0].port, token)) as ours,
        ):
            # What the service wrote there, the floor's key does not open.
            Asked(base, OPERATIONS[-1], OPERATIONS[-1].floor).send()
            # After a 304 the floor's bare waitress would end the connection.
            for one in (each for each in OPERATIONS if each.status == 200):
                pair = Asked(base, one, one.floor), Asked(ours, one, one.ours)
                rounds = in_turn(pair, rounds=options.rounds, seconds=options.seconds)
                yield one, *compared(rounds)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each side in each round")
    report(__file__, measure, parser.parse_args())


if __name__ == "__main__":
    main()
