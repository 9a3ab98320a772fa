"""What is said once in a while, and how often it was not said in between."""

from __future__ import annotations

import threading

from secretsvc.kernel.log_throttle import LogThrottle


def test_one_of_a_name_passes_in_each_period_and_tells_how_many_did_not():
    now = 0.0
    throttle = LogThrottle(60, lambda: now)
    assert [throttle.passes("a") for _ in range(3)] == [0, None, None]
    assert throttle.passes("b") == 0
    now = 59.9
    assert throttle.passes("a") is None
    now = 60.0
    assert [throttle.passes("a"), throttle.passes("b")] == [3, 0]
    now = 1_000.0
    assert throttle.passes("a") == 0


def test_of_many_threads_one_passes_and_all_others_are_counted():
    now = 0.0
    throttle = LogThrottle(60, lambda: now)
    passed = []
    threads = [
        threading.Thread(target=lambda: passed.extend(throttle.passes("a") for _ in range(100)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one for one in passed if one is not None] == [0]
    now = 60.0
    assert throttle.passes("a") == 799
