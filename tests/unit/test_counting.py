"""The counts of limits: what is released, and when."""

from __future__ import annotations

import time

import pytest
from limits import parse

from secretsvc.authentication.rate_limit import RateLimiter
from secretsvc.kernel.errors import RateLimited

LIMIT = parse("10/minute")


def test_a_release_within_the_window_makes_room_again():
    counter = RateLimiter("memory://")
    counter.take(LIMIT, 10, "write")()
    counter.take(LIMIT, 10, "write")
    with pytest.raises(RateLimited):
        counter.take(LIMIT, 1, "write")


def test_a_release_after_the_window_gives_no_credit(monkeypatch):
    counter = RateLimiter("memory://")
    release = counter.take(LIMIT, 10, "write")
    monkeypatch.setattr(time, "time", lambda now=time.time: now() + 61)
    release()
    counter.take(LIMIT, 10, "write")
    with pytest.raises(RateLimited):
        counter.take(LIMIT, 1, "write")
