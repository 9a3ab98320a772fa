"""The console script in forks of a process that has imported it: an import takes a second."""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pkgutil import walk_packages
from typing import NoReturn


def serve() -> None:
    """Run one command for each line of JSON on stdin, and answer with a line that has its exit code."""
    import secretsvc

    for module in walk_packages(secretsvc.__path__, "secretsvc."):
        import_module(module.name)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            _carry_out(**order)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


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
