"""The console script, run in forks of a process that has imported it: to import takes a second."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, NoReturn

from cached_toposort import sort_once
from ini_loader import find_once


def serve() -> None:
    """Carries out orders: one line of JSON on stdin each, answered by a line with the exit code."""
    import secretsvc

    for module in walk_packages(secretsvc.__path__, "secretsvc."):
        import_module(module.name)
    find_once()
    sort_once()
    _assemble_before()
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            _carry_out(**order)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _assemble_before() -> None:
    """From now on a fork has what packages declare; it takes the settings, which are read when needed."""
    import secretsvc

    assemble, made = secretsvc.assemble, secretsvc.assemble({})

    def with_settings(settings: dict[str, str]) -> Any:
        tokens = "SERVICE_TOKENS" in os.environ or "secretsvc.service_tokens" in settings
        if tokens or settings.get("pyramid.includes"):
            # Of these other views are declared.
            return assemble(settings)
        known = made.registry.service_settings
        made.registry.settings.update(settings)
        for name in known.known():
            vars(known).pop(name, None)
        known._complaints.__init__()
        return made

    secretsvc.assemble = with_settings


def _carry_out(
    directory: str, environment: dict[str, str], arguments: list[str], outputs: list[str]
) -> NoReturn:
    from secretsvc.commands import main

    code = 70
    try:
        os.chdir(directory)
        os.environ.clear()
        os.environ.update(environment)
        for number, path in enumerate(outputs, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
        main(arguments, prog_name="secretsvc-server")
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 0 if ending.code is None else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve()
