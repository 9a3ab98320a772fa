"""Tails of the log that are killed: started as a program with a database, a file, and how many."""

from __future__ import annotations

import io
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import BinaryIO

from waiting import eventually

from secretsvc.db.engine import make_engine
from secretsvc.deployment.auditing import write_lines
from secretsvc.sealedlog.rules.lines import last_index

#: One in so many is killed whatever it has written, at most so many seconds after its start.
EARLY, LIFE = 5, 0.05
#: Bytes that another has written by then, at most.
WRITTEN = 10_000


class SlowFile(io.FileIO):
    """Takes each line in two pieces, so that whoever is killed is within one."""

    def write(self, line: bytes) -> int:
        """Writes it whole, unless the process ends meanwhile."""
        half = random.randrange(len(line))  # noqa: S311
        done = super().write(line[:half])
        time.sleep(0.001)
        return done + super().write(line[half:])


def tail(url: str, file: BinaryIO) -> None:
    """What `secretsvc-server audit tail --follow --to` does, without a pause."""
    engine = make_engine(url)
    last = last_index(file)
    following = 0 if last is None else last + 1
    while True:
        following = write_lines(engine, file, following)


def end_one(url: str, path: Path, more: int, seconds: float) -> None:
    """Starts one, and kills it so long after it has written so many bytes."""
    enough = path.stat().st_size + more
    child = os.fork()
    if not child:
        tail(url, SlowFile(path, "ab+") if more else path.open("ab+"))
    went_on = eventually(lambda: path.stat().st_size >= enough, pause=0.0005)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    # One that ended by itself has failed.
    if not went_on or os.WTERMSIG(status) != signal.SIGKILL:
        sys.exit("a tail did not go on")


def main() -> None:
    """Starts one after the other, and says how many were killed within a line."""
    url, path, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    path.touch()
    cut, moments = 0, random.Random(count)  # noqa: S311
    for number in range(count):
        if number % EARLY:
            end_one(url, path, moments.randint(1, WRITTEN), 0)
        else:
            end_one(url, path, 0, moments.uniform(0, LIFE))
        written = path.read_bytes()
        cut += bool(written) and not written.endswith(b"\n")
    print(cut)


if __name__ == "__main__":
    main()
