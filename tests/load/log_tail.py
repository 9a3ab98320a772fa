"""Tails of the log that are killed: a program that takes a database, a file, a number and a rotation."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from rotated import Rotated
from waiting import eventually

from secretsvc.db.engine import make_engine
from secretsvc.deployment.audit import append_lines
from secretsvc.sealedlog.retention.tail_file import TailFile

#: One in so many is killed whatever it has written, at most so many seconds after its start.
EARLY, LIFE = 5, 0.05
#: Bytes that another has written by then, at most.
WRITTEN = 10_000
NONE, RENAMED, COPIED = "none", "create", "copytruncate"


class SlowTail(TailFile):
    """Writes lines in two pieces, so that whoever is killed is within one."""

    def write(self, lines: bytes) -> None:
        """Write them whole, unless the process ends meanwhile."""
        half = random.randrange(len(lines) + 1)  # noqa: S311
        super().write(lines[:half])
        time.sleep(0.001)
        super().write(lines[half:])


def tail(url: str, path: Path, *, slow: bool) -> None:
    """What `secretsvc-server audit tail --follow --to` does, without a pause."""
    engine = make_engine(url)
    file = (SlowTail if slow else TailFile)(path, None)
    file.recover()
    while True:
        append_lines(engine, file)


class Killer:
    """Starts one tail after the other, kills it, and has its file rotated while it lives or afterwards."""

    def __init__(self, url: str, rotated: Rotated, rotation: str, count: int) -> None:
        self.url, self.rotated, self.rotation, self.count = url, rotated, rotation, count
        self._moments = random.Random(count)  # noqa: S311
        #: How many were killed within a line.
        self.cut = 0

    def run(self) -> None:
        """Start and kill all of them."""
        for number in range(self.count):
            if number % EARLY:
                self._end_one(number, self._moments.randint(1, WRITTEN), 0)
            else:
                self._end_one(number, 0, self._moments.uniform(0, LIFE))

    def _size(self) -> int:
        return sum(one.stat().st_size for one in self.rotated.files())

    def _end_one(self, number: int, more: int, seconds: float) -> None:
        """Kill one so long after it has written so many bytes."""
        enough = self._size() + more
        child = os.fork()
        if not child:
            tail(self.url, self.rotated.path, slow=bool(more))
        went_on = eventually(lambda: self._size() >= enough, pause=0.0005)
        # What is written between a copy and its truncation is lost: no tail can help that.
        if self.rotation == RENAMED and number % 3 == 1:
            self.rotated.rotate()
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        # One that ended by itself has failed.
        if not went_on or os.WTERMSIG(status) != signal.SIGKILL:
            sys.exit("a tail did not go on")
        self.cut += any(_is_torn(one) for one in self.rotated.files() if one.suffix != ".gz")
        if self.rotation != NONE and number % 3 == 2:
            self.rotated.rotate()


def _is_torn(path: Path) -> bool:
    written = path.read_bytes()
    return bool(written) and not written.endswith(b"\n")


def main() -> None:
    """Kills them, and says how many were killed within a line."""
    url, path, count, rotation, program = sys.argv[1:]
    rotated = Rotated(Path(path), program, copies=rotation == COPIED)
    killer = Killer(url, rotated, rotation, int(count))
    killer.run()
    print(killer.cut)


if __name__ == "__main__":
    main()
