"""What a process holds in memory after 10^5 requests, beside what it held after 10^3.

Reads, lists, exports, writes, refusals and mistakes come in turns from a few clients over the wire.
"""

from __future__ import annotations

import itertools

from bench import ENGINES, Report, options_of
from process_memory import resident_kib
from processes import Deployment
from wire import VALUE, Client, at_once, deployment

CLIENTS, GOAL = 4, 1.05
FEW, MANY = 1_000, 100_000


def ask(deployed: Deployment, count: int) -> None:
    """So many requests, most of them reads of one value, one in a hundred of each other kind."""

    def work(_number: int, client: Client) -> None:
        usual = client.request("GET", "/secrets/KEY_250")
        other = [
            client.request("GET", "/secrets"),
            client.request("GET", "/secrets:export"),
            client.request("POST", "/secrets:batch", VALUE),
            client.request("GET", "/secrets/NOWHERE"),
            client.request("GET", "/nowhere"),
            client.request("POST", "/secrets:batch", {"mode": "odd"}),
        ]
        turns = itertools.cycle([usual] * (100 - len(other)) + other)
        for request in itertools.islice(turns, count // CLIENTS):
            if client.send(request) >= 500:
                raise SystemExit("a request failed")

    at_once(deployed, CLIENTS, work)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--requests", type=int, default=MANY)
    options = parser.parse_args()
    report = Report(__file__, "after 10^3", "at the end")
    for engine in options.engine or ENGINES:
        with deployment(engine, 1) as deployed:
            ask(deployed, FEW)
            before = resident_kib(deployed.processes[0].pid)
            ask(deployed, options.requests - FEW)
            report.add(
                engine,
                f"memory, {options.requests} requests",
                before,
                resident_kib(deployed.processes[0].pid),
                goal=GOAL,
                unit="KiB",
            )
    report.save(options.json)


if __name__ == "__main__":
    main()
