"""The server may need more descriptors than a process is given at its start."""

from __future__ import annotations

import subprocess
import sys

import pytest

CASES = [(64, 200, 150, 150), (64, 200, 1000, 200), (180, 200, 150, 180), (200, 200, 1000, 200)]
#: A limit that was lowered stays: each case has a fork of its own.
CODE = """
import os, resource
from secretsvc.server.server import _allow_descriptors
for soft, hard, wanted, _ in {cases}:
    if not os.fork():
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        _allow_descriptors(wanted)
        print(*resource.getrlimit(resource.RLIMIT_NOFILE), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def told():
    """What each case comes to: the soft and the hard limit."""
    command = [sys.executable, "-W", "ignore", "-c", CODE.format(cases=CASES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    return dict(zip(CASES, lines, strict=True))


@pytest.mark.parametrize(("soft", "hard", "wanted", "found"), CASES)
def test_the_soft_limit_goes_as_far_as_is_wanted_and_allowed(told, soft, hard, wanted, found):
    assert told[soft, hard, wanted, found] == (found, hard)
