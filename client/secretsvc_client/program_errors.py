"""Why a program cannot be started, with what to do."""

from __future__ import annotations

import errno
import os
import shutil

from secretsvc_client.errors import Failure, NotFound, NotStarted
from secretsvc_client.grammar import printable


def not_executable(name: str) -> Failure:
    """Return why a command is none: it is not there, or the system does not execute it."""
    if shutil.which(name, os.F_OK) or (os.path.dirname(name) and os.path.exists(name)):
        return NotStarted(
            f"{printable(name)} cannot be started: it is not executable",
            "Is it a program, and does its mode allow you to run it?",
        )
    return NotFound(f"command not found: {printable(name)}")


def not_started(program: str, error: OSError) -> Failure:
    """Return why a program cannot be started, with what to do."""
    if error.errno == errno.ENOENT and not os.path.exists(program):
        return NotFound(f"command not found: {printable(program)}")
    if error.errno == errno.E2BIG:
        return NotStarted(
            "the secrets are more than an environment holds", "Take --only, --prefix or --format FILE."
        )
    hint = None
    if error.errno == errno.ENOEXEC:
        hint = "A script begins with a line such as #!/bin/sh."
    if error.errno == errno.ENOENT:
        hint = "Is the interpreter of its first line there?"
    return NotStarted(f"{printable(program)} cannot be started: {error.strerror}", hint)
