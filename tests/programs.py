"""Programs of the system that some tests need."""

from __future__ import annotations

import os
import shutil

import pytest

#: Where it is `required`, a machine without such a program fails what it cannot run.
VARIABLE = "SECRETSVC_PROGRAMS"


def need(program: str, better: str = "", package: str = "") -> str:
    """Return the path of a program, or of a better one; skip the test where there is neither, and say so.

    `package` is that of Debian, by default of the program's name.
    """
    found = shutil.which(better) or shutil.which(program)
    if found is None:
        give_up = pytest.fail if os.environ.get(VARIABLE) == "required" else pytest.skip
        give_up(f"{program} is missing; on Debian: apt-get install {package or program}")
    return found
