"""Copying and restoring 500 keys beside a batch of 500 in the same run; a 304 beside an export.

All are requests to the application in process. A copy and a restore are to take less than 1.5 times the
batch: each writes all 500 keys anew, as the batch does. With `--pollers` so many clients ask a real server on
loopback for an export that they have, each over a connection of its own, and then for one that they lack.
"""

from __future__ import annotations

import http.client
import statistics
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import orjson
from bench import (
    API,
    ENGINES,
    HEADER,
    Report,
    Request,
    Service,
    assertion,
    databases,
    in_turn,
    options_of,
    service_over,
)
from operations import ADA, secrets
from server import served
from service import arrange

DEV, PROD = "/projects/shop/environments/dev", "/projects/shop/environments/prod"
GOAL = 1.5
THREADS = 16


class Turns:
    """Two requests in turns, so that each finds what it changes changed; only the first of them is timed."""

    def __init__(self, timed: Request, back: Request) -> None:
        self._timed, self._back = timed, back

    def timed(self) -> float:
        self._back.send()
        return self._timed.timed()

    def send(self) -> bytes:
        self._back.send()
        return self._timed.send()


def post(service: Service, path: str, body: Any) -> Request:
    return Request(service, ADA, "POST", path, 200, body=orjson.dumps(body))


def fill(service: Service) -> None:
    """Two environments of the same 500 keys; what the batch writes differs from `dev` and from revision 1."""
    arrange(service, "shop", "prod", "dev")
    service.grant(ADA, "writer", "shop")
    other = {key: value[::-1] for key, value in secrets().items()}
    for path, values in ((DEV, other), (PROD, other), (PROD, secrets())):
        post(service, f"{path}/secrets:batch", {"mode": "merge", "set": values}).send()
    service.execute("ANALYZE")


def measured(engine: str, options: Namespace) -> Iterator[tuple[str, float, float, float, float | None]]:
    """Each operation: its name, what it is compared with, itself, their ratio and its goal."""
    with databases(engine) as made, service_over(made) as service:
        fill(service)
        batch = post(service, f"{PROD}/secrets:batch", {"mode": "merge", "set": secrets()})
        copy = post(service, f"{PROD}/secrets:copy", {"from": {"project": "shop", "environment": "dev"}})
        restore = post(service, f"{PROD}/secrets:restore", {"to_rev": 1})
        compare = Request(service, ADA, "GET", f"{PROD}/secrets:compare?project=shop&environment=dev", 200)
        export = Request(service, ADA, "GET", f"{PROD}/secrets:export", 200)
        known = Request(service, ADA, "GET", f"{PROD}/secrets:export", 304)
        known.environ["HTTP_IF_NONE_MATCH"] = "*"
        for name, base, ours, goal in (
            ("copy of 500 / batch of 500", batch, Turns(copy, batch), GOAL),
            ("restore of 500 / batch of 500", batch, Turns(restore, batch), GOAL),
            ("compare 500 with 500 / batch of 500", batch, compare, None),
            ("304 / export of 500", export, known, None),
        ):
            rounds = in_turn((base, ours), rounds=options.rounds, seconds=options.seconds)
            sides = [statistics.median(side) for side in zip(*rounds, strict=True)]
            yield name, *sides, statistics.median(second / first for first, second in rounds), goal


def poll(port: int, headers: dict[str, str], path: str, count: int, status: int, found: list[float]) -> None:
    """So many clients, each with a connection of its own, one request each."""
    connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for _ in range(count)]
    for connection in connections:
        connection.connect()
    for connection in connections:
        began = time.perf_counter()
        connection.request("GET", API + path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        found.append((time.perf_counter() - began) * 1e3)
        if answer.status != status:
            raise SystemExit(f"{path}: {answer.status}")
        connection.close()


def pollers(engine: str, count: int) -> None:
    """That many clients that know the revision, and as many that do not."""
    with databases(engine) as made, service_over(made, RATE_LIMIT="") as service:
        fill(service)
        with served(service.app, threads=8, connection_limit=2 * count) as port:
            for name, tags, status in (("304", "*", 304), ("export", '"0"', 200)):
                headers = {HEADER: assertion(service.issuer, ADA), "If-None-Match": tags}
                found: list[float] = []
                arguments = (port, headers, f"{PROD}/secrets:export", -(-count // THREADS), status, found)
                threads = [threading.Thread(target=poll, args=arguments) for _ in range(THREADS)]
                began = time.perf_counter()
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                took = time.perf_counter() - began
                found.sort()
                middle, late = found[len(found) // 2], found[int(0.99 * len(found))]
                times = f"median {middle:.1f} ms, 99th percentile {late:.1f} ms"
                print(f"{engine}: {len(found)} pollers, {name}: {len(found) / took:.0f}/s, {times}")


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each side in each round")
    parser.add_argument("--pollers", type=int, default=0, help="how many clients poll, 1000 at most")
    options = parser.parse_args()
    table = Report(__file__, "beside", "ours")
    for engine in options.engine or ENGINES:
        for name, base, ours, ratio, goal in measured(engine, options):
            table.add(engine, name, base, ours, ratio=ratio, goal=goal)
        if options.pollers:
            pollers(engine, min(options.pollers, 1000))
    table.save(options.json)


if __name__ == "__main__":
    main()
