"""A package that no operator would include: a file says by how many seconds the clock jumps."""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from secretsvc.kernel import clock

FILE = "FAULTS_CLOCK"


def includeme(_config: Any) -> None:
    path = Path(os.environ[FILE])

    def time_ns() -> int:
        return time.time_ns() + int(float(path.read_text()) * 1_000_000_000)

    clock.time = SimpleNamespace(time_ns=time_ns)  # type: ignore[assignment]  # all that it asks of it
