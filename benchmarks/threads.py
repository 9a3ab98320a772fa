"""How much is answered to one client and to 16, by the number of threads or of processes.

For each number a deployment of its own runs; they are asked in turns, so that whatever else the machine does
slows all of them. All read one value, export 500 or write one; the clients share the machine with what they
measure. Memory counts what processes share by its share. With `--shared` all processes of a deployment are
handed one listening socket, as by `deploy/secretsvc-shared.socket`; of 16 connections the least and the most
that one process took are told too.
"""

from __future__ import annotations

import socket
import statistics
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack

import orjson
import psutil
import psycopg
from bench import ENGINES, Report, options_of
from clients import CLIENTS, REQUESTS, throughput
from operations import ADA
from processes import Deployment
from wire import VALUE, Client, deployment

#: Each request by its name: method, path and body.
ASKED = {name: ("GET", path, b"") for name, (path, _) in REQUESTS.items()}
ASKED["write one"] = ("POST", "/secrets:batch", orjson.dumps(VALUE))
CONNECTIONS = """SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


def deployments(engine: str, options: Namespace, stack: ExitStack) -> dict[str, Deployment]:
    found = {}
    for number in options.threads:
        found[f"{number} threads"] = stack.enter_context(deployment(engine, 1, number))
    for number in options.processes:
        found[f"{number} processes"] = stack.enter_context(deployment(engine, number))
        if options.shared:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1024))
            made = stack.enter_context(deployment(engine, number, listener=listener))
            found[f"{number} processes on one socket"] = made
    return found


def measure(engine: str, options: Namespace) -> Iterator[tuple[str, float, float, str]]:
    """What is asked for, of how many; what is answered to one client, and to 16.

    At the end what each deployment holds: connections, and KiB of a process.
    """
    spread: dict[str, list[tuple[int, int]]] = {}
    with ExitStack() as stack:
        made = deployments(engine, options, stack)
        for name, asked in ASKED.items():
            found: dict[str, list[tuple[float, float]]] = {one: [] for one in made}
            for deployed in made.values():
                throughput(deployed, asked, CLIENTS, 0.3)
            for _ in range(options.rounds):
                for one, deployed in made.items():
                    spread.setdefault(one, []).append(taken(deployed))
                    both = [throughput(deployed, asked, count, options.seconds) for count in (1, CLIENTS)]
                    found[one].append((both[0], both[1]))
            for one, rounds in found.items():
                medians = (statistics.median(side) for side in zip(*rounds, strict=True))
                yield f"{name}, {one}", *medians, "/s"
        for one, deployed in made.items():
            least, most = (statistics.mean(side) for side in zip(*spread[one], strict=True))
            yield f"least and most of 16, {one}", least, most, ""
            yield f"connections, KiB of each, {one}", *cost(deployed), ""


def taken(deployed: Deployment) -> tuple[int, int]:
    """How many of 16 connections, all made at once, the processes took: the least and the most of one."""
    ports = [one.port for one in deployed.processes]
    clients = [Client(ports[number % len(ports)], deployed.issuer.sign(ADA)) for number in range(CLIENTS)]
    for client in clients:
        client.send(client.request(*ASKED["read one"]))
    found = [
        sum(one.status == psutil.CONN_ESTABLISHED and one.laddr.port in ports for one in connections)
        for connections in (psutil.Process(one.pid).net_connections("tcp4") for one in deployed.processes)
    ]
    for client in clients:
        client.close()
    return min(found), max(found)


def cost(deployed: Deployment) -> tuple[int, float]:
    """The connections to PostgreSQL of all processes, and the memory of each in KiB."""
    sizes = [psutil.Process(one.pid).memory_full_info().pss / 1024 for one in deployed.processes]
    if not deployed.url.startswith("postgresql"):
        return 0, statistics.mean(sizes)
    with psycopg.connect(deployed.url.replace("+psycopg", "")) as connection:
        (count,) = connection.execute(CONNECTIONS).fetchone() or (0,)
    return count, statistics.mean(sizes)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.2)
    parser.add_argument("--threads", type=int, nargs="*", default=[2, 4, 8, 16])
    parser.add_argument("--processes", type=int, nargs="*", default=[])
    parser.add_argument("--shared", action="store_true", help="processes on one socket, too")
    options = parser.parse_args()
    report = Report(__file__, "one client", "16 clients")
    for engine in options.engine or ENGINES:
        for name, one, many, unit in measure(engine, options):
            # On SQLite no connections are counted.
            report.add(engine, name, one, many, unit=unit, ratio=many / one if one else 0.0)
    report.save(options.json)


if __name__ == "__main__":
    main()
