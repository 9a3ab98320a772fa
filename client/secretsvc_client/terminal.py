"""The controlling terminal on stdin, and the process group in its foreground."""

from __future__ import annotations

import os
import signal
from contextlib import suppress


def foreground() -> int:
    """Return the process group in the foreground; 0 if stdin is not the controlling terminal."""
    try:
        return os.tcgetpgrp(0)
    except OSError:
        return 0


def move_to_foreground(group: int) -> None:
    """Make the process group the terminal's foreground, also from the background."""
    # Without the block the terminal would stop a caller in the background with SIGTTOU.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    try:
        with suppress(OSError):
            os.tcsetpgrp(0, group)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
