"""How much more is answered to 16 clients than to one: two processes on PostgreSQL, one on SQLite.

All read one value, list 500 or export 500. The clients share the machine with what they measure.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator

from bench import ENGINES, Report, compared, options_of
from processes import Deployment
from wire import Client, at_once, deployment

CLIENTS = 16
PROCESSES = {"postgresql": 2, "sqlite": 1}
#: Each request by its name, with the goals by engine.
REQUESTS = {
    "read one": ("/secrets/KEY_250", {"postgresql": 2.0, "sqlite": 1.0}),
    "list 500": ("/secrets", {"postgresql": 1.0, "sqlite": 1.0}),
    "export 500": ("/secrets:export", {"postgresql": 1.6, "sqlite": 1.0}),
}


def throughput(deployed: Deployment, asked: tuple[str, str, bytes], count: int, seconds: float) -> float:
    """Requests a second: each of that method, path and body."""
    answered = [0] * count
    deadline = time.monotonic() + seconds

    def work(number: int, client: Client) -> None:
        request = client.request(*asked)
        while time.monotonic() < deadline:
            if client.send(request) != 200:
                raise SystemExit("a request failed")
            answered[number] += 1

    took = at_once(deployed, count, work)
    return sum(answered) / took


def measure(engine: str, options: Namespace) -> Iterator[tuple[str, tuple[float, float, float], float]]:
    """Each request with what is answered to one client and to 16, their ratio, and its goal."""
    with deployment(engine, PROCESSES[engine]) as deployed:
        for name, (path, goals) in REQUESTS.items():
            asked = "GET", path, b""
            throughput(deployed, asked, CLIENTS, 1)
            rounds = [
                tuple(throughput(deployed, asked, count, options.seconds) for count in (1, CLIENTS))
                for _ in range(options.rounds)
            ]
            yield name, compared(rounds), goals[engine]


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    report = Report(__file__, "one client", "16 clients")
    for engine in options.engine or ENGINES:
        for name, (one, many, ratio), goal in measure(engine, options):
            report.add(engine, name, one, many, ratio=ratio, goal=goal, at_least=True, unit="/s")
    report.save(options.json)


if __name__ == "__main__":
    main()
