"""How much more two processes on PostgreSQL answer to 16 clients than to one, who all read one value.

The clients share the machine with what they measure.
"""

from __future__ import annotations

import time

from bench import Report, compared, options_of
from processes import Deployment
from wire import Client, at_once, deployment

CLIENTS, PROCESSES, GOAL = 16, 2, 1.5


def throughput(deployed: Deployment, count: int, seconds: float) -> float:
    """Requests a second."""
    answered = [0] * count
    deadline = time.monotonic() + seconds

    def work(number: int, client: Client) -> None:
        request = client.request("GET", "/secrets/KEY_250")
        while time.monotonic() < deadline:
            if client.send(request) != 200:
                raise SystemExit("a read failed")
            answered[number] += 1

    took = at_once(deployed, count, work)
    return sum(answered) / took


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    report = Report(__file__, "one client", "16 clients")
    with deployment("postgresql", PROCESSES) as deployed:
        throughput(deployed, CLIENTS, 1)
        rounds = [
            tuple(throughput(deployed, count, options.seconds) for count in (1, CLIENTS))
            for _ in range(options.rounds)
        ]
    one, many, ratio = compared(rounds)
    report.add(
        "postgresql", "read one, requests", one, many, ratio=ratio, goal=GOAL, at_least=True, unit="/s"
    )
    report.save(options.json)


if __name__ == "__main__":
    main()
