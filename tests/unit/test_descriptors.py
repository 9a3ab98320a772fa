"""The server may need more descriptors than a process is given at its start."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import resource
from secretsvc.server.factory import _allow_descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
_allow_descriptors({wanted})
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "found"),
    [(64, 200, 150, 150), (64, 200, 1000, 200), (180, 200, 150, 180), (200, 200, 1000, 200)],
)
def test_the_soft_limit_goes_as_far_as_is_wanted_and_allowed(soft, hard, wanted, found):
    code = CODE.format(soft=soft, hard=hard, wanted=wanted)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(found), str(hard)]
