"""The service's one clock, in the hands of a test."""

from __future__ import annotations

import pytest

from secretsvc.authorization import tweens
from secretsvc.kernel.clock import now_ms


class StoppedClock:
    """Stands still at the present, in epoch milliseconds, until it is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = now_ms()
        monkeypatch.setattr(tweens, "now_ms", lambda: self.now)
