"""The variables of an environment file of systemd, in the place of this shell's."""

from __future__ import annotations

import os
from pathlib import Path

from secretsvc.deployment.checks.findings import Finding, warn
from secretsvc.deployment.environment_files import read_environment

#: What systemd sets for a service too.
_KEPT = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "USER")


def use_environment(file: Path) -> list[Finding]:
    """Make the variables of a file those of this process, and return its lines that systemd ignores.

    Raises `OSError`.
    """
    variables, ignored = read_environment(file.read_text("utf-8", "surrogateescape"))
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    os.environ.clear()
    os.environ.update(kept | variables)
    advice = "write it as NAME=value, without export"
    return [warn("names", f"systemd ignores line {line} of {file}: {advice}") for line in ignored]
