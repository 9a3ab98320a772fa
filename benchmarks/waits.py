"""What the threads of one process wait for while 16 clients ask: the interpreter, the database, the disk.

Each thread that serves is looked at every few milliseconds: the kernel says which call it waits in, and for
PostgreSQL `pg_stat_activity` says what the server does for it. Shares are of those moments in which a thread
had a request. The kernel's numbers are those of Linux on x86-64.
"""

from __future__ import annotations

import re
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import psycopg
from bench import ENGINES, PRODUCTION, options_of
from clients import CLIENTS, throughput
from operations import OPERATIONS
from processes import Deployment
from wire import deployment

NAMES = ("read one", "list 500", "export 500", "write one", "batch of 500 writes")
#: What a thread waits for, by the number of the kernel's call.
CALLS = {7: "database", 23: "database", 45: "database", 232: "database", 281: "database"}
CALLS |= dict.fromkeys((1, 17, 18, 74, 75), "disk") | {73: "writers"}
FUTEX = 202
PYTHON = re.compile(r"/(lib)?python3[^/]*$")
IDLE = "idle"
COLUMNS = ("runs", "interpreter", "writers", "disk", "database", "executes", "commits", "locked")
COMMITS = frozenset({"WALSync", "WalSync", "WALWrite", "WalWrite", "CommitDelay"})
STEP = 0.005
ACTIVE = """SELECT wait_event_type, wait_event FROM pg_stat_activity
WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()"""


def interpreter_of(pid: int) -> list[range]:
    """Where a process has Python itself, with its data: its lock lies there, and no other."""
    found: list[range] = []
    within = False
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        bounds, _, _, _, _, *path = line.split(maxsplit=5)
        # What begins as zeros has no name, and follows.
        within = PYTHON.search(path[0]) is not None if path else within
        if within:
            first, last = bounds.split("-")
            found.append(range(int(first, 16), int(last, 16)))
    return found


def state_of(task: Path, interpreter: list[range]) -> str:
    """What a thread does at this moment; without a request it waits for as long as it takes."""
    call, *arguments = (task / "syscall").read_text().split()
    if call in ("running", "-1"):
        return "runs"
    if int(call) != FUTEX:
        return CALLS.get(int(call), "runs")
    address, _, _, deadline, *_ = (int(one, 16) for one in arguments)
    if any(address in one for one in interpreter):
        return "interpreter"
    return "writers" if deadline else IDLE


def serving(pid: int) -> list[Path]:
    """The threads that serve, of a process without requests: the others wait for events, or for so long."""
    return [task for task in Path(f"/proc/{pid}/task").iterdir() if state_of(task, []) == IDLE]


def server_states(connection: Any) -> Iterator[str]:
    """What PostgreSQL does for each thread that waits for it."""
    for kind, event in connection.execute(ACTIVE):
        yield "locked" if kind == "Lock" else "commits" if event in COMMITS else "executes"


def seen(deployed: Deployment, tasks: list[Path], until: float) -> Counter[str]:
    """How often each state was seen."""
    pid, found = deployed.processes[0].pid, Counter[str]()
    postgresql = deployed.url.startswith("postgresql")
    url = deployed.url.replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) if postgresql else nullcontext() as connection:
        interpreter = interpreter_of(pid)
        while time.monotonic() < until:
            found.update(state_of(task, interpreter) for task in tasks)
            if connection is not None:
                found.update(server_states(connection))
            time.sleep(STEP)
    return found


def measure(engine: str, options: Namespace) -> Iterator[tuple[str, float, Counter[str]]]:
    """Each operation with its answers a second, and how often each state was seen meanwhile."""
    with deployment(engine, 1) as deployed, ThreadPoolExecutor(1) as pool:
        pid = deployed.processes[0].pid
        for one in (each for each in OPERATIONS if each.name in NAMES):
            asked = one.method, one.ours, one.body
            throughput(deployed, asked, CLIENTS, 1)
            time.sleep(0.5)
            until = time.monotonic() + options.seconds
            watching = pool.submit(seen, deployed, serving(pid), until)
            answered = throughput(deployed, asked, CLIENTS, options.seconds)
            yield one.name, answered, watching.result()


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each operation")
    parser.add_argument("--commit-delay", type=int, default=0, help="of PostgreSQL, in microseconds")
    options = parser.parse_args()
    PRODUCTION["commit_delay"] = str(options.commit_delay)
    print(f"{'engine':<11}{'waits, %':<21}{'answers/s':>10}" + "".join(f"{one:>12}" for one in COLUMNS))
    for engine in options.engine or ENGINES:
        for name, answered, found in measure(engine, options):
            busy = sum(found[one] for one in COLUMNS[:5]) or 1
            shares = "".join(f"{found[one] / busy * 100:>12.0f}" for one in COLUMNS)
            print(f"{engine:<11}{name:<21}{answered:>10.0f}{shares}", flush=True)


if __name__ == "__main__":
    main()
