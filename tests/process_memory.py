"""What a process holds in memory, as the kernel tells it."""

from __future__ import annotations

import threading
import time
from pathlib import Path


def resident_kib(pid: int) -> int:
    """What the process has of its own: the file that SQLite maps is the kernel's to keep or to drop."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0])


class Peak:
    """The most that a process holds while the context lasts, in MiB, looked at every 5 ms."""

    def __init__(self, pid: int) -> None:
        self.pid, self.mib = pid, 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.is_set():
            self.mib = max(self.mib, resident_kib(self.pid) / 1024)
            time.sleep(0.005)
